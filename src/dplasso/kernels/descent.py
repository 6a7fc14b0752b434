"""A step of gradient descent: residuals of the rows, and the move of the weights."""

import numpy as np
from numba import njit

from dplasso.kernels.residuals import to_residuals
from dplasso.kernels.softmax import clipped_residuals

LANE = 256  # rows handled at a time


@njit(cache=True, nogil=True, error_model="numpy")
def coefficients(loss, clip, margins, labels, row_weights, constant, first, last, out):  # type: ignore[no-untyped-def]
    """Whole coefficients of the rows ``first`` to ``last``, and the sums for the intercepts.

    A residual is scaled to a length of at most ``clip`` and counted in units of it: at most one
    unit, whatever it was computed from, and 0 where it is not a number. ``out``, one row of numbers
    per output, is residual times row weight, rounded towards 0 to a whole number. The sums returned
    are those of residual times ``constant``, rounded in the same way.
    """
    outputs = margins.shape[0]
    sums = np.zeros(outputs, np.int64)
    if outputs > 1:
        residual = np.empty(outputs)
        for i in range(first, last):
            clipped_residuals(margins, i, labels[i], clip, residual)
            _write(residual, row_weights[i], constant, i, out, sums)
        return sums
    lane, residual = np.empty(LANE), np.empty(1)
    for begin in range(first, last, LANE):
        end = min(begin + LANE, last)
        for i in range(begin, end):
            lane[i - begin] = margins[0, i]
        to_residuals(loss, lane, labels[begin:end], end - begin, 1.0)
        for i in range(begin, end):
            residual[0] = _clipped(lane[i - begin], clip) / clip
            _write(residual, row_weights[i], constant, i, out, sums)
    return sums


@njit(inline="always")
def _clipped(residual, clip):  # type: ignore[no-untyped-def]
    """The residual, cut at ``clip``."""
    residual = -clip if residual < -clip else residual
    return clip if residual > clip else residual


@njit(inline="always")
def _write(residual, row_weight, constant, row, out, sums):  # type: ignore[no-untyped-def]
    """Write the whole coefficients of one row and add its part of the intercepts' sums."""
    for k in range(residual.size):
        unit = residual[k] if abs(residual[k]) <= 1.0 else 0.0
        out[k, row] = np.int64(unit * row_weight)
        sums[k] += np.int64(unit * constant)


@njit(cache=True, nogil=True, error_model="numpy")
def move(released, damping, grid, step, gathered, weights, first, last):  # type: ignore[no-untyped-def]
    """Gather released sums, read in the middle of their cell, and set the weights."""
    for j in range(first, last):
        gathered[j] += damping[j] * (np.float64(released[j]) + 0.5) * grid
        weights[j] = -step * gathered[j]
