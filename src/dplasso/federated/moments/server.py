"""The server of a job of moments: it deals random numbers, and adds up shares."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dplasso.federated.errors import Refused
from dplasso.federated.moments import messages, ring
from dplasso.federated.moments.deal import deals_of
from dplasso.federated.moments.messages import Kind
from dplasso.federated.moments.opened import Moments
from dplasso.federated.moments.plan import moment_plan
from dplasso.federated.moments.terms import MomentTerms
from dplasso.mechanisms.random_bits import random_bits


class MomentServer:
    """Deals, passes on what parties seal for each other, and opens the sum of their shares.

    Formal guarantees
    -----------------
    The server sees sealed rows, whose content it cannot read, and shares, which are uniform but for
    their sum as long as no party gives it the keys of its pairs. The sum is the release that
    `MomentPlan` prices, to an outsider. If a party does hand over its keys, the server knows the
    table of every party, without noise.
    """

    def __init__(self, terms: MomentTerms, random_state: Any = None) -> None:
        self._terms = terms
        self._bits = random_bits(random_state, name="random_state")

    def deals(self) -> dict[str, bytes]:
        """Return the message to each party that begins the job."""
        found = deals_of(self._terms, self._bits.generator)
        return {name: deal.to_bytes() for name, deal in found.items()}

    def opened(self, shares: Mapping[str, bytes]) -> Moments:
        """Return the noisy matrix. The shares of all parties are needed."""
        return opened(self._terms, shares)


def opened(terms: MomentTerms, shares: Mapping[str, bytes]) -> Moments:
    """Return the sum of the shares of all parties: the noisy matrix."""
    if set(shares) != set(terms.names):
        raise Refused("the shares of all parties are needed, and of no one else")
    rows, columns = np.triu_indices(terms.n_columns)
    total = np.zeros(len(rows), np.uint64)
    for name in terms.names:
        body = messages.unpacked(Kind.SHARE, terms, name, shares[name], 8 * len(rows))
        total += ring.from_bytes(body, total.shape)
    matrix = np.zeros((terms.n_columns, terms.n_columns), np.int64)
    matrix[rows, columns] = matrix[columns, rows] = total.view(np.int64)
    return Moments.read(moment_plan(terms), matrix)
