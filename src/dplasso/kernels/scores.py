"""The score of a column: the sum, down the column, of entry times row gradient.

Scores are sums of whole numbers. Every term, at most ``x_bound * gradient_bound`` in size, is
rounded to a multiple of 2^-36 of that bound before it is added. Whole numbers add without rounding,
so a row moves a score by at most the bound, exactly; the order of the sum, and with it the number
of threads, cannot show; and equal columns have equal scores. A column may have up to 2^27 - 1.
"""

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import entry, exponential, nearest_integer, sigmoid
from dplasso.kernels.problem import LOGISTIC, SQUARED, Problem

# Entries handled at a time; their row gradients stay in the first-level cache.
LANE = 256
GRAIN = 2.0**-36


@njit(inline="always")
def class_probability(margins, scale, row, classes, label):  # type: ignore[no-untyped-def]
    """Softmax probability of one class in one row."""
    first = row * classes
    top = margins[first]
    for k in range(1, classes):
        top = max(top, margins[first + k])
    total = 0.0
    chosen = 0.0
    for k in range(classes):
        weight = exponential(max((margins[first + k] - top) * scale, -700.0))
        total += weight
        if k == label:
            chosen = weight
    return chosen / total


@njit(inline="always")
def _row_gradients(problem, margins, scale, start, length, label, buffer):  # type: ignore[no-untyped-def]
    """Fill ``buffer[:length]`` with the row gradients met by the entries from ``start`` on.

    Positions are unsigned: signed ones are checked for wraparound, at half again the time.
    """
    indices, labels = problem.indices, problem.labels
    if problem.loss == LOGISTIC:
        for k in range(length):
            buffer[k] = margins[np.uint64(indices[start + k])]
        for k in range(length):
            buffer[k] = sigmoid(buffer[k] * scale)
        for k in range(length):
            buffer[k] -= labels[np.uint64(indices[start + k])]
    elif problem.loss == SQUARED:
        clip = problem.clip
        for k in range(length):
            row = np.uint64(indices[start + k])
            residual = margins[row] * scale - labels[row]
            residual = -clip if residual < -clip else residual
            buffer[k] = clip if residual > clip else residual
    else:
        for k in range(length):
            at = np.int64(indices[start + k])
            probability = class_probability(margins, scale, at, problem.classes, label)
            buffer[k] = probability - (labels[at] == label)


@njit(cache=True, nogil=True, error_model="numpy")
def grains(problem: Problem, margins, scale, start, stop, label, buffer):  # type: ignore[no-untyped-def]
    """Score of the entries ``start`` to ``stop`` of a column, in grains of the bound on a term."""
    values = problem.values
    per_bound = 1.0 / (GRAIN * problem.x_bound * problem.gradient_bound)
    total = np.int64(0)
    for begin in range(start, stop, LANE):
        first = np.uint64(begin)
        length = np.uint64(min(LANE, stop - begin))
        _row_gradients(problem, margins, scale, first, length, label, buffer)
        for k in range(length):
            total += nearest_integer(buffer[k] * per_bound * entry(values, first + k))
    return total


@njit(inline="always")
def grain_size(problem):  # type: ignore[no-untyped-def]
    return GRAIN * problem.x_bound * problem.gradient_bound


@njit(cache=True, nogil=True, error_model="numpy")
def score(problem: Problem, margins, scale, vertex, buffer):  # type: ignore[no-untyped-def]
    """Score of one vertex at the present margins."""
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
    buffer = np.empty(LANE)
    return grains(problem, margins, scale, start + first, start + last, label, buffer)
