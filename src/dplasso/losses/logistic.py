"""Logistic loss for two classes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from dplasso.base.arrays import Floats
from dplasso.kernels.problem import LOGISTIC
from dplasso.losses.base import Loss, declared, positions


class LogisticLoss(Loss):
    """log(1 + e^m) - y m, with y = 1 for the second declared class and 0 for the first.

    The row gradient is sigmoid(m) - y. It lies in (-1, 1), its slope in (0, 1/4].

    >>> LogisticLoss(classes=("no", "yes")).encode(["yes", "no"])
    array([1., 0.])
    """

    code = LOGISTIC
    curvature = (0.0, 0.25)
    lipschitz = 0.25

    def __init__(self, classes: Sequence[Any] = (0, 1)) -> None:
        self.classes = declared(classes, 2)
        if len(self.classes) != 2:
            raise ValueError(
                f"classes must list two labels for logistic loss, got {len(self.classes)}; "
                "use SoftmaxLoss for more"
            )

    def encode(self, y: ArrayLike) -> Floats:
        return positions(y, self.classes)

    def gradient_bound(self, radius: float, x_bound: float) -> float:
        return float(expit(radius * x_bound))

    def value(self, margins: Floats, labels: Floats) -> float:
        m = margins[:, 0]
        return float(np.sum(np.logaddexp(0.0, m) - labels * m))

    def gradient(self, margins: Floats, labels: Floats) -> Floats:
        gradient: Floats = expit(margins) - labels[:, None]
        return gradient
