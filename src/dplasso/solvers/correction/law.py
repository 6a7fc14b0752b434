"""The mean of a law of two numbers, found on a grid that narrows around it."""

from collections.abc import Callable

import numpy as np

from dplasso.base.arrays import Floats

# The grid has POINTS x POINTS points and reaches FAR standard deviations to every side.
POINTS, FAR = 17, 4.0
# Each pass lays a new grid by the law that the last one found, at most twice as narrow, so that a
# law that is narrower than the last grid's steps is not lost. A law that is 2^14 times as narrow as
# the first one is found, which takes far more rows than there are.
PASSES = 14
_LEAST = 2.0 * FAR / (POINTS - 1)  # a step of the grid, in standard deviations
_STEPS: Floats = np.linspace(-FAR, FAR, POINTS)
_GRID: Floats = np.stack([np.repeat(_STEPS, POINTS), np.tile(_STEPS, POINTS)])


def mean_of(unlikely: Callable[[Floats, Floats], Floats], middle: Floats, off: Floats) -> Floats:
    """Mean of two numbers whose density is proportional to ``exp(-unlikely(first, second))``.

    The first grid is around ``middle``; the columns of ``off`` are its standard deviations. The
    result is continuous in ``unlikely``, so that rounding moves it by little.
    """
    for _ in range(PASSES):
        found = unlikely(*(middle[:, None] + off @ _GRID))
        weights = np.exp(found.min() - found)
        weights /= weights.sum()
        mean = _GRID @ weights
        apart = _GRID - mean[:, None]
        sizes, axes = np.linalg.eigh((apart * weights) @ apart.T)
        middle = middle + off @ mean
        # A symmetric root: it changes little if the law does, whichever axes are found.
        off = off @ (axes * np.sqrt(np.maximum(sizes, _LEAST**2))) @ axes.T
    return middle
