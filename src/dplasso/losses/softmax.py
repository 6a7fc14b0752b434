"""Multinomial logistic loss."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp, softmax

from dplasso.base.arrays import Floats
from dplasso.kernels.problem import SOFTMAX
from dplasso.losses.base import Loss, declared, positions


class SoftmaxLoss(Loss):
    """logsumexp(m) - m_y over K classes, one margin a class.

    All K x p weights form one vector in one L1 ball: a round selects one of its 2Kp signed
    vertices. The row gradient of class k is p_k - [y = k], in [-1, 1]. Its gradient in the margins
    is p_k (e_k - p), of 2-norm at most sqrt(2) p_k (1 - p_k) <= sqrt(2) / 4.

    >>> SoftmaxLoss(classes=("a", "b", "c")).outputs
    3
    """

    code = SOFTMAX
    curvature = (0.0, 0.25)
    lipschitz = math.sqrt(2.0) / 4.0

    def __init__(self, classes: Sequence[Any]) -> None:
        self.classes = declared(classes, 2)
        self.outputs = len(self.classes)

    def encode(self, y: ArrayLike) -> Floats:
        return positions(y, self.classes)

    def gradient_bound(self, radius: float, x_bound: float) -> float:
        # All weights share one ball, so a row's margins have 1-norm at most radius * x_bound. The
        # gradient is largest where all of it lowers the true class.
        return 1.0 / (1.0 + math.exp(-radius * x_bound) / (self.outputs - 1))

    def value(self, margins: Floats, labels: Floats) -> float:
        own = np.take_along_axis(margins, labels.astype(np.int64)[:, None], axis=1)[:, 0]
        return float(np.sum(logsumexp(margins, axis=1) - own))

    def gradient(self, margins: Floats, labels: Floats) -> Floats:
        gradient: Floats = softmax(margins, axis=1)
        gradient[np.arange(len(labels)), labels.astype(np.int64)] -= 1.0
        return gradient
