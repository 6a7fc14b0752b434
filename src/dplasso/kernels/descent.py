"""A step of gradient descent: residuals of the rows, and the move of the weights."""

import math

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import sigmoid
from dplasso.kernels.gradients import clipped, softmax_weights
from dplasso.kernels.problem import LOGISTIC, SOFTMAX


@njit(cache=True, nogil=True, error_model="numpy")
def coefficients(loss, clip, margins, labels, row_weights, constant, first, last, out):  # type: ignore[no-untyped-def]
    """Whole coefficients of the rows ``first`` to ``last``, and the sums for the intercepts.

    A residual is cut to a length of ``clip`` and counted in units of it; whatever it was computed
    from, it has no more than one, and what is not a number counts as 0. ``out``, one row of numbers
    an output, is residual times row weight, cut to a whole number towards 0; the sums returned are
    those of residual times ``constant``, cut in the same way.
    """
    outputs = margins.shape[0]
    sums = np.zeros(outputs, np.int64)
    residual = np.empty(outputs)
    for i in range(first, last):
        if loss == SOFTMAX:
            _softmax_residual(margins, i, labels[i], clip, residual)
        elif loss == LOGISTIC:
            residual[0] = clipped(sigmoid(margins[0, i]) - labels[i], clip) / clip
        else:
            residual[0] = clipped(margins[0, i] - labels[i], clip) / clip
        for k in range(outputs):
            residual[k] = residual[k] if abs(residual[k]) <= 1.0 else 0.0
            out[k, i] = np.int64(residual[k] * row_weights[i])
            sums[k] += np.int64(residual[k] * constant)
    return sums


@njit(inline="always")
def _softmax_residual(margins, row, label, clip, residual):  # type: ignore[no-untyped-def]
    """Probabilities less the label, in units of ``clip`` and no longer than one."""
    outputs = residual.size
    total = softmax_weights(margins[:, row].copy(), 1.0, 0, outputs, residual)
    square = 0.0
    for k in range(outputs):
        residual[k] = residual[k] / total - (label == k)
        square += residual[k] * residual[k]
    # The last factor covers the rounding of the length.
    scale = 1.0 / max(clip, math.sqrt(square)) * (1.0 - 1e-12)
    for k in range(outputs):
        residual[k] *= scale


@njit(cache=True, nogil=True, error_model="numpy")
def move(released, damping, grid, step, gathered, weights, first, last):  # type: ignore[no-untyped-def]
    """Gather released sums, read in the middle of their cell, and set the weights."""
    for j in range(first, last):
        gathered[j] += damping[j] * (np.float64(released[j]) + 0.5) * grid
        weights[j] = -step * gathered[j]
