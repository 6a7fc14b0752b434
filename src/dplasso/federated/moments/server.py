"""The server of a job of moments: it deals random numbers, adds up shares, and adds its noise."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dplasso.base.arrays import Ints
from dplasso.federated.errors import Refused
from dplasso.federated.framing import framed
from dplasso.federated.moments import messages, ring
from dplasso.federated.moments.deal import deals_of
from dplasso.federated.moments.entries import opened_entries
from dplasso.federated.moments.messages import Kind
from dplasso.federated.moments.opened import Moments
from dplasso.federated.moments.plan import moment_plan
from dplasso.federated.moments.server_noise import ServerNoise
from dplasso.federated.moments.terms import MomentTerms
from dplasso.federated.moments.used_once import UsedOnce
from dplasso.mechanisms.grid_gaussian import GridGaussian, NoiseOf
from dplasso.mechanisms.noise_key import NoiseKey
from dplasso.mechanisms.random_bits import random_bits

# Name of random bits, before the digest of the terms; `preparation` and `numbering` have others.
_OPENED = 3


class MomentServer:
    """Deals, passes on what parties seal for each other, and opens the sum of their shares.

    Formal guarantees
    -----------------
    The server sees sealed rows, whose content it cannot read, and shares, which are uniform but for
    their sum as long as no party gives it the keys of its pairs. The sum is a release that
    `MomentPlan` prices, to the server. Everybody else gets no more than what is computed from the
    sum plus the server's own noise, which is drawn once and serves one set of shares: the same
    shares give the same matrix, and others are refused. If a party hands over its keys, the server
    knows the table of every party, without noise.
    """

    def __init__(
        self, terms: MomentTerms, random_state: Any = None, noise_of: NoiseOf = GridGaussian
    ) -> None:
        self._terms, self._noise_of = terms, noise_of
        self._bits = random_bits(random_state, name="random_state")
        self._key = NoiseKey.drawn(self._bits)
        self._used = UsedOnce()

    def deals(self) -> dict[str, bytes]:
        """Return the message to each party that begins the job."""
        found = deals_of(self._terms, self._bits.generator)
        return {name: deal.to_bytes() for name, deal in found.items()}

    def opened(self, shares: Mapping[str, bytes]) -> Moments:
        """Return the noisy matrix. The shares of all parties are needed.

        Another set of shares needs another attempt: two sums under one noise show their difference.
        """
        bodies = _bodies(self._terms, shares)
        self._used.claim(b"the shares of an attempt", framed(*bodies))
        return opened(self._terms, shares, self._key, self._noise_of)


def opened(
    terms: MomentTerms,
    shares: Mapping[str, bytes],
    key: NoiseKey,
    noise_of: NoiseOf = GridGaussian,
) -> Moments:
    """Return the noisy matrix in units of bounds."""
    return Moments.read(moment_plan(terms), opened_matrix(terms, shares, key, noise_of))


def opened_matrix(
    terms: MomentTerms,
    shares: Mapping[str, bytes],
    key: NoiseKey,
    noise_of: NoiseOf = GridGaussian,
) -> Ints:
    """Return the sum of the shares of all parties and of the server's noise, in whole numbers.

    The noise follows from the server's key and the terms. It is not drawn anew for other shares,
    or a party that sends several could average it out: the caller opens one set. It is added before
    anything depends on the sum, even the refusal of a sum that is too large.
    """
    rows, columns = opened_entries(terms)
    plan = moment_plan(terms)
    generator = key.generator(_OPENED, *np.frombuffer(terms.digest, "<i8").tolist())
    total = ServerNoise(plan, noise_of).drawn(generator).view(np.uint64)
    for body in _bodies(terms, shares):
        total += ring.from_bytes(body, total.shape)
    most = int(plan.largest_sum + plan.largest_noise)
    if (total.view(np.int64) > most).any() or (total.view(np.int64) < -most).any():
        raise Refused(
            "the shares add up to no matrix that these terms allow: the masks of a pair do not "
            "cancel, because a party has sent something else than its share"
        )
    matrix = np.zeros((terms.n_columns, terms.n_columns), np.int64)
    matrix[rows, columns] = matrix[columns, rows] = total.view(np.int64)
    return matrix


def _bodies(terms: MomentTerms, shares: Mapping[str, bytes]) -> list[bytes]:
    """Return what is in the shares of all parties, in their order."""
    if set(shares) != set(terms.names):
        raise Refused("the shares of all parties are needed, and of no one else")
    found, length = [], 8 * len(opened_entries(terms)[0])
    for name in terms.names:
        try:
            found.append(messages.unpacked(Kind.SHARE, terms, name, shares[name], length))
        except Refused as refusal:
            raise Refused(f"{name} sent no share of the matrix: {refusal}") from None
    return found
