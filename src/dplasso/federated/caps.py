"""The limits that a party sets itself, whatever it is asked for."""

import math
from dataclasses import dataclass

from dplasso.base import checks
from dplasso.federated.declaration import Declared, count, term
from dplasso.federated.errors import Refused
from dplasso.federated.plan import plan_of
from dplasso.federated.terms import JobTerms, Terms


@dataclass(frozen=True, kw_only=True)
class Caps(Declared):
    """Limits of one party on each job. Only the party itself sets them.

    The ledger of a party that `dplasso.federated.service` starts has the same limits on epsilon and
    delta, for all jobs together.

    Parameters
    ----------
    max_epsilon, max_delta : float
        Limits on the cost of a job for a person, over all parties together.
    max_row_budget : float, default=inf
        Limit on the budget of a row at this party.
    max_asks : int, default=10_000
        Limit on how often a job may ask this party.

    Examples
    --------
    >>> Caps(max_epsilon=1.0, max_delta=1e-6).max_asks
    10000
    """

    max_epsilon: float = term(checks.target, "Limit on epsilon of all jobs together.", example=0.0)
    max_delta: float = term(checks.probability, "Limit on delta of all jobs together.", example=0.0)
    max_row_budget: float = term(
        checks.target,
        "Limit on the sum of a row's squared shared entries, in units of their bounds, per job.",
        default=math.inf,
        example=10.0,
    )
    max_asks: int = term(
        count(1), "Limit on how often a job may ask this party.", default=10_000, example=10_000
    )

    def check(self, terms: Terms, party: str) -> None:
        """Refuse terms beyond a limit, and name it."""
        self.check_cost(terms, party)
        self._within(terms.job, party, "asks", plan_of(terms).asks[party])
        self._within(terms.job, party, "row_budget", terms.of(party).row_budget)

    def check_cost(self, terms: JobTerms, party: str) -> None:
        """Refuse a job that costs too much, and name the limit."""
        self._within(terms.job, party, "epsilon", terms.epsilon)
        self._within(terms.job, party, "delta", terms.delta)

    def _within(self, job: str, party: str, name: str, asked: float) -> None:
        limit = getattr(self, f"max_{name}")
        if not asked <= limit:
            raise Refused(f"{party} refuses job {job}: {name} is {asked:g}, its cap is {limit:g}")
