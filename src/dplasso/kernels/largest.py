"""The largest of very many numbers, without sorting them.

Numbers that are not negative have the order of their bits. So a histogram over the leading bits
tells in which bin the smallest of the largest lies, and only that bin is searched further.
"""

import math

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import bits_of_double, column

# Bits are read in digits of 14: the exponent with the first bits of the mantissa, then the next.
SHIFTS = (49, 35)
BINS = 1 << 14


@njit(cache=True, nogil=True)
def reaches(weights, present, columns, first, last, out):  # type: ignore[no-untyped-def]
    """How far a weight moves margins: its absolute value times the root of its column's mass."""
    for k in range(first, last):
        j = column(columns, k)
        out[k] = abs(weights[j]) * math.sqrt(present[j])


@njit(cache=True, nogil=True)
def tally(sizes, shift, first, last):  # type: ignore[no-untyped-def]
    """Histogram of the numbers from ``first`` to ``last`` over a digit of their bits."""
    counts = np.zeros(BINS, np.int64)
    for k in range(first, last):
        counts[(bits_of_double(sizes[k]) >> shift) & (BINS - 1)] += 1
    return counts


@njit(cache=True, nogil=True)
def in_bin(sizes, shift, chosen, count, first, last):  # type: ignore[no-untyped-def]
    """The ``count`` numbers from ``first`` to ``last`` whose digit is ``chosen``."""
    found, at = np.empty(count), 0
    for k in range(first, last):
        if (bits_of_double(sizes[k]) >> shift) & (BINS - 1) == chosen:
            found[at] = sizes[k]
            at += 1
    return found


@njit(cache=True, nogil=True)
def count_equal(sizes, least, first, last):  # type: ignore[no-untyped-def]
    """How many of the numbers from ``first`` to ``last`` are ``least``."""
    count = 0
    for k in range(first, last):
        count += sizes[k] == least
    return count


@njit(cache=True, nogil=True)
def mark(sizes, least, equal, columns, first, last, out):  # type: ignore[no-untyped-def]
    """Mark columns whose numbers are above ``least``, and the first ``equal`` that are ``least``.

    ``out`` is false before.
    """
    for k in range(first, last):
        if sizes[k] > least:
            out[column(columns, k)] = True
        elif sizes[k] == least and equal > 0:
            out[column(columns, k)] = True
            equal -= 1


@njit(cache=True, nogil=True)
def count_marked(marks, columns, first, last):  # type: ignore[no-untyped-def]
    """Number of columns that any row of ``marks`` marks."""
    count = 0
    for k in range(first, last):
        count += _marked(marks, column(columns, k))
    return count


@njit(cache=True, nogil=True)
def list_marked(marks, columns, first, last, out):  # type: ignore[no-untyped-def]
    """List the columns that any row of ``marks`` marks, in their order."""
    at = 0
    for k in range(first, last):
        if at == out.size:
            break
        out[at] = column(columns, k)
        at += _marked(marks, out[at])


@njit(inline="always")
def _marked(marks, j):  # type: ignore[no-untyped-def]
    found = False
    for k in range(marks.shape[0]):
        found |= marks[k, j]
    return found
