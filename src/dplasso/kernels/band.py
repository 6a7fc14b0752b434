"""Weighted sums of many integer vectors, exact even where they exceed 64 bits.

A sum is kept twice: modulo 2^64 as an integer, which is exact, and as a double, which gives its
size approximately. Together they determine the sum.
"""

import numpy as np
from numba import njit

# Columns handled at a time, so that the running sums stay in the cache.
_RUN = 1024


@njit(cache=True, nogil=True)
def add_weighted(vectors, weights, first, last, low, high):  # type: ignore[no-untyped-def]
    """Add ``weights`` times ``vectors``, one weight per vector, to the columns first to last."""
    fours = weights.size - weights.size % 4
    for start in range(first, last, _RUN):
        end = min(start + _RUN, last)
        tail, size = low[start:end], high[start:end]
        for k in range(0, fours, 4):
            p, q = vectors[k, start:end], vectors[k + 1, start:end]
            r, s = vectors[k + 2, start:end], vectors[k + 3, start:end]
            _add_four(p, q, r, s, weights[k : k + 4], tail, size)
        for k in range(fours, weights.size):
            _add_one(vectors[k, start:end], weights[k], tail, size)


@njit(inline="always")
def _add_one(vector, weight, low, high):  # type: ignore[no-untyped-def]
    factor = np.float64(weight)
    for j in range(vector.size):
        low[j] += weight * vector[j]
        high[j] += factor * np.float64(vector[j])


@njit(inline="always")
def _add_four(p, q, r, s, weights, low, high):  # type: ignore[no-untyped-def]
    """Add four vectors at a time: the sums are read and written a quarter as often."""
    a, b, c, d = weights[0], weights[1], weights[2], weights[3]
    w, x, y, z = np.float64(a), np.float64(b), np.float64(c), np.float64(d)
    for j in range(p.size):
        low[j] += a * p[j] + b * q[j] + c * r[j] + d * s[j]
        high[j] += (w * p[j] + x * q[j]) + (y * r[j] + z * s[j])
