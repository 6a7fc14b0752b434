"""A loss that the product does not have: all that it takes to add one."""

import math

import numpy as np

from dplasso.kernels.residuals import Loops
from dplasso.losses import Loss, OneMarginLoss


def _residuals(margins, labels, count, scale, shape):
    for k in range(count):
        margins[k] = shape * math.tanh((margins[k] * scale - labels[k]) / shape)


def _curvatures(margins, labels, count, scale, shape):
    for k in range(count):
        margins[k] = 1.0 - math.tanh((margins[k] * scale - labels[k]) / shape) ** 2


class LogCoshLoss(OneMarginLoss):
    """shape^2 log cosh((m - y) / shape): squared loss whose residual levels off smoothly."""

    loops = Loops(_residuals, _curvatures)
    curvature = (0.0, 1.0)
    lipschitz = 1.0

    def __init__(self, shape=0.5):
        self.shape = shape

    def encode(self, y):
        return np.clip(np.asarray(y, np.float64), -1.0, 1.0)

    def label_shares(self, labels):
        return labels

    def gradient_bound(self, radius, x_bound):
        return self.shape * math.tanh((radius * x_bound + 1.0) / self.shape)

    def values(self, margins, labels):
        off = np.abs(margins[:, 0] - labels) / self.shape
        return (off + np.log1p(np.exp(-2.0 * off)) - math.log(2.0)) * self.shape**2

    def gradient(self, margins, labels):
        return self.shape * np.tanh((margins - labels[:, None]) / self.shape)


class UncompiledLoss(Loss):
    """A loss that no kernel can compute."""

    outputs, curvature, lipschitz = 1, (0.0, 1.0), 1.0

    def encode(self, y):
        return np.asarray(y, np.float64)

    def gradient_bound(self, radius, x_bound):
        return 1.0

    def values(self, margins, labels):
        return np.zeros(len(margins))

    def gradient(self, margins, labels):
        return np.zeros_like(margins)

    def compiled(self, bound=math.inf):
        raise AssertionError("a solver must refuse this loss before it compiles anything")
