"""Names for people that only the parties can make, and that differ from job to job."""

import hashlib
import hmac
from collections.abc import Sequence

from dplasso.base.wording import ParameterError
from dplasso.federated.alignment import SECRET_BYTES, canonical
from dplasso.federated.framing import framed
from dplasso.federated.moments.pseudonym_lists import (
    PSEUDONYM_BYTES,
    Pseudonyms,
    has_repeats,
    read_pseudonyms,
)
from dplasso.federated.pairwise_keys import hkdf


def pseudonyms_of(
    identifiers: Sequence[object], secret: bytes, job: str, digest: bytes
) -> Pseudonyms:
    """Return the pseudonym of each row: HMAC-SHA256 under a key of the parties' secret and the job.

    Formal guarantees
    -----------------
    Whoever lacks the secret learns from pseudonyms how many rows a party has, and which rows of
    different parties belong together, and nothing else, if HMAC-SHA256 and HKDF are pseudorandom.
    Pseudonyms of two jobs, or of two sets of terms, cannot be linked. They go to the server alone.
    A pseudonym depends on its own row's identifier only.
    """
    if not isinstance(secret, bytes) or len(secret) < SECRET_BYTES:
        raise ParameterError(
            f"{{secret}} must be at least {SECRET_BYTES} bytes that all parties share; "
            "make one with secrets.token_bytes(32)"
        )
    key = hkdf(secret, framed(b"dplasso pseudonyms", job.encode(), digest))
    keyed = hmac.new(key, b"dplasso person\0", hashlib.sha256)
    found = bytearray()
    for identifier in identifiers:
        one = keyed.copy()
        one.update(canonical(identifier))
        found += one.digest()[:PSEUDONYM_BYTES]
    names = read_pseudonyms(bytes(found))
    if has_repeats(names):
        raise ParameterError(
            "{identifiers} must differ: the guarantee is for one row per person; "
            "merge the rows of a person first"
        )
    return names
