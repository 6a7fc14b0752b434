"""Squared loss, linear beyond an optional bound on the residual."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dplasso.base import checks
from dplasso.base.arrays import Floats
from dplasso.kernels.residuals import SQUARED, Loops
from dplasso.losses.base import OneMarginLoss
from dplasso.losses.labels import LabelRange, one_dimensional
from dplasso.losses.table_pace import TablePace

# A residual has the rounding error of its label: a much smaller bound could not be resolved.
FLATTEST = 1e-9


def _residuals(margins: Any, labels: Any, count: int, scale: float, shape: float) -> None:
    for k in range(count):
        residual = margins[k] * scale - labels[k]
        residual = -shape if residual < -shape else residual
        margins[k] = shape if residual > shape else residual


def _curvatures(margins: Any, labels: Any, count: int, scale: float, shape: float) -> None:
    for k in range(count):
        margins[k] = 1.0 if abs(margins[k] * scale - labels[k]) <= shape else 0.0


class SquaredLoss(OneMarginLoss):
    """Squared loss: (m - y)^2 / 2, or Huber's loss if ``residual_bound`` is finite.

    The row gradient is the residual m - y, clipped at ``residual_bound``; its slope is 1 (or 0
    beyond that bound).

    Parameters
    ----------
    y_bound : float or pair of float
        Public bound on the absolute value of labels, or their low and high end. Labels are clipped
        to it, and the middle of a pair is subtracted.
    residual_bound : float, default infinity
        Public bound at which residuals are clipped.

    Examples
    --------
    >>> SquaredLoss(y_bound=2.0).encode([1, 5])
    array([1., 2.])
    >>> SquaredLoss(y_bound=(10.0, 20.0)).encode([1, 12, 20])
    array([-5., -3.,  5.])
    """

    loops = Loops(_residuals, _curvatures, SQUARED)
    lipschitz = 1.0
    steadiness = 10.0
    of_numbers = True

    def __init__(
        self, y_bound: float | tuple[float, float], residual_bound: float = math.inf
    ) -> None:
        self._labels = LabelRange.of(y_bound)
        self.y_bound, self.middle = self._labels.reach, self._labels.middle
        self.clip = self.shape = checks.target("residual_bound", residual_bound)
        self.curvature = (1.0, 1.0) if math.isinf(self.clip) else (0.0, 1.0)

    def encode(self, y: ArrayLike) -> Floats:
        array = one_dimensional(y)
        if array.dtype.kind not in "fiub":
            raise ValueError(f"y must be real numbers, got {array.dtype}; convert it first")
        # Clipped twice: the first keeps the difference finite, the second keeps it in bounds.
        centred = np.clip(array.astype(np.float64), *self._labels) - self.middle
        return np.clip(centred, -self.y_bound, self.y_bound)

    def label_shares(self, labels: Floats) -> Floats:
        return labels / self.y_bound

    def gradient_bound(self, radius: float, x_bound: float) -> float:
        return min(radius * x_bound + self.y_bound, self.clip)

    def table_pace(self) -> TablePace:
        # In units of the labels' spread, which is released.
        return TablePace(cut=1.5, margin_noise=0.8, curvature=1.0, lengthened=1.0, of_numbers=True)

    def shape_within(self, bound: float) -> float:
        return min(self.clip, bound)

    def values(self, margins: Floats, labels: Floats) -> Floats:
        residual = np.abs(margins[:, 0] - labels)
        inside = np.minimum(residual, self.clip)
        found: Floats = inside * (residual - inside / 2)
        return found

    def gradient(self, margins: Floats, labels: Floats) -> Floats:
        return np.clip(margins - labels[:, None], -self.clip, self.clip)

    def check_precision(self) -> None:
        if not self.clip >= FLATTEST * self.y_bound:
            raise ValueError(
                f"residual_bound must be at least {FLATTEST:g} of y_bound, got {self.clip:.3g} for "
                f"{self.y_bound:.3g}; raise it, or lower y_bound"
            )
