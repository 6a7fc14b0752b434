"""Turn rows into columns: checks of the input, and a counting sort by column."""

import math

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def ascending(indptr):  # type: ignore[no-untyped-def]
    """Whether row pointers never decrease."""
    falls = 0
    for k in range(indptr.size - 1):
        falls += int(indptr[k + 1] < indptr[k])
    return falls == 0


@njit(cache=True, nogil=True)
def first_fault(indices, values, columns):  # type: ignore[no-untyped-def]
    """Place of the first entry whose column is out of range or value not finite, or -1."""
    for p in range(indices.size):
        if indices[p] < 0 or indices[p] >= columns or not math.isfinite(values[p]):
            return p
    return -1


@njit(cache=True, nogil=True)
def survey(values):  # type: ignore[no-untyped-def]
    """Whether all values are 1, whether single precision holds all exactly, and the largest |x|."""
    ones = True
    single = True
    largest = 0.0
    for p in range(values.size):
        x = values[p]
        ones &= x == 1.0
        single &= np.float64(np.float32(x)) == x
        largest = max(largest, abs(x))
    return ones, single, largest


@njit(cache=True, nogil=True)
def spread(indptr, first, base, out):  # type: ignore[no-untyped-def]
    """Write the rows, counted from ``base``, of the entries from ``first`` on, to fill ``out``."""
    row = np.searchsorted(indptr, first, side="right") - 1
    for k in range(out.size):
        while indptr[row + 1] <= first + k:
            row += 1
        out[k] = base + row


@njit(cache=True, nogil=True)
def tally(columns, lengths):  # type: ignore[no-untyped-def]
    """Count the entries per column into ``lengths``."""
    for k in range(columns.size):
        lengths[columns[k]] += 1


@njit(cache=True, nogil=True)
def sort_by_column(columns, first, ends, order):  # type: ignore[no-untyped-def]
    """List entries by column; entries of one column keep their order.

    Columns are counted from ``first``; ``ends``, one number per column, receives the place where
    each column ends in ``order``.
    """
    ends[:] = 0
    for k in range(columns.size):
        ends[columns[k] - first] += 1
    start = 0
    for j in range(ends.size):
        length = ends[j]
        ends[j] = start
        start += length
    for k in range(columns.size):
        j = columns[k] - first
        order[ends[j]] = k
        ends[j] += 1


@njit(cache=True, nogil=True)
def gather(source, order, out):  # type: ignore[no-untyped-def]
    """``source`` in the given order."""
    for k in range(order.size):
        out[k] = source[order[k]]


@njit(cache=True, nogil=True)
def clip(values, limit):  # type: ignore[no-untyped-def]
    """Clip to ``limit``; only entries that exceed it are written to."""
    for p in range(values.size):
        if values[p] > limit:
            values[p] = limit
        elif values[p] < -limit:
            values[p] = -limit


@njit(cache=True, nogil=True)
def accumulate(lengths):  # type: ignore[no-untyped-def]
    """Replace lengths by their running sum in place; numpy would allocate a copy."""
    total = 0
    for j in range(lengths.size):
        total += lengths[j]
        lengths[j] = total


@njit(cache=True, nogil=True)
def scatter(indptr, columns, values, first, last, cursor, out_rows, out_values):  # type: ignore[no-untyped-def]
    """Write the entries of columns ``first`` to ``last`` to the places given by ``cursor``.

    Every thread reads all entries and writes those of its own columns: no two threads write to the
    same place, and the rows of a column come in order.
    """
    for row in range(indptr.size - 1):
        for p in range(indptr[row], indptr[row + 1]):
            column = columns[p]
            if first <= column < last:
                at = cursor[column]
                out_rows[at] = row
                out_values[at] = values[p]
                cursor[column] = at + 1
