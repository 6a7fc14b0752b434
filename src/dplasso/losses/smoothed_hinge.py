"""Hinge loss with its corner rounded: the loss of a linear support vector machine."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dplasso.base import checks
from dplasso.base.arrays import Floats
from dplasso.kernels.residuals import HINGE, Loops
from dplasso.losses.base import TwoClassLoss
from dplasso.losses.logistic import LogisticLoss
from dplasso.losses.pace import Paces

# A sharper corner would turn the rounding of margins into errors of scores beyond their padding
# (`dplasso.mechanisms.selection.score_bounds`).
SHARPEST = 2.0**-8


def _residuals(margins: Any, labels: Any, count: int, scale: float, shape: float) -> None:
    for k in range(count):
        side = 2.0 * labels[k] - 1.0
        margins[k] = -side * min(max((1.0 - side * (margins[k] * scale)) / shape, 0.0), 1.0)


def _curvatures(margins: Any, labels: Any, count: int, scale: float, shape: float) -> None:
    for k in range(count):
        short = 1.0 - (2.0 * labels[k] - 1.0) * (margins[k] * scale)
        margins[k] = 1.0 / shape if 0.0 <= short <= shape else 0.0


class SmoothedHingeLoss(TwoClassLoss):
    """Hinge loss with a parabola of width ``smoothing`` in place of its corner.

    With s = 1 for the second declared class, -1 for the first, and z = s m: 0 for z >= 1,
    (1 - z)^2 / (2 smoothing) down to z = 1 - smoothing, and 1 - z - smoothing / 2 below. The row
    gradient lies in [-1, 1], its slope in [0, 1 / smoothing]. Margins do not give probabilities.

    Parameters
    ----------
    classes : sequence of two labels, default (0, 1)
    smoothing : float, default 1
        Width of the parabola.

    >>> loss = SmoothedHingeLoss(smoothing=0.5)
    >>> loss.value(np.array([[1.0], [0.0]]), loss.encode([1, 1]))
    0.75
    """

    loops = Loops(_residuals, _curvatures, HINGE)

    def __init__(self, classes: Sequence[Any] = (0, 1), smoothing: float = 1.0) -> None:
        super().__init__(classes)
        self.smoothing = self.shape = checks.bound("smoothing", smoothing)
        self.curvature = (0.0, 1.0 / self.smoothing)
        self.lipschitz = 1.0 / self.smoothing

    def gradient_bound(self, radius: float, x_bound: float) -> float:
        return min(1.0, (1.0 + radius * x_bound) / self.smoothing)

    def values(self, margins: Floats, labels: Floats) -> Floats:
        short = np.maximum(1.0 - (2.0 * labels - 1.0) * margins[:, 0], 0.0)
        rounded = np.minimum(short, self.smoothing)
        found: Floats = rounded * (short - rounded / 2.0) / self.smoothing
        return found

    def gradient(self, margins: Floats, labels: Floats) -> Floats:
        side = 2.0 * labels[:, None] - 1.0
        gradient: Floats = -side * np.clip((1.0 - side * margins) / self.smoothing, 0.0, 1.0)
        return gradient

    def check_precision(self) -> None:
        if not self.smoothing >= SHARPEST:
            raise ValueError(
                f"smoothing must be at least {SHARPEST:g}, got {self.smoothing:.3g}; raise it"
            )

    def paces(self) -> Paces:
        # The paces of logistic loss in this loss's units: residuals start at twice the size, and
        # rows count fully until a margin that is about a third as large.
        wide, narrow = LogisticLoss().paces()
        return Paces(
            wide._replace(
                margin_noise=0.63, longest_step=108.0, intercept_step=1.8, intercept_noise=0.045
            ),
            narrow._replace(margin_noise=0.7, longest_step=50.0, intercept_step=3.5),
        )
