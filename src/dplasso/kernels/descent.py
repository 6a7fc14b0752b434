"""One step of gradient descent: the residuals of the rows and the update of the weights."""

import numpy as np
from numba import njit

from dplasso.kernels.residuals import to_residuals
from dplasso.kernels.softmax import clipped_residuals

LANE = 256  # rows handled at a time


@njit(cache=True, nogil=True, error_model="numpy")
def coefficients(loss, clip, margins, labels, row_weights, constant, first, last, out):  # type: ignore[no-untyped-def]
    """Whole coefficients of the rows ``first`` to ``last``, and the sums for the intercepts.

    A residual is clipped to a 2-norm of at most ``clip`` and divided by ``clip``: it is then at
    most 1, whatever its input, and 0 where it is NaN. ``out`` has one row per output, and holds
    residual times row weight, rounded towards 0. The sums returned are those of residual times
    ``constant``, rounded in the same way.
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
    """The residual, clipped to ``[-clip, clip]``."""
    residual = -clip if residual < -clip else residual
    return clip if residual > clip else residual


@njit(inline="always")
def _write(residual, row_weight, constant, row, out, sums):  # type: ignore[no-untyped-def]
    """Write the integer coefficients of one row and add its terms to the intercepts' sums."""
    for k in range(residual.size):
        unit = residual[k] if abs(residual[k]) <= 1.0 else 0.0
        out[k, row] = np.int64(unit * row_weight)
        sums[k] += np.int64(unit * constant)


@njit(cache=True, nogil=True, error_model="numpy")
def move(released, damping, grid, step, gathered, weights, first, last):  # type: ignore[no-untyped-def]
    """Accumulate released sums, read at the middle of their grid cell, and set the weights."""
    for j in range(first, last):
        gathered[j] += damping[j] * (np.float64(released[j]) + 0.5) * grid
        weights[j] = -step * gathered[j]
