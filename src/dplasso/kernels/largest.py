"""The largest of very many weights, without sorting them, and the columns that have any.

Numbers that are not negative have the order of their bits. So a histogram over the leading bits
tells in which bin the smallest of the largest lies, and only that bin is searched further.
"""

import math

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import bits_of_double, column
from dplasso.kernels.conditioned import whole_term

# Bits are read in digits of 14: the exponent with the first bits of the mantissa, then the next.
SHIFTS = (49, 35)
BINS = 1 << 14
LANE = 512  # columns handled at a time, where a loop is quicker in two


@njit(cache=True, nogil=True)
def reaches(weights, present, columns, shift, first, last, sizes, counts):  # type: ignore[no-untyped-def]
    """How far weights move margins, and how many reaches have each digit of their bits.

    A reach is the absolute value of a weight times the root of its column's mass. ``sizes`` has a
    row per output, and a place for each of ``columns``. Lanes of columns are read, multiplied and
    counted one after the other, so that roots vectorise.
    """
    counts[:] = 0
    masses = np.empty(LANE)
    for output in range(weights.shape[0]):
        own, found = weights[output], sizes[output]
        for begin in range(first, last, LANE):
            start, end = np.uint64(begin), np.uint64(min(begin + LANE, last))
            for k in range(start, end):
                j = np.uint64(column(columns, k))
                found[k], masses[k - start] = abs(own[j]), present[j]
            for k in range(start, end):
                found[k] *= math.sqrt(masses[k - start])
            for k in range(start, end):
                counts[np.uint64(_digit(found[k], shift))] += 1


@njit(inline="always")
def _digit(size, shift):  # type: ignore[no-untyped-def]
    return (bits_of_double(size) >> shift) & (BINS - 1)


@njit(cache=True, nogil=True)
def tally(numbers, shift):  # type: ignore[no-untyped-def]
    """How many numbers have each digit of their bits; one row."""
    counts = np.zeros((1, BINS), np.int64)
    for k in range(numbers.size):
        counts[0, _digit(numbers[k], shift)] += 1
    return counts


@njit(cache=True, nogil=True)
def bin_of(counts, wanted):  # type: ignore[no-untyped-def]
    """The digit of the ``wanted``-th largest number, and which one that is of those with it.

    ``counts`` are those of all rows together.
    """
    for digit in range(BINS - 1, -1, -1):
        here = np.int64(0)
        for part in range(counts.shape[0]):
            here += counts[part, digit]
        if here >= wanted:
            return digit, wanted
        wanted -= here
    return 0, wanted


@njit(cache=True, nogil=True)
def in_bin(sizes, shift, chosen, count, first, last):  # type: ignore[no-untyped-def]
    """The ``count`` numbers of all rows, from ``first`` to ``last``, whose digit is ``chosen``."""
    found, at = np.empty(count), 0
    for output in range(sizes.shape[0]):
        own = sizes[output]
        for k in range(first, last):
            if _digit(own[k], shift) == chosen:
                found[at] = own[k]
                at += 1
    return found


@njit(cache=True, nogil=True)
def count_equal(sizes, least, first, last):  # type: ignore[no-untyped-def]
    """How many of the numbers from ``first`` to ``last`` are ``least``, for every row."""
    counts = np.zeros(sizes.shape[0], np.int64)
    for output in range(sizes.shape[0]):
        own = sizes[output]
        for k in range(first, last):
            counts[output] += own[k] == least
    return counts


@njit(cache=True, nogil=True)
def leave_out(sizes, least, equal, first, last):  # type: ignore[no-untyped-def]
    """Set numbers from ``first`` to ``last`` that are ``least`` to 0, but the first ``equal``."""
    for output in range(sizes.shape[0]):
        own, kept = sizes[output], equal[output]
        for k in range(first, last):
            if own[k] == least:
                if kept == 0:
                    own[k] = 0.0
                else:
                    kept -= 1


@njit(cache=True, nogil=True)
def drop(sizes, places, above, columns, first, last, left, gathered, weights):  # type: ignore[no-untyped-def]
    """Keep the weights that reach further than ``above``, and clear the others, from ``first`` on.

    ``places`` is written over: columns are listed there, so that no branch depends on a weight. It
    may be the memory of ``sizes``.
    """
    first, last = np.uint64(first), np.uint64(last)
    for output in range(sizes.shape[0]):
        own, dropped, marks = sizes[output], places[output], left[output]
        end = first
        for k in range(first, last):
            j = np.uint64(column(columns, k))
            kept = own[k] > above
            marks[j] = kept
            dropped[end] = j
            end += np.uint64(not kept)
        sums, values = gathered[output], weights[output]
        for k in range(first, end):
            j = np.uint64(dropped[k])
            sums[j], values[j] = 0.0, 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def list_left(left, columns, damping, length, first, last, places):  # type: ignore[no-untyped-def]
    """List the columns that have any weight left in ``places``, from ``first`` on.

    Returns their number, and their part of the mean squared length of rows, of which ``length``
    holds the share of every column, the grains, and the most per column.
    """
    present, grains, most = length
    first, last, end = np.uint64(first), np.uint64(last), np.uint64(first)
    for k in range(first, last):
        j = np.uint64(column(columns, k))
        any_left = left[0, j]
        for output in range(1, left.shape[0]):
            any_left |= left[output, j]
        places[end] = j
        end += np.uint64(any_left)
    total, lane = np.int64(0), np.empty(LANE)
    for begin in range(np.int64(first), np.int64(end), LANE):
        others = np.int64(end) - begin
        size = np.uint64(others if others < LANE else LANE)
        for k in range(size):
            j = np.uint64(places[np.uint64(begin) + k])
            lane[k] = present[j] * (damping[j] * damping[j]) * grains
        for k in range(size):
            total += whole_term(lane[k], most)
    return np.int64(end - first), total


@njit(cache=True, nogil=True)
def narrow(places, columns, damping, factor, most, first, last, listed, made):  # type: ignore[no-untyped-def]
    """Copy the columns that `list_left` listed from ``first`` on, and make their dampings.

    Those are times a factor, at most ``most``; ``made`` is 0 in all other columns. Each run writes
    from its first column to the first one of the next run.
    """
    start = np.int64(0) if first == 0 else column(columns, first)
    made[start : _next(columns, last, made.size)] = 0.0
    for k in range(np.uint64(listed.size)):
        listed[k] = places[np.uint64(first) + k]
        j = np.uint64(listed[k])
        size = damping[j] * factor
        made[j] = most if size > most else size


@njit(inline="always")
def _next(columns, last, width):  # type: ignore[no-untyped-def]
    """Where the run after ``last`` begins."""
    count = width if columns is None else columns.size
    return width if last == count else column(columns, last)
