"""The place of a row in every party's sketches, from its identifier and a shared secret alone.

Parties never exchange identifiers. Each party hashes its own, so that a person has the same place
and sign everywhere. Rows that a party lacks are absent, and no party learns whose rows the others
hold. Two people may share a place; their signs are independent, so that sketches separate them on
average, as they do any two rows.
"""

import hashlib
import hmac
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplasso.base.wording import ParameterError

SECRET_BYTES = 16


class Places(NamedTuple):
    """Per row: an index in [0, universe) and a sign."""

    places: NDArray[np.int64]
    signs: NDArray[np.int64]


def places_of(identifiers: Iterable[object], secret: bytes, universe: int) -> Places:
    """Hash identifiers with HMAC-SHA256. A number and its text denote the same person.

    Formal guarantees
    -----------------
    Nothing is released. The place of a row depends on its identifier, the secret and the public
    universe only, so that adding or removing a row moves no other. Without the secret, places
    reveal nothing about identifiers if HMAC-SHA256 is a pseudorandom function. The coordinator does
    not need the secret and must not have it.

    >>> places_of(["ann", "bob"], b"a secret of all parties", 8).places.shape
    (2,)
    """
    if not isinstance(secret, bytes) or len(secret) < SECRET_BYTES:
        raise ParameterError(
            f"{{secret}} must be at least {SECRET_BYTES} bytes that all parties share; "
            "make one with secrets.token_bytes(32)"
        )
    keyed = hmac.new(secret, b"dplasso row\0", hashlib.sha256)
    seen: set[bytes] = set()
    hashed: list[int] = []
    for identifier in identifiers:
        one = keyed.copy()
        one.update(canonical(identifier))
        digest = one.digest()[:16]
        if digest in seen:
            raise ParameterError(
                "{identifiers} must differ: the guarantee is for one row per person; "
                "merge the rows of a person first"
            )
        seen.add(digest)
        hashed.append(int.from_bytes(digest[:8], "little"))
    words = np.array(hashed, np.uint64)
    places = (words & np.uint64(universe - 1)).astype(np.int64)
    signs = np.where(words >> np.uint64(63), 1, -1).astype(np.int64)
    return Places(places, signs)


def canonical(identifier: object) -> bytes:
    """Return the text of an identifier that is hashed."""
    if isinstance(identifier, bytes):
        return identifier
    if isinstance(identifier, (str, int, np.integer)) and not isinstance(identifier, bool):
        return str(identifier).strip().encode()
    raise ParameterError(
        f"{{identifiers}} must be texts, integers or bytes, got {type(identifier).__name__}"
    )
