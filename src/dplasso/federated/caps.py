"""The limits that a party sets itself, whatever it is asked for."""

import math
from dataclasses import dataclass
from typing import Any, get_args

from dplasso.base import checks
from dplasso.federated.declaration import Declared, count, require, term, texts
from dplasso.federated.errors import Refused
from dplasso.federated.plan import plan_of
from dplasso.federated.terms import AmongParties, Protocol, Terms

_PROTOCOLS: tuple[str, ...] = get_args(Protocol)


def _protocols(name: str, value: Any) -> tuple[str, ...]:
    chosen = texts(name, value)
    wanted = f"one or more of {', '.join(_PROTOCOLS)}"
    require(name, bool(chosen) and set(chosen) <= set(_PROTOCOLS), wanted)
    return chosen


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
        Limit on the budget of a row at this party, in a job of sketches.
    max_asks : int, default=10_000
        Limit on how often a job of sketches may ask this party.
    protocols : tuple of str, default=("moments", "sketches")
        The protocols that this party takes part in.

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
    protocols: tuple[str, ...] = term(
        _protocols,
        "Protocols that this party takes part in. With moments, the server together with any one "
        "other party could read this party's rows.",
        default=_PROTOCOLS,
        example=[*_PROTOCOLS],
    )

    def check(self, terms: AmongParties, party: str) -> None:
        """Refuse terms beyond a limit, and name it."""
        self.check_cost(terms, party)
        if not isinstance(terms, Terms):  # the limits below are about sketches
            return
        self._within(terms.job, party, "asks", plan_of(terms).asks[party])
        self._within(terms.job, party, "row_budget", terms.of(party).row_budget)

    def check_cost(self, terms: AmongParties, party: str) -> None:
        """Refuse a job that costs too much or has another protocol, and name the limit."""
        protocol = terms.protocol
        if protocol is not None and protocol not in self.protocols:
            allowed = ", ".join(self.protocols)
            raise Refused(
                f"{party} refuses job {terms.job}: its protocol is {protocol}, and {party} takes "
                f"part in {allowed} only"
            )
        self._within(terms.job, party, "epsilon", terms.epsilon)
        self._within(terms.job, party, "delta", terms.delta)

    def _within(self, job: str, party: str, name: str, asked: float) -> None:
        limit = getattr(self, f"max_{name}")
        if not asked <= limit:
            raise Refused(f"{party} refuses job {job}: {name} is {asked:g}, its cap is {limit:g}")
