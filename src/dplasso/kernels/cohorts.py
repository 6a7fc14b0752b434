"""Cohorts of rows with equal margins, and scores computed as sums over cohorts.

In 0/1 data, rows with the same label and the same entries in all columns released so far have the
same margin, to the last bit: the same steps were added to it in the same order. Such rows form a
*cohort* and share one row gradient. The score of a column that is a union of cohorts is the sum,
over these, of one rounded term times their number of rows: the same integer as the sum over rows.

A column *splits* every cohort it meets into the rows that have it and those that do not. It has to
do so only once: whatever is split off later, the column remains a union of cohorts.

A short column would make as many cohorts as it has rows. Its rows become *strays* instead: each is
in no cohort any more, has its own marks and its own row gradient.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import nearest_integer
from dplasso.kernels.problem import SCALE, Problem, Walk
from dplasso.kernels.residuals import to_residuals
from dplasso.kernels.scores import grain_size

MARKS = 63  # columns whose union of cohorts can be marked
STRAY = -1


class Cohorts(NamedTuple):
    """The rows listed cohort by cohort, five arrays with one entry per cohort, and the strays."""

    rows: Any
    place: Any  # per row: its position in that list, or among the strays
    cohort: Any  # per row; STRAY if it is in none
    first: Any  # position of the cohort's first row in the list
    size: Any
    marks: Any  # bits of the marked columns that contain the cohort
    split_off: Any  # while a column splits: how many rows have it; otherwise 0
    met: Any  # while a column splits: the cohorts with such rows
    strays: Any  # the rows that are in no cohort
    stray_marks: Any  # the marks of each of them
    count: Any  # number of cohorts, and of strays


@njit(cache=True, nogil=True, error_model="numpy")
def by_label(problem: Problem, cohorts: Cohorts):  # type: ignore[no-untyped-def]
    """Start with two cohorts, the labels 0 and 1, since all margins are 0."""
    labels = problem.labels
    cohorts.size[:2] = 0
    for i in range(labels.size):
        cohorts.cohort[i] = labels[i] != 0.0
        cohorts.size[cohorts.cohort[i]] += 1
    cohorts.first[0], cohorts.first[1] = 0, cohorts.size[0]
    at = np.array([0, cohorts.size[0]])
    for i in range(labels.size):
        own = cohorts.cohort[i]
        cohorts.rows[at[own]] = i
        cohorts.place[i] = at[own]
        at[own] += 1
    cohorts.count[0], cohorts.count[1] = 2, 0


@njit(cache=True, nogil=True, error_model="numpy")
def split(problem: Problem, cohorts: Cohorts, column, mark):  # type: ignore[no-untyped-def]
    """Split the cohorts by a column and mark those inside it with bit ``mark``, unless negative.

    Returns False and splits nothing if the arrays have no room for the new cohorts.
    """
    rows, place, cohort = cohorts.rows, cohorts.place, cohorts.cohort
    first, size, marks, met = cohorts.first, cohorts.size, cohorts.marks, cohorts.met
    split_off = cohorts.split_off
    start, stop = np.int64(problem.indptr[column]), np.int64(problem.indptr[column + 1])
    before = cohorts.count[0]
    bit = np.int64(1) << mark if mark >= 0 else np.int64(0)
    # Rows that have the column are swapped to the front of their cohort's part of the list.
    number = 0
    for p in range(start, stop):
        row = problem.indices[p]
        own = cohort[row]
        if own == STRAY:
            cohorts.stray_marks[place[row]] |= bit
            continue
        if split_off[own] == 0:
            met[number] = own
            number += 1
        here, there = place[row], first[own] + split_off[own]
        other = rows[there]
        rows[there], rows[here] = row, other
        place[row], place[other] = there, here
        split_off[own] += 1
    new = 0
    for own in met[:number]:
        new += split_off[own] < size[own]
    if before + new > size.size:
        for own in met[:number]:
            split_off[own] = 0
        return False
    count = before
    for own in met[:number]:
        having = split_off[own]
        split_off[own] = 0
        if having == size[own]:
            marks[own] |= bit
        else:
            first[count], size[count], marks[count] = first[own], having, marks[own] | bit
            for k in range(first[own], first[own] + having):
                cohort[rows[k]] = count
            first[own] += having
            size[own] -= having
            count += 1
    cohorts.count[0] = count
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def stray(problem: Problem, cohorts: Cohorts, column):  # type: ignore[no-untyped-def]
    """Take the rows of a short column out of their cohorts; False if there is no room for that."""
    rows, place, cohort = cohorts.rows, cohorts.place, cohorts.cohort
    start, stop = np.int64(problem.indptr[column]), np.int64(problem.indptr[column + 1])
    if cohorts.count[1] + stop - start > cohorts.strays.size:
        return False
    for p in range(start, stop):
        row = problem.indices[p]
        own = cohort[row]
        if own == STRAY:
            continue
        # The first row of the cohort takes the place of the one that leaves it.
        other = rows[cohorts.first[own]]
        rows[place[row]] = other
        place[other] = place[row]
        cohorts.first[own] += 1
        cohorts.size[own] -= 1
        at = cohorts.count[1]
        cohorts.strays[at], cohorts.stray_marks[at] = row, cohorts.marks[own]
        cohort[row], place[row] = STRAY, at
        cohorts.count[1] += 1
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def split_by_all(problem: Problem, cohorts: Cohorts, columns, short):  # type: ignore[no-untyped-def]
    """Split the cohorts by one column after the other; False if there is no room for that.

    The rows of columns with at most ``short`` entries become strays.
    """
    room = True
    for column in columns:
        if problem.indptr[column + 1] - problem.indptr[column] <= short:
            room = room and stray(problem, cohorts, column)
        else:
            room = room and split(problem, cohorts, column, -1)
    return room


@njit(cache=True, nogil=True, error_model="numpy")
def marked(cohorts: Cohorts, mark):  # type: ignore[no-untyped-def]
    """One row of each of the cohorts marked by bit ``mark`` and the cohort's size; and all strays
    with that mark, each of size 1."""
    count, strays = cohorts.count[0], cohorts.count[1]
    rows, sizes = np.empty(count + strays, np.int64), np.empty(count + strays, np.int64)
    found = 0
    for cohort in range(count):
        if (cohorts.marks[cohort] >> mark) & 1 and cohorts.size[cohort] > 0:
            rows[found] = cohorts.rows[cohorts.first[cohort]]
            sizes[found] = cohorts.size[cohort]
            found += 1
    for k in range(strays):
        if (cohorts.stray_marks[k] >> mark) & 1:
            rows[found], sizes[found] = cohorts.strays[k], 1
            found += 1
    return rows[:found], sizes[:found]


@njit(cache=True, nogil=True, error_model="numpy")
def score_of_mark(problem: Problem, walk: Walk, cohorts: Cohorts, mark):  # type: ignore[no-untyped-def]
    """Score of the column marked by bit ``mark``, from one row of each of its cohorts."""
    rows, sizes = marked(cohorts, mark)
    gradients, own = walk.margins[rows], problem.labels[rows]
    to_residuals(problem.loss, gradients, own, rows.size, walk.scalars[SCALE])
    per_grain = 1.0 / grain_size(problem)
    total = np.int64(0)
    for k in range(rows.size):
        total += sizes[k] * nearest_integer(gradients[k] * per_grain)
    return total * grain_size(problem)
