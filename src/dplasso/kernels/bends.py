"""Bends: sums of the slopes of row gradients over the rows that two columns share.

They say how the score of one column moves when the weight of the other does (``head.py``), and are
computed together with a score. Entries must be 1, labels 0 and 1, and rows have no weights. Like
scores, bends are sums of whole numbers, so that they do not depend on the order of rows or on the
number of threads.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import nearest_integer
from dplasso.kernels.problem import Problem
from dplasso.kernels.residuals import to_curvatures, to_residuals
from dplasso.kernels.scores import grain_size

# Released columns whose bends are kept: a row has a bit for each, and one for its label.
MARKED = 63
LABEL = np.uint64(63)
LANE = 256  # entries handled at a time
# A slope is rounded to a multiple of this: the sum of 2^27 slopes of at most 1/4 still fits.
SLOPE_GRAIN = 2.0**-36


class Bends(NamedTuple):
    """The bends of the head's columns. All arrays are empty where there are none."""

    rows: Any  # per row: the bits of the released head columns that it has, and its label
    sums: Any  # columns x released columns
    weights: Any  # the weights at which they were computed, in the same order
    rest: Any  # per column: length of the path outside the head then
    count: Any  # per column: number of released columns then; 0 if bends were never computed


@njit(inline="always")
def _add_lane(problem, gradients, slopes, own, having, sizes, length, scale, sums):  # type: ignore[no-untyped-def]
    """Add the bends of some rows to ``sums``; returns their score in grains.

    The two arrays of margins are overwritten; a row counts ``sizes`` times.
    """
    for k in range(length):
        own[k] = np.float64(having[k] >> LABEL)
        slopes[k] = gradients[k]
    to_residuals(problem.loss, gradients, own, length, scale)
    to_curvatures(problem.loss, slopes, own, length, scale)
    per_bound = 1.0 / grain_size(problem)
    total = np.int64(0)
    for k in range(length):
        total += sizes[k] * nearest_integer(gradients[k] * per_bound)
    whole = np.empty(length, np.int64)
    for k in range(length):
        whole[k] = sizes[k] * nearest_integer(slopes[k] / SLOPE_GRAIN)
    for a in range(sums.size):
        shift, bends = np.uint64(a), np.int64(0)
        for k in range(length):
            bends += whole[k] * np.int64((having[k] >> shift) & np.uint64(1))
        sums[a] += bends
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def score_and_bends(problem: Problem, margins, scale, bits, column, first, last, count):  # type: ignore[no-untyped-def]
    """Of the entries ``first`` to ``last`` of a column: their score in grains, and their bends with
    the first ``count`` released columns in grains of slopes."""
    start = np.int64(problem.indptr[column])
    indices, sizes = problem.indices, np.ones(LANE, np.int64)
    gradients, slopes, own = np.empty(LANE), np.empty(LANE), np.empty(LANE)
    having, sums = np.empty(LANE, np.uint64), np.zeros(count, np.int64)
    total = np.int64(0)
    for begin in range(start + first, start + last, LANE):
        length = min(LANE, start + last - begin)
        for k in range(length):
            row = np.uint64(indices[np.uint64(begin + k)])
            gradients[k], having[k] = margins[row], bits[row]
        total += _add_lane(problem, gradients, slopes, own, having, sizes, length, scale, sums)
    return total, sums


@njit(cache=True, nogil=True, error_model="numpy")
def score_and_bends_of_rows(problem: Problem, margins, scale, bits, rows, sizes, count):  # type: ignore[no-untyped-def]
    """The same of listed rows, which count ``sizes`` times each."""
    gradients, slopes, own = np.empty(LANE), np.empty(LANE), np.empty(LANE)
    having, sums = np.empty(LANE, np.uint64), np.zeros(count, np.int64)
    total = np.int64(0)
    for begin in range(0, rows.size, LANE):
        length = min(LANE, rows.size - begin)
        for k in range(length):
            gradients[k], having[k] = margins[rows[begin + k]], bits[rows[begin + k]]
        some = sizes[begin : begin + length]
        total += _add_lane(problem, gradients, slopes, own, having, some, length, scale, sums)
    return total, sums
