"""Squared loss, with a bound on the residual beyond which it is linear."""

import math

import numpy as np
from numpy.typing import ArrayLike

from dplasso.base import checks
from dplasso.base.arrays import Floats
from dplasso.kernels.problem import SQUARED
from dplasso.losses.base import Loss, one_dimensional


class SquaredLoss(Loss):
    """(m - y)^2 / 2, or Huber's loss where ``residual_bound`` is finite.

    Labels are clipped to ``[-y_bound, y_bound]``, a public bound. The row gradient is the residual
    m - y, cut at ``residual_bound``; its slope is 1 (or 0 beyond the cut).

    >>> SquaredLoss(y_bound=2.0).encode([1, 5])
    array([1., 2.])
    """

    code = SQUARED
    lipschitz = 1.0

    def __init__(self, y_bound: float, residual_bound: float = math.inf) -> None:
        self.y_bound = checks.bound("y_bound", y_bound)
        self.clip = checks.target("residual_bound", residual_bound)
        self.curvature = (1.0, 1.0) if math.isinf(self.clip) else (0.0, 1.0)

    def encode(self, y: ArrayLike) -> Floats:
        array = one_dimensional(y)
        if array.dtype.kind not in "fiub":
            raise ValueError(f"y must be real numbers, got {array.dtype}; convert it first")
        return np.clip(array.astype(np.float64), -self.y_bound, self.y_bound)

    def gradient_bound(self, radius: float, x_bound: float) -> float:
        return min(radius * x_bound + self.y_bound, self.clip)

    def value(self, margins: Floats, labels: Floats) -> float:
        residual = np.abs(margins[:, 0] - labels)
        inside = np.minimum(residual, self.clip)
        return float(np.sum(inside * (residual - inside / 2)))

    def gradient(self, margins: Floats, labels: Floats) -> Floats:
        return np.clip(margins - labels[:, None], -self.clip, self.clip)
