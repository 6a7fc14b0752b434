"""How a fit by selections spends its budget, fixed by public numbers before data are read."""

import math
from dataclasses import dataclass, replace

from dplasso.base import checks
from dplasso.privacy import zcdp
from dplasso.privacy.calibration import (
    Neighboring,
    range_of_theta,
    range_of_unit_theta,
    selection_event,
    theta_for,
    theta_of_range,
)
from dplasso.privacy.events import BoundedRange, Composed, Event, PureDP


@dataclass(frozen=True)
class SelectionPlan:
    """The budget of a fit, its split, and the event that composes its releases.

    Formal guarantees
    -----------------
    The releases are a bound on entries, ``bound_epsilon``-bounded-range, and a count,
    ``count_epsilon``-DP, if those are not 0, and ``rounds`` selections at ``theta``. Their costs
    add in rho, to `rho_of(epsilon, delta)` at most, under the stated neighbouring relation. An
    infinite epsilon promises nothing.
    """

    epsilon: float
    delta: float
    neighboring: Neighboring
    rounds: int
    theta: float
    round_epsilon: float  # the bounded range of one selection
    count_epsilon: float
    event: Event
    bound_epsilon: float = 0.0

    def at(self, x_bound: float, gradient_bound: float) -> "SelectionPlan":
        """The same releases at the same cost, for bounds that were not known at planning.

        Formal guarantees
        -----------------
        A selection stays ``round_epsilon``-bounded-range: theta is rounded down.
        """
        unit = range_of_unit_theta(x_bound, self.neighboring, gradient_bound)
        theta = theta_of_range(self.round_epsilon, unit)
        while self.private and range_of_theta(theta, unit) > self.round_epsilon:
            theta = math.nextafter(theta, 0.0)
        return replace(self, theta=theta)

    @property
    def private(self) -> bool:
        return not math.isinf(self.epsilon)

    @property
    def selections_rho(self) -> float:
        """The zCDP cost of the selections alone."""
        return self.rounds * self.round_epsilon**2 / 8.0 if self.private else math.inf

    @property
    def rho(self) -> float:
        """The zCDP cost of the releases."""
        return zcdp.rho(self.event) if self.private else math.inf


def plan_selections(
    epsilon: float,
    delta: float,
    neighboring: Neighboring,
    rounds: int,
    x_bound: float,
    gradient_bound: float,
    count_share: float = 0.0,
    bound_share: float = 0.0,
    share: float = 1.0,
) -> SelectionPlan:
    """Split the rho of (epsilon, delta) between a count, a bound on entries and selections.

    ``count_share`` and ``bound_share`` are shares of rho; the selections get ``share`` of the rest.
    """
    epsilon, delta = checks.target("epsilon", epsilon), checks.probability("delta", delta)
    total = zcdp.rho_of(epsilon, delta)
    # epsilon-DP costs epsilon^2 / 2, an epsilon-bounded range a fourth of that. Shares are rounded
    # down, so that the sum cannot exceed rho.
    count_epsilon = math.sqrt(2.0 * count_share * total) * (1.0 - 1e-12) if count_share else 0.0
    bound_epsilon = math.sqrt(8.0 * bound_share * total) * (1.0 - 1e-12) if bound_share else 0.0
    shares = count_share + bound_share
    if not shares < 1.0:
        raise ValueError(
            f"bound_share and the budget_share of a Sparsifier must leave something for the fit, "
            f"got {shares:g} together: lower them."
        )
    spent = (1.0 - shares) * share
    left = total if spent == 1.0 else total * spent * (1.0 - 1e-12)
    theta = theta_for(left, rounds, x_bound, neighboring, gradient_bound)
    selections = selection_event(theta, rounds, x_bound, neighboring, gradient_bound)
    beside: list[Event] = [BoundedRange(bound_epsilon)] if bound_share else []
    beside += [PureDP(count_epsilon)] if count_share else []
    return SelectionPlan(
        epsilon=epsilon,
        delta=delta,
        neighboring=neighboring,
        rounds=selections.count,
        theta=theta,
        round_epsilon=range_of_theta(
            theta, range_of_unit_theta(x_bound, neighboring, gradient_bound)
        ),
        count_epsilon=count_epsilon,
        event=Composed((*beside, selections)) if beside else selections,
        bound_epsilon=bound_epsilon,
    )
