"""Rows of a column-compressed matrix as whole numbers over a length, entry by entry.

Every result is a largest value or a sum of whole numbers: it does not depend on the order in which
entries are met, so a row's is the same whatever other rows there are.
"""

import math

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import entry, nearest_integer


@njit(cache=True, nogil=True)
def count_zeros(values):  # type: ignore[no-untyped-def]
    """How many stored entries are 0."""
    zeros = 0
    for p in range(values.size):
        zeros += int(values[p] == 0)
    return zeros


@njit(cache=True, nogil=True)
def largest(indices, values, first, last, out):  # type: ignore[no-untyped-def]
    """Raise ``out`` to the size of every row's entries among those ``first`` to ``last``."""
    for p in range(first, last):
        row = np.uint64(indices[p])
        out[row] = max(out[row], abs(np.float64(values[p])))


@njit(cache=True, nogil=True)
def whole(indices, values, factors, first, last, out):  # type: ignore[no-untyped-def]
    """Entries times their row's factor, to the nearest whole number."""
    for p in range(first, last):
        out[p] = nearest_integer(np.float64(values[p]) * factors[np.uint64(indices[p])])


@njit(cache=True, nogil=True)
def squares(indices, values, first, last, out):  # type: ignore[no-untyped-def]
    """Add the squares of whole entries to their rows."""
    for p in range(first, last):
        x = np.int64(entry(values, p))
        out[np.uint64(indices[p])] += x * x


@njit(cache=True, nogil=True, error_model="numpy")
def dense_lengths(values, out):  # type: ignore[no-untyped-def]
    """2-norms of rows, added up in the order of the columns; 1 for rows of nothing."""
    for i in range(out.size):
        square = 0.0
        for j in range(values.shape[1]):
            square += values[i, j] * values[i, j]
        out[i] = math.sqrt(square) if square > 0.0 else 1.0


@njit(cache=True, nogil=True, error_model="numpy")
def sparse_lengths(indptr, values, out):  # type: ignore[no-untyped-def]
    """The same of row-compressed rows, whose columns are in order."""
    for i in range(out.size):
        square = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            square += values[p] * values[p]
        out[i] = math.sqrt(square) if square > 0.0 else 1.0
