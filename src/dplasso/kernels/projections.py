"""Projections onto balls and simplices."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def threshold(sizes, total):  # type: ignore[no-untyped-def]
    """Return the largest size, top, and t <= 0 with sum(max(sizes - top - t, 0)) = ``total``.

    Michelot's algorithm computes t from all entries, then from those above t, until all are above
    it. t only grows, so a dropped entry never comes back. Entries are taken relative to the largest
    one, since rounding their common part could swallow a small total.
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
        if kept == count or kept == 0:  # kept is 0 if a size is NaN
            return top, level
        count = kept


@njit(cache=True, nogil=True, error_model="numpy")
def onto_simplex(x, total):  # type: ignore[no-untyped-def]
    """Project onto the vectors without negative entries whose sum is ``total``."""
    top, level = threshold(x, total)
    out = np.empty(x.size)
    for i in range(x.size):
        out[i] = max((x[i] - top) - level, 0.0)
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def onto_l1_ball(x, radius):  # type: ignore[no-untyped-def]
    """Project onto the vectors of 1-norm at most ``radius``."""
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
    """Project onto the vectors of 2-norm at most ``radius``."""
    largest = 0.0
    for i in range(x.size):
        largest = max(largest, abs(x[i]))
    if largest == 0.0:
        return x.copy()
    square = 0.0
    for i in range(x.size):  # divided by the largest, whose square may overflow or underflow
        part = x[i] / largest
        square += part * part
    length = largest * np.sqrt(square)
    return x.copy() if length <= radius else x * (radius / length)
