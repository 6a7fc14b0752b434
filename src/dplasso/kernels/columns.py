"""Passes over a column-compressed matrix: checks, norms, long columns."""

import math

import numpy as np
from numba import njit

RUN = 16  # columns checked together; most runs need no closer look
# Bits of the result of `inspect`.
NOT_FINITE, OUT_OF_BOUND, NOT_ONE, UNORDERED, BAD_ROW, ZERO, NOT_SINGLE = 1, 2, 4, 8, 16, 32, 64


@njit(cache=True, nogil=True, error_model="numpy")
def inspect(indptr, indices, values, rows, bound, first, last):  # type: ignore[no-untyped-def]
    """Findings about the columns ``first`` to ``last``, as a set of bits."""
    found = 0
    for column in range(first, last):
        previous = np.int64(-1)
        unordered = 0
        bad = 0
        for p in range(indptr[column], indptr[column + 1]):
            row = np.int64(indices[p])
            unordered |= int(row <= previous)
            bad |= int(row < 0) | int(row >= rows)
            previous = row
        found |= (UNORDERED if unordered else 0) | (BAD_ROW if bad else 0)
    if values is not None:
        found |= _inspect_values(values[indptr[first] : indptr[last]], bound)
    return found


@njit(cache=True, nogil=True, error_model="numpy")
def _inspect_values(values, bound):  # type: ignore[no-untyped-def]
    finite = True
    within = True
    ones = True
    present = True
    single = True
    for p in range(values.size):
        x = values[p]
        finite &= abs(x) < math.inf
        within &= abs(x) <= bound
        ones &= x == 1.0
        present &= x != 0.0
        single &= np.float64(np.float32(x)) == x
    found = (0 if finite else NOT_FINITE) | (0 if within else OUT_OF_BOUND)
    found |= (0 if ones else NOT_ONE) | (0 if present else ZERO)
    return found | (0 if single else NOT_SINGLE)


@njit(cache=True, nogil=True)
def long_columns(indptr, shortest, first, last, out):  # type: ignore[no-untyped-def]
    """List the columns with more than ``shortest`` entries; returns how many.

    Most runs of columns have no more entries than that in total, and cost one cache line to check.
    """
    count = 0
    for begin in range(first, last, RUN):
        end = min(begin + RUN, last)
        if indptr[end] - indptr[begin] > shortest:
            for column in range(begin, end):
                if indptr[column + 1] - indptr[column] > shortest:
                    out[count] = column
                    count += 1
    return count


@njit(cache=True, nogil=True)
def loud_columns(norm1, quiet, out):  # type: ignore[no-untyped-def]
    """List the columns whose norm exceeds ``quiet``; returns how many.

    Most columns do not: a run of 64 is searched only if it contains one that does.
    """
    count = 0
    for first in range(0, norm1.size, 64):
        run = norm1[first : first + 64]
        loud = np.int32(0)
        for k in range(run.size):
            loud += np.int32(run[k] > quiet)
        if loud > 0:
            for k in range(run.size):
                if run[k] > quiet:
                    out[count] = first + k
                    count += 1
    return count


@njit(inline="always")
def _sum_of_powers(column, square):  # type: ignore[no-untyped-def]
    """Sum of absolute values, or of squares, of a column's entries, in a fixed order.

    Four interleaved sums avoid waiting for each addition; the compiler may not reorder them.
    """
    a = b = c = d = 0.0
    whole = column.size - column.size % 4
    for p in range(0, whole, 4):
        w, x = np.float64(column[p]), np.float64(column[p + 1])
        y, z = np.float64(column[p + 2]), np.float64(column[p + 3])
        a += w * w if square else abs(w)
        b += x * x if square else abs(x)
        c += y * y if square else abs(y)
        d += z * z if square else abs(z)
    for p in range(whole, column.size):
        w = np.float64(column[p])
        a += w * w if square else abs(w)
    return (a + b) + (c + d)


@njit(cache=True, nogil=True, error_model="numpy")
def norms1(indptr, values, bound, first, last, out):  # type: ignore[no-untyped-def]
    """1-norms of columns ``first`` to ``last`` over ``bound``, rounded up to single precision."""
    for k in range(first, last):
        total = _sum_of_powers(values[indptr[k] : indptr[k + 1]], False)
        out[k] = np.float32(total / bound * (1.0 + 2.4e-7) + 1e-30)


@njit(cache=True, nogil=True, error_model="numpy")
def norms2(indptr, values, columns, out):  # type: ignore[no-untyped-def]
    """2-norms of the listed columns, for bounds only: callers pad them for rounding."""
    for k in range(columns.size):
        column = values[indptr[columns[k]] : indptr[columns[k] + 1]]
        out[k] = math.sqrt(_sum_of_powers(column, True))


@njit(cache=True, nogil=True)
def mark(bits, columns):  # type: ignore[no-untyped-def]
    """Set the bits of the listed columns."""
    for k in range(columns.size):
        bits[columns[k] >> 3] |= np.uint8(1 << (columns[k] & 7))
