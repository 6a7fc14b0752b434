"""The public numbers that a guarantee rests on, and what follows from them by the textbook."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.audit.account import rho_for

LOGISTIC, SOFTMAX, SQUARED = "logistic", "softmax", "squared"


@dataclass(frozen=True)
class Facts:
    """One configuration. Nothing here is taken from the product's account of privacy.

    ``bounds`` is the bound on every column, or None where ``x_bound`` is that of all; ``stale``
    says that row gradients are renewed only by steps along a column that the row has.
    """

    loss: str
    outputs: int
    epsilon: float
    delta: float
    neighboring: str
    rounds: int
    radius: float
    x_bound: float
    bounds: NDArray[np.float64] | None
    intercept: bool
    y_bound: float
    residual_bound: float
    count_share: float
    stale: bool

    @property
    def classes(self) -> int:
        """Kinds of labels; 0 where labels are numbers."""
        return 0 if self.loss == SQUARED else max(self.outputs, 2)

    @property
    def gradient_bound(self) -> float:
        """Most that a row's loss can change with one of its margins, anywhere in the ball."""
        reach = self.radius * self.x_bound
        if self.loss == LOGISTIC:
            return 1.0 / (1.0 + math.exp(-reach))
        if self.loss == SOFTMAX:
            return 1.0 / (1.0 + math.exp(-reach) / (self.outputs - 1))
        return min(reach + self.y_bound, self.residual_bound)

    @property
    def range_of_unit_theta(self) -> float:
        """How far a row can spread the log-ratio of two laws of a round, at theta = 1."""
        rows = 1 if self.neighboring == "add_remove" else 2
        return 2.0 * rows * self.x_bound * self.gradient_bound

    @cached_property
    def rho(self) -> float:
        """All that the claim allows, in zCDP."""
        return rho_for(self.epsilon, self.delta)

    @cached_property
    def theta(self) -> float:
        """The sharpest selection that the claim allows."""
        share = self.rho * (1.0 - self.count_share) / self.rounds
        return math.sqrt(8.0 * share) / self.range_of_unit_theta

    @property
    def count_epsilon(self) -> float:
        """What the Sparsifier's count may cost."""
        return math.sqrt(2.0 * self.count_share * self.rho)

    def to_dict(self) -> dict[str, Any]:
        """As the report has it."""
        bound: Any = self.x_bound if self.bounds is None else self.bounds.tolist()
        return {
            "loss": self.loss,
            "outputs": self.outputs,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighboring": self.neighboring,
            "rounds": self.rounds,
            "radius": self.radius,
            "x_bound": bound,
            "fit_intercept": self.intercept,
            "count_share": self.count_share,
            "theta": self.theta,
        }
