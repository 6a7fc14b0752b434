"""How a fit spends its budget: fixed from public numbers before any data are read."""

import math
from dataclasses import dataclass

from dplasso.privacy import checks, zcdp
from dplasso.privacy.calibration import (
    Neighboring,
    range_of_unit_theta,
    selection_event,
    theta_for,
)
from dplasso.privacy.events import Composed, Event, PureDP


@dataclass(frozen=True)
class Plan:
    """The budget of a fit, its split, and the event that composes its releases.

    Formal guarantees
    -----------------
    The releases are one count, ``count_epsilon``-DP, where that is not 0, and ``rounds`` selections
    at ``theta``. Their costs add in rho, at most ``rho`` of `rho_of(epsilon, delta)` in all, under
    the stated neighbouring relation. An infinite epsilon promises nothing.
    """

    epsilon: float
    delta: float
    neighboring: Neighboring
    rounds: int
    theta: float
    round_epsilon: float  # the bounded range of one selection
    count_epsilon: float
    event: Event

    @property
    def private(self) -> bool:
        return not math.isinf(self.epsilon)

    @property
    def rho(self) -> float:
        """What the releases cost in zCDP."""
        return zcdp.rho(self.event) if self.private else math.inf


def make_plan(
    epsilon: float,
    delta: float,
    neighboring: Neighboring,
    rounds: int,
    x_bound: float,
    gradient_bound: float,
    count_share: float = 0.0,
) -> Plan:
    """Split (epsilon, delta): ``count_share`` of its rho to a count, the rest to selections."""
    epsilon, delta = checks.target("epsilon", epsilon), checks.probability("delta", delta)
    total = zcdp.rho_of(epsilon, delta)
    # epsilon-DP costs epsilon^2 / 2. Shares are rounded down, so that the sum cannot exceed rho.
    count_epsilon = math.sqrt(2.0 * count_share * total) * (1.0 - 1e-12) if count_share else 0.0
    left = total * (1.0 - count_share) * (1.0 - 1e-12) if count_share else total
    theta = theta_for(left, rounds, x_bound, neighboring, gradient_bound)
    selections = selection_event(theta, rounds, x_bound, neighboring, gradient_bound)
    event = Composed((PureDP(count_epsilon), selections)) if count_share else selections
    return Plan(
        epsilon=epsilon,
        delta=delta,
        neighboring=neighboring,
        rounds=selections.count,
        theta=theta,
        round_epsilon=theta * range_of_unit_theta(x_bound, neighboring, gradient_bound),
        count_epsilon=count_epsilon,
        event=event,
    )
