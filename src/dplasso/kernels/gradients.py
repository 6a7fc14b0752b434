"""Row gradients, in grains: the derivative of a row's loss in each of its margins.

That of a row with a weight is multiplied by it.

A row adds to a score its gradient times its entry, rounded to a whole number of grains (see
``scores.py``). A grain is small enough for the rounding not to matter, and whole numbers add up to
the same score in any order.
"""

import numpy as np
from numba import njit

from dplasso.kernels.problem import SCALE, Problem, Walk
from dplasso.kernels.residuals import to_residuals
from dplasso.kernels.row_weights import weight_of
from dplasso.kernels.scores import grain_size
from dplasso.kernels.softmax import row_residuals

# Rows handled at a time, so that they stay in the first-level cache.
LANE = 1024


@njit(cache=True, nogil=True, error_model="numpy")
def row_gradients(problem: Problem, walk: Walk, gradients, first, last):  # type: ignore[no-untyped-def]
    """Gradients of the rows ``first`` to ``last``; those of one class are contiguous."""
    scale, grains = walk.scalars[SCALE], 1.0 / grain_size(problem)
    if problem.classes > 1:
        _softmax_gradients(problem, walk.margins, scale, grains, gradients, first, last)
        return
    for begin in range(first, last, LANE):
        end = min(begin + LANE, last)
        # Slices are indexed from 0, which spares the sign check that would prevent vectorising.
        out = gradients[begin:end]
        out[:] = walk.margins[begin:end]
        to_residuals(problem.loss, out, problem.labels[begin:end], out.size, scale)
        if problem.weights.size:
            out *= problem.weights[begin:end]
        out *= grains


@njit(cache=True, nogil=True, error_model="numpy")
def _softmax_gradients(problem: Problem, margins, scale, grains, gradients, first, last):  # type: ignore[no-untyped-def]
    classes, labels = problem.classes, problem.labels
    residuals = np.empty(classes)
    for i in range(first, last):
        row_residuals(margins, scale, i, labels[i], residuals)
        for k in range(classes):
            gradients[k * labels.size + i] = residuals[k] * weight_of(problem.weights, i) * grains
