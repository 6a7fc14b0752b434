"""Nearest points of balls and simplices."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def threshold(sizes, total):  # type: ignore[no-untyped-def]
    """The largest of ``sizes``, and the t <= 0 for which what sticks out above their sum is
    ``total`` in all.

    Michelot's rule: the t of all, then of those above it, until all are. t only grows, so that
    nothing dropped comes back. It is taken from the largest, since what entries have in common
    would swallow a small total.
    """
    top = sizes[0]
    for i in range(1, sizes.size):
        top = max(top, sizes[i])
    left = np.empty(sizes.size)
    count, added = sizes.size, 0.0
    for i in range(count):
        left[i] = sizes[i] - top
        added += left[i]
    while True:
        level = (added - total) / count
        kept, added = 0, 0.0
        for i in range(count):
            if left[i] > level:
                left[kept] = left[i]
                added += left[i]
                kept += 1
        if kept == count or kept == 0:  # none where a size is not a number
            return top, level
        count = kept


@njit(cache=True, nogil=True, error_model="numpy")
def onto_simplex(x, total):  # type: ignore[no-untyped-def]
    """The nearest vector of no negative entries that add up to ``total``."""
    top, level = threshold(x, total)
    out = np.empty(x.size)
    for i in range(x.size):
        out[i] = max((x[i] - top) - level, 0.0)
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def onto_l1_ball(x, radius):  # type: ignore[no-untyped-def]
    """The nearest vector whose sizes add up to ``radius`` at most."""
    sizes = np.abs(x)
    if sizes.sum() <= radius:
        return x.copy()
    top, level = threshold(sizes, radius)
    out = np.empty(x.size)
    for i in range(x.size):
        out[i] = np.copysign(max((sizes[i] - top) - level, 0.0), x[i])
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def onto_l2_ball(x, radius):  # type: ignore[no-untyped-def]
    """The nearest vector of length ``radius`` at most."""
    largest = 0.0
    for i in range(x.size):
        largest = max(largest, abs(x[i]))
    if largest == 0.0:
        return x.copy()
    square = 0.0
    for i in range(x.size):  # over the largest, whose square alone may be too large or too small
        part = x[i] / largest
        square += part * part
    length = largest * np.sqrt(square)
    return x.copy() if length <= radius else x * (radius / length)
