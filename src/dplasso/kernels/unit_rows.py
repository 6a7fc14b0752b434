"""Rows of a column-compressed matrix, scaled to integers.

Every result is a maximum or a sum of integers. It does not depend on the order of the entries, so
the result of a row is the same whatever the other rows are.
"""

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import entry, nearest_integer


@njit(cache=True, nogil=True)
def count_equal(values, number):  # type: ignore[no-untyped-def]
    """Number of stored entries that are equal to ``number``."""
    found = 0
    for p in range(values.size):
        found += int(values[p] == number)
    return found


@njit(cache=True, nogil=True)
def largest(indices, values, first, last, out):  # type: ignore[no-untyped-def]
    """Raise ``out[row]`` to the largest absolute value among the row's entries in first..last."""
    for p in range(first, last):
        row = np.uint64(indices[p])
        out[row] = max(out[row], abs(np.float64(values[p])))


@njit(cache=True, nogil=True)
def whole(indices, values, factors, first, last, out):  # type: ignore[no-untyped-def]
    """Entries times their row's factor, rounded to the nearest integer."""
    for p in range(first, last):
        out[p] = nearest_integer(np.float64(values[p]) * factors[np.uint64(indices[p])])


@njit(cache=True, nogil=True)
def squares(indices, values, first, last, out):  # type: ignore[no-untyped-def]
    """Add the squares of integer entries to the sums of their rows."""
    for p in range(first, last):
        x = np.int64(entry(values, p))
        out[np.uint64(indices[p])] += x * x
