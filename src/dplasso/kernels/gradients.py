"""Row gradients, in grains: how a row's loss moves with each of its margins.

A gradient times an entry, rounded to a whole number of grains (see ``scores.py``), is what the row
adds to a score. A grain is small enough for the rounding not to matter, and whole numbers add up
to the same score in any order.
"""

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import exponential, sigmoid
from dplasso.kernels.problem import LOGISTIC, SCALE, SOFTMAX, Problem, Walk
from dplasso.kernels.scores import grain_size


@njit(inline="always")
def clipped(residual, clip):  # type: ignore[no-untyped-def]
    """The residual, cut at ``clip``."""
    residual = -clip if residual < -clip else residual
    return clip if residual > clip else residual


@njit(inline="always")
def softmax_weights(margins, scale, row, classes, weights):  # type: ignore[no-untyped-def]
    """Unnormalised class probabilities of one row; returns their sum."""
    first = row * classes
    top = margins[first]
    for k in range(1, classes):
        top = max(top, margins[first + k])
    total = 0.0
    for k in range(classes):
        weights[k] = exponential(max((margins[first + k] - top) * scale, -700.0))
        total += weights[k]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def row_gradients(problem: Problem, walk: Walk, gradients, first, last):  # type: ignore[no-untyped-def]
    """Gradients of the rows ``first`` to ``last``; those of one class lie side by side."""
    scale, grains = walk.scalars[SCALE], 1.0 / grain_size(problem)
    if problem.loss == SOFTMAX:
        _softmax_gradients(problem, walk.margins, scale, grains, gradients, first, last)
        return
    # Slices, because indices into them start at 0: no check of a sign keeps loops from vectorising.
    margins, labels = walk.margins[first:last], problem.labels[first:last]
    out = gradients[first:last]
    if problem.loss == LOGISTIC:
        for i in range(out.size):
            out[i] = (sigmoid(margins[i] * scale) - labels[i]) * grains
    else:
        clip = problem.clip
        for i in range(out.size):
            out[i] = clipped(margins[i] * scale - labels[i], clip) * grains


@njit(cache=True, nogil=True, error_model="numpy")
def _softmax_gradients(problem: Problem, margins, scale, grains, gradients, first, last):  # type: ignore[no-untyped-def]
    classes, labels = problem.classes, problem.labels
    weights = np.empty(classes)
    for i in range(first, last):
        total = softmax_weights(margins, scale, i, classes, weights)
        for k in range(classes):
            gradients[k * labels.size + i] = (weights[k] / total - (labels[i] == k)) * grains
