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


@njit(cache=True, nogil=True)
def reaches(weights, present, columns, shift, first, last, sizes, counts):  # type: ignore[no-untyped-def]
    """How far weights move margins, and how many reaches have each digit of their bits.

    A reach is the absolute value of a weight times the root of its column's mass. ``sizes`` has a
    row per output, and a place for each of ``columns``.
    """
    counts[:] = 0
    for output in range(weights.shape[0]):
        own, found = weights[output], sizes[output]
        for k in range(first, last):
            j = column(columns, k)
            found[k] = abs(own[j]) * math.sqrt(present[j])
            counts[_digit(found[k], shift)] += 1


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


@njit(cache=True, nogil=True, error_model="numpy")
def drop(  # type: ignore[no-untyped-def]
    sizes, least, equal, columns, damping, length, first, last, left, gathered, weights
):
    """Keep the weights that reach further than ``least``, and clear the others, from ``first`` on.

    Of those of every output that reach as far as ``least``, the first ``equal`` are kept. Returns
    the number of columns that have any left, and their part of the mean squared length of rows, of
    which ``length`` holds the share of every column, the grains, and the most per column.
    """
    present, grains, most = length
    equal, count, total = equal.copy(), 0, np.int64(0)
    for k in range(first, last):
        j, any_left = column(columns, k), False
        for output in range(sizes.shape[0]):
            size = sizes[output, k]
            kept = size > least
            if size == least and equal[output] > 0:
                kept = True
                equal[output] -= 1
            left[output, j] = kept
            any_left |= kept
            if not kept:
                gathered[output, j], weights[output, j] = 0.0, 0.0
        if any_left:
            count += 1
            total += whole_term(present[j] * (damping[j] * damping[j]) * grains, most)
    return count, total


@njit(cache=True, nogil=True)
def narrow(left, columns, damping, factor, most, first, last, found, made):  # type: ignore[no-untyped-def]
    """List the columns that have any weight left in ``found``, and make their dampings.

    Those are times a factor, at most ``most``; ``made`` is 0 in all other columns. Each run writes
    from its first column to the first one of the next run.
    """
    at, place = np.int64(0), np.int64(0) if first == 0 else column(columns, first)
    for k in range(first, last):
        j = column(columns, k)
        for other in range(place, j):
            made[other] = 0.0
        place = j
        for output in range(left.shape[0]):
            if left[output, j]:
                size = damping[j] * factor
                made[j] = most if size > most else size
                found[at] = j
                at, place = at + 1, j + 1
                break
    for other in range(place, _next(columns, last, made.size)):
        made[other] = 0.0


@njit(inline="always")
def _next(columns, last, width):  # type: ignore[no-untyped-def]
    """Where the run after ``last`` begins."""
    count = width if columns is None else columns.size
    return width if last == count else column(columns, last)
