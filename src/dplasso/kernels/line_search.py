"""Exact line search along a Frank-Wolfe step."""

import numpy as np
from numba import njit

from dplasso.kernels import softmax
from dplasso.kernels.arithmetic import entry
from dplasso.kernels.problem import SCALE, Problem, Walk
from dplasso.kernels.residuals import to_curvatures, to_residuals
from dplasso.kernels.row_weights import weight_of
from dplasso.kernels.steps import split

# A step of 1 would make the common factor of the margins 0.
LONGEST = 1.0 - 1e-9
ITERATIONS = 60
LANE = 256  # rows handled at a time


@njit(cache=True, nogil=True, error_model="numpy")
def search_step(problem: Problem, walk: Walk, vertex, sign):  # type: ignore[no-untyped-def]
    """Step in [0, LONGEST] that minimises the loss, by Newton's method inside a bracket."""
    towards = walk.margins * -walk.scalars[SCALE]
    column, label = split(problem.classes, vertex)
    for p in range(problem.indptr[column], problem.indptr[column + 1]):
        place = np.int64(problem.indices[p]) * problem.classes + label
        towards[place] -= sign * problem.radius * entry(problem.values, p)
    slope, _ = _derivatives(problem, walk, towards, LONGEST)
    if slope <= 0.0:
        return LONGEST
    slope, bend = _derivatives(problem, walk, towards, 0.0)
    if slope >= 0.0:
        return 0.0
    low, high, eta = 0.0, LONGEST, 0.0
    for _ in range(ITERATIONS):
        following = eta - slope / bend if bend > 0.0 else low
        if not low < following < high:
            following = 0.5 * (low + high)
        if abs(following - eta) <= 1e-15 + 1e-13 * eta:
            break
        eta = following
        slope, bend = _derivatives(problem, walk, towards, eta)
        if slope > 0.0:
            high = eta
        else:
            low = eta
    return eta


@njit(cache=True, nogil=True, error_model="numpy")
def _derivatives(problem: Problem, walk: Walk, towards, eta):  # type: ignore[no-untyped-def]
    """First and second derivative of the loss along ``margins + eta * towards``."""
    margins, scale, labels = walk.margins, walk.scalars[SCALE], problem.labels
    if problem.classes > 1:
        return softmax.derivatives(
            margins, scale, towards, eta, labels, problem.classes, problem.weights
        )
    slopes, bends = np.empty(LANE), np.empty(LANE)
    slope = 0.0
    bend = 0.0
    for first in range(0, labels.size, LANE):
        count = min(LANE, labels.size - first)
        own = labels[first : first + count]
        for k in range(count):
            slopes[k] = margins[first + k] * scale + eta * towards[first + k]
            bends[k] = slopes[k]
        to_residuals(problem.loss, slopes, own, count, 1.0)
        to_curvatures(problem.loss, bends, own, count, 1.0)
        for k in range(count):
            along = towards[first + k] * weight_of(problem.weights, first + k)
            slope += slopes[k] * along
            bend += bends[k] * along * towards[first + k]
    return slope, bend
