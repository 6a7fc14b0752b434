"""Scores updated by pushing every change of a row gradient into them (Algorithm 2 of the paper).

This is the algorithm as published: a step changes the margins of all rows, because it shrinks them,
but only the gradients of rows that have the selected column are updated. All others stay as they
were when their row was last touched. The stored scores are therefore not those of the iterate, and
the iteration is not the Frank-Wolfe iteration it claims to be (for the squared loss the shrink
could be tracked exactly, for others it cannot). It is still private: a row's term in a score
depends only on the row itself and the vertices released so far, and is bounded like a fresh one.

Scores are whole numbers of grains: at any time a row has pushed exactly its rounded term into a
score, however many pushes it took.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import entry, nearest_integer
from dplasso.kernels.problem import ENTRIES, PUSHES, SCALE, Problem, Walk
from dplasso.kernels.residuals import to_residuals
from dplasso.kernels.row_weights import weight_of
from dplasso.kernels.scores import grain_size
from dplasso.kernels.softmax import row_residuals
from dplasso.kernels.steps import release, split, step_size

# Entries of a row handled at a time.
LANE = 256
# After this many pushes a compiled loop returns, so that the interpreter can handle interrupts.
PATIENCE = 1 << 27


class Held(NamedTuple):
    """The state of Algorithm 2. ``row_*`` is a second copy of the matrix, compressed by rows."""

    scores: Any  # int64 grains, one per vertex
    gradients: Any  # float64 grains; those of one class are contiguous
    row_starts: Any
    row_columns: Any
    row_values: Any  # None where every stored entry is 1
    flags: Any  # uint8, per column: whether it is listed in ``touched``; all 0 between rounds
    touched: Any  # columns whose scores the round has changed; one place more than columns


@njit(cache=True, nogil=True, error_model="numpy")
def first_scores(problem: Problem, held: Held, first, last):  # type: ignore[no-untyped-def]
    """Compute the scores of the columns ``first`` to ``last`` from the stored gradients."""
    indptr, indices, values = problem.indptr, problem.indices, problem.values
    classes, rows = problem.classes, problem.labels.size
    for column in range(first, last):
        for label in range(classes):
            own = held.gradients[label * rows : (label + 1) * rows]
            total = np.int64(0)
            for p in range(np.uint64(indptr[column]), np.uint64(indptr[column + 1])):
                total += nearest_integer(own[np.uint64(indices[p])] * entry(values, p))
            held.scores[column * classes + label] = total


@njit(inline="always")
def _push_row(by_rows, listing, scores, classes, label, row, old, new, touched, changes):  # type: ignore[no-untyped-def]
    """Push the change of one gradient into the scores of the row's columns."""
    starts, columns, values = by_rows
    flags, listed = listing
    start, stop = starts[row], starts[row + 1]
    for first in range(start, stop, LANE):
        length = min(LANE, stop - first)
        for k in range(length):
            x = entry(values, np.uint64(first) + np.uint64(k))
            changes[k] = nearest_integer(new * x) - nearest_integer(old * x)
        for k in range(length):
            column = np.uint64(columns[np.uint64(first) + np.uint64(k)])
            scores[column * np.uint64(classes) + np.uint64(label)] += changes[k]
            # List a column the first time, without a branch, which would often be mispredicted.
            listed[touched] = column
            touched += np.uint64(1 - flags[column])
            flags[column] = 1
    return touched


@njit(cache=True, nogil=True, error_model="numpy")
def push(problem: Problem, walk: Walk, held: Held, vertex):  # type: ignore[no-untyped-def]
    """Update the gradients of all rows with the vertex's column and push the changes.

    Returns the number of touched columns. Arrays are taken out of their tuples before the loop,
    because doing so inside would count references.
    """
    indptr, indices, labels = problem.indptr, problem.indices, problem.labels
    classes, loss, rows = problem.classes, problem.loss, problem.labels.size
    margins, scores, gradients, starts = walk.margins, held.scores, held.gradients, held.row_starts
    by_rows, listing = (starts, held.row_columns, held.row_values), (held.flags, held.touched)
    scale, grains = walk.scalars[SCALE], 1.0 / grain_size(problem)
    changes, residuals = np.empty(LANE, np.int64), np.empty(classes)
    column, _ = split(classes, vertex)
    touched, pushes = np.uint64(0), np.int64(0)
    for p in range(np.uint64(indptr[column]), np.uint64(indptr[column + 1])):
        row = np.int64(indices[p])
        if classes > 1:
            row_residuals(margins, scale, row, labels[row], residuals)
        else:
            residuals[0] = margins[row]
            to_residuals(loss, residuals, labels[row : row + 1], 1, scale)
        for k in range(classes):
            old = gradients[k * rows + row]
            new = residuals[k] * weight_of(problem.weights, row) * grains
            gradients[k * rows + row] = new
            touched = _push_row(
                by_rows, listing, scores, classes, k, row, old, new, touched, changes
            )
        pushes += np.int64(starts[row + 1] - starts[row]) * classes
    walk.counters[ENTRIES] += np.int64(indptr[column + 1] - indptr[column])
    walk.counters[PUSHES] += pushes
    return np.int64(touched)


@njit(cache=True, nogil=True, error_model="numpy")
def step_and_push(problem: Problem, walk: Walk, held: Held, vertex, sign, done):  # type: ignore[no-untyped-def]
    """Release a vertex, move and push; returns the number of touched columns."""
    release(problem, walk, vertex, sign, step_size(problem.step, done + 1), done)
    return push(problem, walk, held, vertex)
