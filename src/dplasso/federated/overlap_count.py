"""The count of common rows, as a party releases it: noisy sums of keyed signs."""

import hashlib
import hmac
from collections.abc import Sequence

import numpy as np

from dplasso.base.arrays import Ints
from dplasso.federated.alignment import canonical
from dplasso.federated.count_plan import ENTRY
from dplasso.federated.framing import framed
from dplasso.federated.job_plan import JobPlan
from dplasso.mechanisms.grid_gaussian import GridGaussian, NoiseOf
from dplasso.mechanisms.random_bits import RandomBits

_CHUNK = 2**14  # rows whose signs are in memory at once


def noisy_sign_sums(
    identifiers: Sequence[object],
    secret: bytes,
    plan: JobPlan,
    bits: RandomBits,
    noise_of: NoiseOf = GridGaussian,
) -> Ints:
    """Return the sums of the rows' signs, with noise, in units of 1 / `ENTRY`.

    A row has ``count.signs`` signs, which follow from its identifier, the secret and the job. The
    products of two parties' sums estimate their number of common rows
    (`dplasso.federated.overlap`): the signs of other rows cancel on average.

    Formal guarantees
    -----------------
    - Neighbouring: a person's row is at the parties, or at none of them.
    - Released: the ``count.signs`` sums of one party. A row changes each of them by exactly 1, so
      that it moves the vector by sqrt(``count.signs``) in the 2-norm. The noise has
      ``count.sigma`` times that standard deviation.
    - Cost: rho = 1 / (2 ``count.sigma``^2) for a row at this party, and K times as much for a
      person at all K parties (`JobPlan.count_event`).
    - Sums are exact integers, and noise is drawn exactly (`GridGaussian`). The guarantee does not
      depend on the secret, which protects identifiers only.
    """
    sums = sign_sums(identifiers, secret, plan.terms.job, plan.count.signs) * ENTRY
    noise_of(plan.count.noise).add_to(sums, bits.generator)
    return sums


def sign_sums(identifiers: Sequence[object], secret: bytes, job: str, count: int) -> Ints:
    """Return the exact sums of the rows' signs."""
    keyed = hmac.new(secret, framed(b"dplasso overlap", job.encode()), hashlib.sha256)
    total = np.zeros(count, np.int64)
    for start in range(0, len(identifiers), _CHUNK):
        chunk = identifiers[start : start + _CHUNK]
        digests = b"".join(_digest(keyed, one) for one in chunk)
        words = np.frombuffer(digests, np.uint8).reshape(len(chunk), -1)
        ones = np.unpackbits(words, axis=1, count=count).sum(axis=0, dtype=np.int64)
        total += 2 * ones - len(chunk)
    return total


def _digest(keyed: hmac.HMAC, identifier: object) -> bytes:
    one = keyed.copy()
    one.update(canonical(identifier))
    return one.digest()
