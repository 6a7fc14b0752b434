"""Exact line search along a Frank-Wolfe step."""

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import entry, exponential, sigmoid
from dplasso.kernels.problem import LOGISTIC, SCALE, SQUARED, Problem, Walk
from dplasso.kernels.steps import split

# A whole step would leave nothing of the old iterate, whose margins are kept as a product.
LONGEST = 1.0 - 1e-9
ITERATIONS = 60


@njit(cache=True, nogil=True, error_model="numpy")
def search_step(problem: Problem, walk: Walk, vertex, sign):  # type: ignore[no-untyped-def]
    """Step in [0, LONGEST] that minimises the loss, by Newton's method kept inside a bracket."""
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
    classes, clip = problem.classes, problem.clip
    slope = 0.0
    bend = 0.0
    if problem.loss == LOGISTIC:
        for i in range(labels.size):
            p = sigmoid(margins[i] * scale + eta * towards[i])
            slope += (p - labels[i]) * towards[i]
            bend += p * (1.0 - p) * towards[i] * towards[i]
    elif problem.loss == SQUARED:
        for i in range(labels.size):
            residual = margins[i] * scale + eta * towards[i] - labels[i]
            slope += min(max(residual, -clip), clip) * towards[i]
            if abs(residual) <= clip:
                bend += towards[i] * towards[i]
    else:
        for i in range(labels.size):
            first = i * classes
            top = -np.inf
            for k in range(first, first + classes):
                top = max(top, margins[k] * scale + eta * towards[k])
            total = 0.0
            mean = 0.0
            square = 0.0
            for k in range(first, first + classes):
                at = margins[k] * scale + eta * towards[k] - top
                weight = exponential(max(at, -700.0))
                total += weight
                mean += weight * towards[k]
                square += weight * towards[k] * towards[k]
            mean /= total
            slope += mean - towards[first + np.int64(labels[i])]
            bend += square / total - mean * mean
    return slope, bend
