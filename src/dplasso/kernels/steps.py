"""One Frank-Wolfe step on the margins, and the replay of a sequence of steps."""

import math

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import entry
from dplasso.kernels.problem import NORM2, PATH, SCALE, Problem, Walk

# Below this the common factor of the margins is multiplied out; only constant steps get there.
SMALLEST_SCALE = 1e-100
# Factor on lengths, which may only be overestimated. The sum of 2^27 squares, in two parts, has a
# relative rounding error below 7.5e-9, and its root half of that.
PAD = 1.0 + 1e-8
UP = 1.0 + 1e-15  # the same for the sum of two numbers
ROUNDING = 2.0**-52  # twice the relative rounding error of one operation


@njit(inline="always")
def step_size(step, t):  # type: ignore[no-untyped-def]
    """Step size of round t = 1, 2, ... without line search."""
    return step if step > 0.0 else 2.0 / (t + 2.0)


@njit(inline="always")
def split(classes, vertex):  # type: ignore[no-untyped-def]
    """Column and class of a vertex."""
    if classes == 1:
        return vertex, np.int64(0)
    return vertex // classes, vertex % classes


@njit(inline="always")
def row_place(row, classes, label):  # type: ignore[no-untyped-def]
    """Position of a row's margin for one class."""
    if classes == 1:
        return np.uint64(row)
    return np.uint64(np.int64(row) * classes + label)


@njit(inline="always")
def lengthen(scalars, eta, change, dot, square, count):  # type: ignore[no-untyped-def]
    """Update the squared length of the margins and their path by one step.

    ``dot`` is the product of the column with the margins, ``square`` its squared length, ``count``
    its number of entries. The sums have as many terms, which bounds their rounding error.
    """
    keep, norm2 = 1.0 - eta, scalars[NORM2]
    reach2 = 2.0 * (norm2 + change * change * square)
    error = (count + 16) * 2.3e-16 * reach2
    moved2 = eta * eta * norm2 - 2.0 * eta * change * dot + change * change * square
    scalars[PATH] = (scalars[PATH] + math.sqrt(max(moved2, 0.0) + error)) * UP
    scalars[NORM2] = error + max(
        keep * keep * norm2 + 2.0 * keep * change * dot + change * change * square, 0.0
    )


@njit(inline="always")
def move(matrix, classes, radius, margins, scalars, vertex, sign, eta):  # type: ignore[no-untyped-def]
    """w <- (1 - eta) w - eta radius sign e_vertex; returns the length added to w's margins.

    Updates the squared length of the margins and their path length, both exact up to rounding, in
    the one pass over the column that the step needs anyway. Both refer to the margins as they are
    stored: the rounding error of a step, at most a few units in the last place of the margins and
    of the step, is part of ``error``.
    """
    indptr, indices, values = matrix
    column, label = split(classes, vertex)
    scale = scalars[SCALE]
    change = -sign * eta * radius
    shrunk = scale * (1.0 - eta)
    added = change / shrunk
    start, stop = np.uint64(indptr[column]), np.uint64(indptr[column + 1])
    # Two interleaved sums avoid waiting for each addition. Positions are unsigned, since checking
    # signed ones for wraparound costs as much as the work.
    dot = even = 0.0
    square = even_square = 0.0
    one = np.uint64(1)
    p = start
    while p + one < stop:
        # In double precision: squares in single precision could underflow.
        x, z = np.float64(entry(values, p)), np.float64(entry(values, p + one))
        here = row_place(indices[p], classes, label)
        there = row_place(indices[p + one], classes, label)
        old, older = margins[here], margins[there]
        dot += x * old
        even += z * older
        square += x * x
        even_square += z * z
        margins[here] = old + added * x
        margins[there] = older + added * z
        p += np.uint64(2)
    if p < stop:
        x, here = np.float64(entry(values, p)), row_place(indices[p], classes, label)
        dot += x * margins[here]
        square += x * x
        margins[here] += added * x
    dot += even
    square += even_square
    count = np.int64(stop - start)
    lengthen(scalars, eta, change, dot * scale, square, count)
    scalars[SCALE] = shrunk
    return abs(change) * math.sqrt(square) * PAD


@njit(cache=True, nogil=True)
def multiply_out(walk: Walk):  # type: ignore[no-untyped-def]
    """Bring the common factor of the margins back to [1/2, 1]; returns the change of the margins.

    That is a power of two: nothing is rounded, and the true margins do not change.
    """
    factor = 1.0
    while walk.scalars[SCALE] < 0.5:
        walk.scalars[SCALE] *= 2.0
        factor *= 0.5
    for i in range(walk.margins.size):
        walk.margins[i] *= factor
    return factor


@njit(cache=True, nogil=True, error_model="numpy")
def release(problem: Problem, walk: Walk, vertex, sign, eta, done):  # type: ignore[no-untyped-def]
    """Record the vertex of round ``done + 1`` and move towards it."""
    matrix = (problem.indptr, problem.indices, problem.values)
    move(matrix, problem.classes, problem.radius, walk.margins, walk.scalars, vertex, sign, eta)
    if walk.scalars[SCALE] < SMALLEST_SCALE:
        multiply_out(walk)
    walk.vertices[done] = vertex
    walk.signs[done] = sign


@njit(cache=True, nogil=True, error_model="numpy")
def replay(problem: Problem, walk: Walk, margins):  # type: ignore[no-untyped-def]
    """Only the margin updates of a released sequence: a lower bound on any solver's time."""
    vertices, signs, steps = walk.vertices, walk.signs, walk.steps
    indptr, indices, values = problem.indptr, problem.indices, problem.values
    classes, radius, step = problem.classes, problem.radius, problem.step
    scale = 1.0
    for t in range(1, vertices.size + 1):
        eta = steps[t - 1] if steps.size else step_size(step, t)
        column, label = split(classes, vertices[t - 1])
        scale *= 1.0 - eta
        added = -signs[t - 1] * eta * radius / scale
        for p in range(np.uint64(indptr[column]), np.uint64(indptr[column + 1])):
            margins[row_place(indices[p], classes, label)] += added * entry(values, p)
        if scale < SMALLEST_SCALE:
            margins *= scale
            scale = 1.0
    margins *= scale
