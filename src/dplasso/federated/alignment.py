"""Where a row stands in every party's sketches, from its identifier and a shared secret alone.

Parties never exchange identifiers. Each hashes its own: the same person gets the same place and
sign everywhere, rows that a party lacks are simply not there, and nobody learns who else holds a
row of whom. Two persons may fall on one place; their signs are independent, so sketches tell them
apart on average, as they do any two rows.
"""

import hashlib
import hmac
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SECRET_BYTES = 16


class Places(NamedTuple):
    """One a row: an index below the universe, and a sign."""

    places: NDArray[np.int64]
    signs: NDArray[np.int64]


def places_of(identifiers: Iterable[object], secret: bytes, universe: int) -> Places:
    """Hash identifiers with HMAC-SHA256. Numbers and texts that look alike are the same person.

    Formal guarantees
    -----------------
    Nothing is released. A row's place depends on its identifier, the secret and the universe, which
    is public; so a row more or less moves no other. Without the secret, places tell nothing of
    identifiers as long as HMAC-SHA256 is a pseudorandom function; the coordinator has no use for it
    and must not have it.

    >>> places_of(["ann", "bob"], b"a secret of all parties", 8).places.shape
    (2,)
    """
    if not isinstance(secret, bytes) or len(secret) < SECRET_BYTES:
        raise ValueError(
            f"secret must be at least {SECRET_BYTES} bytes that all parties share; "
            "make one with secrets.token_bytes(32)"
        )
    keyed = hmac.new(secret, b"dplasso row\0", hashlib.sha256)
    seen: set[bytes] = set()
    hashed: list[int] = []
    for identifier in identifiers:
        one = keyed.copy()
        one.update(_canonical(identifier))
        digest = one.digest()[:16]
        if digest in seen:
            raise ValueError(
                "identifiers must differ: the guarantee is for one row a person; "
                "merge the rows of a person first"
            )
        seen.add(digest)
        hashed.append(int.from_bytes(digest[:8], "little"))
    words = np.array(hashed, np.uint64)
    places = (words & np.uint64(universe - 1)).astype(np.int64)
    signs = np.where(words >> np.uint64(63), 1, -1).astype(np.int64)
    return Places(places, signs)


def _canonical(identifier: object) -> bytes:
    if isinstance(identifier, bytes):
        return identifier
    if isinstance(identifier, (str, int, np.integer)) and not isinstance(identifier, bool):
        return str(identifier).strip().encode()
    raise ValueError(
        f"identifiers must be texts, whole numbers or bytes, got {type(identifier).__name__}"
    )
