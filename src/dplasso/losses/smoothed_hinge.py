"""Hinge loss with its corner rounded."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dplasso.base import checks
from dplasso.base.arrays import Floats
from dplasso.kernels.problem import HINGE
from dplasso.losses.base import declared, positions


class SmoothedHingeLoss:
    """0 beyond a margin of 1, a parabola over the last ``smoothing`` before it, then a line.

    With s = 1 for the second declared class, -1 for the first, and z = s m: 0 for z >= 1,
    (1 - z)^2 / (2 smoothing) down to z = 1 - smoothing, and 1 - z - smoothing / 2 below. The row
    gradient lies in [-1, 1], its slope in [0, 1 / smoothing].

    For online learners. It is no `Loss`, and so refused by the solvers, whose compiled loops do not
    know it.

    >>> loss = SmoothedHingeLoss(smoothing=0.5)
    >>> loss.value(np.array([[1.0], [0.0]]), loss.encode([1, 1]))
    0.75
    """

    code = HINGE
    outputs = 1

    def __init__(self, classes: Sequence[Any] = (0, 1), smoothing: float = 1.0) -> None:
        self.classes = declared(classes, 2)
        if len(self.classes) != 2:
            raise ValueError(
                f"classes must list two labels for hinge loss, got {len(self.classes)}; "
                "learn one model a class for more"
            )
        self.smoothing = checks.bound("smoothing", smoothing)

    def encode(self, y: ArrayLike) -> Floats:
        """Labels as numbers, 0 and 1; a ValueError names the remedy, never the values."""
        return positions(y, self.classes)

    def value(self, margins: Floats, labels: Floats) -> float:
        """Loss summed over the rows; ``margins`` is rows x 1."""
        short = np.maximum(1.0 - (2.0 * labels - 1.0) * margins[:, 0], 0.0)
        rounded = np.minimum(short, self.smoothing)
        return float(np.sum(rounded * (short - rounded / 2.0)) / self.smoothing)

    def gradient(self, margins: Floats, labels: Floats) -> Floats:
        """Row gradients, rows x 1: the plain reference of the compiled one."""
        side = 2.0 * labels[:, None] - 1.0
        gradient: Floats = -side * np.clip((1.0 - side * margins) / self.smoothing, 0.0, 1.0)
        return gradient
