"""The score of a column: the sum over its entries of entry times row gradient.

Scores are sums of integers. Every term, at most ``x_bound * gradient_bound`` in absolute value, is
rounded to a multiple of 2^-36 of that bound before it is added. Integers add without rounding, so a
row moves a score by at most the bound, exactly; the result does not depend on the order of the sum
or the number of threads; and equal columns have equal scores. A column may have up to 2^27 - 1
entries.

The gradient of a row with a weight is multiplied by it. `within_grain` takes half a grain off the
weight, so that a rounded term is at most the exact weight times the bound.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dplasso.kernels.arithmetic import entry, nearest_integer
from dplasso.kernels.problem import Problem
from dplasso.kernels.residuals import to_residuals
from dplasso.kernels.row_weights import weight_of
from dplasso.kernels.softmax import class_residual

# Entries handled at a time; their row gradients stay in the first-level cache.
LANE = 256
BUFFER = (2, LANE)  # shape of the scratch space for their gradients and labels
GRAIN = 2.0**-36


def within_grain(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights of rows by which terms can be rounded to the nearest grain.

    A term is at most the weight, times 2^36 grains. Where the weight is below 1, half a grain is
    taken off it first: rounding then leads to no more than the weight itself, times 2^36 grains.
    """
    return np.where(weights < 1.0, np.maximum(weights - GRAIN / 2.0, 0.0), 1.0)


@njit(inline="always")
def _row_gradients(problem, margins, scale, start, length, label, gradients, own):  # type: ignore[no-untyped-def]
    """Fill ``gradients[:length]`` with the row gradients of the entries from ``start`` on.

    ``own`` is scratch space for labels. Positions are unsigned: checking signed ones for wraparound
    would take half as much time again.
    """
    indices, labels = problem.indices, problem.labels
    if problem.classes > 1:
        for k in range(length):
            at = np.int64(indices[start + k])
            found = class_residual(margins, scale, at, problem.classes, label, labels[at])
            gradients[k] = found * weight_of(problem.weights, at)
        return
    for k in range(length):
        row = np.uint64(indices[start + k])
        gradients[k] = margins[row]
        own[k] = labels[row]
    to_residuals(problem.loss, gradients, own, length, scale)
    if problem.weights.size:
        for k in range(length):
            gradients[k] *= problem.weights[np.uint64(indices[start + k])]


@njit(cache=True, nogil=True, error_model="numpy")
def grains(problem: Problem, margins, scale, start, stop, label, buffer):  # type: ignore[no-untyped-def]
    """Score of the entries ``start`` to ``stop`` of a column, in grains of the bound on a term."""
    values, gradients, own = problem.values, buffer[0], buffer[1]
    per_bound = 1.0 / (GRAIN * problem.x_bound * problem.gradient_bound)
    total = np.int64(0)
    for begin in range(start, stop, LANE):
        first = np.uint64(begin)
        length = np.uint64(min(LANE, stop - begin))
        _row_gradients(problem, margins, scale, first, length, label, gradients, own)
        for k in range(length):
            total += nearest_integer(gradients[k] * per_bound * entry(values, first + k))
    return total


@njit(inline="always")
def grain_size(problem):  # type: ignore[no-untyped-def]
    return GRAIN * problem.x_bound * problem.gradient_bound


@njit(cache=True, nogil=True, error_model="numpy")
def score(problem: Problem, margins, scale, vertex, buffer):  # type: ignore[no-untyped-def]
    """Score of one vertex at the current margins."""
    column, label = vertex, 0
    if problem.classes > 1:
        column, label = vertex // problem.classes, vertex % problem.classes
    start, stop = np.int64(problem.indptr[column]), np.int64(problem.indptr[column + 1])
    return grains(problem, margins, scale, start, stop, label, buffer) * grain_size(problem)


@njit(cache=True, nogil=True, error_model="numpy")
def scores_from(problem: Problem, gradients, vertices, out):  # type: ignore[no-untyped-def]
    """Scores of the listed vertices, given the gradients of all rows (see ``gradients.py``)."""
    indptr, indices, values = problem.indptr, problem.indices, problem.values
    rows, classes, grain = problem.labels.size, problem.classes, grain_size(problem)
    for k in range(vertices.size):
        column, label = vertices[k] // classes, vertices[k] % classes
        mine = gradients[label * rows : (label + 1) * rows]
        total = np.int64(0)
        for p in range(np.uint64(indptr[column]), np.uint64(indptr[column + 1])):
            total += nearest_integer(mine[np.uint64(indices[p])] * entry(values, p))
        out[k] = total * grain


@njit(cache=True, nogil=True, error_model="numpy")
def partial_score(problem: Problem, margins, scale, vertex, first, last):  # type: ignore[no-untyped-def]
    """Grains of the entries ``first`` to ``last`` of one vertex's column."""
    start = np.int64(problem.indptr[vertex // problem.classes])
    label = vertex % problem.classes
    buffer = np.empty(BUFFER)
    return grains(problem, margins, scale, start + first, start + last, label, buffer)
