"""What noisy numbers say: means, shares of classes, and means of several columns."""

import math

import numpy as np

from dplasso.base.arrays import Floats


def likely_mean(mean: float, variance: float) -> float:
    """The mean of numbers: 0 in four of five tables, and otherwise of standard deviation 0.3."""
    mean, both = min(max(mean, -1.0), 1.0), 0.09 + variance
    if variance == 0.0:
        return mean
    elsewhere = 0.2 * math.exp(-0.5 * mean**2 / both) / math.sqrt(both)
    middle = 0.8 * math.exp(-0.5 * mean**2 / variance) / math.sqrt(variance)
    return mean * 0.09 / both * elsewhere / (elsewhere + middle)


def likely_share(share: float, noise: float, least: float) -> float:
    """The share of a class: its logarithm is evenly spread in one of ten tables, or the share."""
    if noise == 0.0 or min(share, 1.0 - share) > 4.0 * noise:
        return min(max(share, least), 1.0 - least)
    end = math.log(1.0 / least - 1.0)
    found = 1.0 / (1.0 + np.exp(-np.linspace(-end, end, 400)))
    chances = 0.1 / 400.0 + 0.9 * found * (1.0 - found) / np.sum(found * (1.0 - found))
    chances *= np.exp(-((found - min(max(share, 0.0), 1.0)) ** 2) / (2.0 * noise**2))
    return float(np.sum(chances * found) / np.sum(chances))


def james_stein(values: Floats, target: float, noise: float) -> Floats:
    """Measured means, shrunk to a target by as much as their noise explains."""
    square = np.sum((values - target) ** 2)
    kept = 1.0 - (len(values) - 2) * noise**2 / square if square > 0.0 else 0.0
    return target + min(max(kept, 0.0), 1.0) * (values - target)
