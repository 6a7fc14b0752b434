"""What a party is willing to release, whatever it is asked for."""

import math
from dataclasses import dataclass

from dplasso.federated.errors import Refused
from dplasso.federated.plan import FederatedPlan
from dplasso.federated.terms import Terms
from dplasso.privacy import checks


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

    def check(self, terms: Terms, plan: FederatedPlan, party: str) -> None:
        """Refuse terms beyond any limit, and say which."""
        own = terms.parties[terms.number_of(party)]
        for name, asked, limit in (
            ("epsilon", terms.epsilon, self.epsilon),
            ("delta", terms.delta, self.delta),
            ("asks", plan.asks[party], self.asks),
            ("row_budget", own.row_budget, self.row_budget),
        ):
            if asked > limit:
                raise Refused(
                    f"{party} refuses job {terms.job}: {name} is {asked:g}, its cap is {limit:g}"
                )
