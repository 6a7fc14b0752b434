"""Multinomial logistic loss."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_softmax, logsumexp, softmax

from dplasso.base.arrays import Floats
from dplasso.kernels.residuals import SEVERAL_MARGINS, Residual
from dplasso.losses.base import Loss, Probabilities
from dplasso.losses.labels import declared, positions
from dplasso.losses.pace import Pace, Paces, Thresholds
from dplasso.losses.table_pace import TablePace


class SoftmaxLoss(Loss, Probabilities):
    """Softmax loss: logsumexp(m) - m_y over K classes, one margin per class.

    All K x p weights form one vector in one L1 ball: a round selects one of its 2Kp signed
    vertices. The row gradient of class k is p_k - [y = k], in [-1, 1]. Its gradient in the margins
    is p_k (e_k - p), of 2-norm at most sqrt(2) p_k (1 - p_k) <= sqrt(2) / 4. Its compiled residual
    is `dplasso.kernels.softmax`.

    Parameters
    ----------
    classes : sequence of at least two labels
        The labels, in the order of the margins.

    Examples
    --------
    >>> SoftmaxLoss(classes=("a", "b", "c")).outputs
    3
    """

    curvature = (0.0, 0.25)
    lipschitz = math.sqrt(2.0) / 4.0

    def __init__(self, classes: Sequence[Any]) -> None:
        self.classes = declared(classes, 2)
        self.outputs = len(self.classes)

    def encode(self, y: ArrayLike) -> Floats:
        return positions(y, self.classes)

    def gradient_bound(self, radius: float, x_bound: float) -> float:
        # All weights share one ball, so a row's margins have 1-norm at most radius * x_bound. The
        # gradient is largest where all of that norm lowers the true class's margin.
        return 1.0 / (1.0 + math.exp(-radius * x_bound) / (self.outputs - 1))

    def first_residual(self) -> float:
        return math.sqrt(1.0 - 1.0 / self.outputs)

    def values(self, margins: Floats, labels: Floats) -> Floats:
        own = np.take_along_axis(margins, labels.astype(np.int64)[:, None], axis=1)[:, 0]
        found: Floats = logsumexp(margins, axis=1) - own
        return found

    def gradient(self, margins: Floats, labels: Floats) -> Floats:
        gradient: Floats = softmax(margins, axis=1)
        gradient[np.arange(len(labels)), labels.astype(np.int64)] -= 1.0
        return gradient

    def compiled(self, bound: float = math.inf) -> Residual:
        return SEVERAL_MARGINS

    def paces(self) -> Paces:
        return Paces(
            wide=Pace(
                cut=1.0,
                margin_noise=0.5,
                longest_step=300.0,
                intercept_step=10.0,
                fewest_steps=5,
                thresholds=Thresholds(least=0.001, centred=5.0),
            ),
            narrow=Pace(
                cut=0.15,
                margin_noise=3.0,
                longest_step=600.0,
                intercept_step=20.0,
                fewest_steps=40,
                thresholds=Thresholds(least=0.02, centred=5.0),
            ),
        )

    def table_pace(self) -> TablePace:
        more = self.outputs / 2.0
        share = 1.0 / self.outputs
        return TablePace(
            cut=0.4,
            margin_noise=math.sqrt(more),
            curvature=share * (1.0 - share),
            longest=120.0 * math.pow(more, 0.25),
            step=1.0,
        )

    @staticmethod
    def probabilities(margins: Floats) -> Floats:
        found: Floats = softmax(margins, axis=1)
        return found

    @staticmethod
    def log_probabilities(margins: Floats) -> Floats:
        found: Floats = log_softmax(margins, axis=1)
        return found
