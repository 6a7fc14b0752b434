"""What noisy releases say of labels: the mean of numbers, and the share of a class."""

import math

import numpy as np
from scipy.special import expit

from dplasso.base.arrays import Floats

# Usual size of the mean of numbers, as a share of their bound, unless the bound is far too wide.
USUAL_MEAN = 0.3
# How often a bound is taken to be far too wide, and one class of two to be rare.
WIDE, RARE = 0.8, 0.1
# A share that is farther from 0 and 1 than this, in units of its noise, is taken as it is. Nearer
# ones are compared with so many shares.
CLEAR, COMPARED = 4.0, 400


def likely_mean(mean: float, noise: float) -> float:
    """The expected mean of numbers if ``mean`` was measured with ``noise``, as shares of the bound.

    A bound that is far too wide puts the mean next to 0, the middle of the range. Other means are
    normal.
    """
    if noise == 0.0:
        return mean
    square = USUAL_MEAN**2 + noise**2
    for_middle = math.log(WIDE / (1.0 - WIDE)) + 0.5 * math.log(square / noise**2)
    for_middle -= 0.5 * (mean / noise) ** 2 * (USUAL_MEAN**2 / square)
    return mean * (USUAL_MEAN**2 / square) * float(expit(-for_middle))


def likely_share(share: float, noise: float, least: float) -> float:
    """The expected share of one of two classes if ``share`` was measured with ``noise``.

    Shares are from ``least`` to 1 - ``least``. If one class is rare, a tenth is as likely as a
    hundredth; otherwise all shares are equally likely.
    """
    if noise == 0.0 or min(share, 1.0 - share) > CLEAR * noise:
        return min(max(share, least), 1.0 - least)
    end = math.log((1.0 - least) / least)
    shares = expit(np.linspace(-end, end, COMPARED))
    even = shares * (1.0 - shares)  # in log-odds
    off = (shares - min(max(share, 0.0), 1.0)) / noise
    law = ((1.0 - RARE) * even / even.sum() + RARE / COMPARED) * np.exp(-0.5 * off**2)
    return float(law @ shares / law.sum())


class MeasuredMean:
    """Measurements of the mean of numbers: its own release, and one by every step.

    A step releases the mean residual. With the intercept it measures the mean of the labels, except
    for what the weights say of the mean row, which is 0 up to the noise of the released centres.
    Those steps together are often several times as exact as the release of the mean.

    Formal guarantees
    -----------------
    It is post-processing: a function of public numbers and of releases. It never sees data.
    """

    def __init__(self, bound: float, mean: float, noise: float, off_centre: Floats) -> None:
        """``mean`` and ``noise`` are shares of ``bound``; ``off_centre`` is of standard rows."""
        self._bound, self._off_centre = bound, off_centre
        self._found = [(mean, noise)]
        self._weights = [np.zeros(len(off_centre))]

    def add(self, mean: float, noise: float, weights: Floats) -> None:
        """Learn a mean of labels that was measured with ``noise`` at these ``weights``."""
        self._found.append((mean / self._bound, noise / self._bound))
        self._weights.append(weights / self._bound)

    @property
    def likely(self) -> float:
        """The expected mean of the labels, by all measurements; each must have noise."""
        means, noises = np.array(self._found).T
        size = len(self._off_centre)
        # Least squares for where the mean row lies, in units of what is expected, and the mean.
        at_mean_row = np.array(self._weights) * self._off_centre
        at_mean_row = np.column_stack([at_mean_row, np.ones(len(means))])
        system = np.vstack([np.eye(size, size + 1), at_mean_row / noises[:, None]])
        turned, root = np.linalg.qr(system)
        known = np.append(np.zeros(size), means / noises)
        mean = float(turned[:, -1] @ known / root[-1, -1])
        noise = abs(1.0 / float(root[-1, -1]))
        return self._bound * likely_mean(min(max(mean, -1.0), 1.0), noise)
