"""The public numbers of a fit by selections, and textbook quantities that follow from them."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dplasso.audit.account import rho_for
from dplasso.audit.facts import LOGISTIC, SOFTMAX, Facts

ROUNDED_WEIGHTS = 2e-13  # most that rounding of exponentials adds to the range per round


@dataclass(frozen=True, kw_only=True)
class SelectionFacts(Facts):
    """One configuration of Frank-Wolfe.

    ``stale`` means that row gradients are updated only by steps along a column that the row has.
    """

    rounds: int
    radius: float
    fit_intercept: bool
    count_share: float
    stale: bool
    shown = (*Facts.shown, "rounds", "radius", "fit_intercept", "count_share", "theta")

    @property
    def gradient_bound(self) -> float:
        """Largest derivative of a row's loss in one of its margins, anywhere in the ball."""
        reach = self.radius * self.held_bound
        if self.slope is not None:  # losses are convex: slopes are largest at the ends
            ends, labels = np.array([[reach], [-reach]] * 2), np.array([0.0, 0.0, 1.0, 1.0])
            return float(np.abs(self.slope(ends, labels)).max())
        if self.loss == LOGISTIC:
            return 1.0 / (1.0 + math.exp(-reach))
        if self.loss == SOFTMAX:
            return 1.0 / (1.0 + math.exp(-reach) / (self.outputs - 1))
        return min(reach + self.y_bound, self.residual_bound)

    @property
    def range_of_unit_theta(self) -> float:
        """Range of the log-ratio of a round's laws on two neighbours, at theta = 1."""
        return 2.0 * self.rows_changed * self.held_bound * self.gradient_bound

    @cached_property
    def rho(self) -> float:
        """The total rho that the claim allows, in zCDP."""
        return rho_for(self.epsilon, self.delta)

    @cached_property
    def theta(self) -> float:
        """The largest theta that the claim allows."""
        share = self.rho * (1.0 - self.count_share) / self.rounds
        return (math.sqrt(8.0 * share) - ROUNDED_WEIGHTS) / self.range_of_unit_theta

    @property
    def count_epsilon(self) -> float:
        """The epsilon that the Sparsifier's count may cost."""
        return math.sqrt(2.0 * self.count_share * self.rho)
