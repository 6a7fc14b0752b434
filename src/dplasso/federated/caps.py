"""What a party is willing to release, whatever it is asked for."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from dplasso.base import checks
from dplasso.federated.errors import Refused
from dplasso.federated.plan import plan_of
from dplasso.federated.terms import Terms


@dataclass(frozen=True)
class Caps:
    """Limits of one party, set by nobody but itself.

    ``epsilon`` and ``delta`` bound what a job may cost a row over all parties together, ``asks``
    how often the party may be asked in a job, ``row_budget`` a row's budget at this party. What all
    jobs together may cost is for the party's ledger to say.
    """

    epsilon: float
    delta: float
    asks: int = 10_000
    row_budget: float = math.inf

    def __post_init__(self) -> None:
        checks.target("epsilon", self.epsilon)
        checks.probability("delta", self.delta)
        checks.count("asks", self.asks, 1)
        checks.target("row_budget", self.row_budget)

    def check(self, terms: Terms, party: str) -> None:
        """Refuse terms beyond any limit, and say which."""
        self.check_cost(terms.job, party, terms.epsilon, terms.delta)
        own = terms.parties[terms.number_of(party)]
        asks = plan_of(terms).asks[party]
        _within(terms.job, party, {"asks": (asks, self.asks)})
        _within(terms.job, party, {"row_budget": (own.row_budget, self.row_budget)})

    def check_cost(self, job: str, party: str, epsilon: float, delta: float) -> None:
        """Refuse a job that costs too much, and say so."""
        limits = {"epsilon": (epsilon, self.epsilon), "delta": (delta, self.delta)}
        _within(job, party, limits)


def _within(job: str, party: str, limits: Mapping[str, tuple[float, float]]) -> None:
    for name, (asked, limit) in limits.items():
        if not asked <= limit:  # what is no number is beyond any limit
            raise Refused(f"{party} refuses job {job}: {name} is {asked:g}, its cap is {limit:g}")
