"""One step of gradient descent: the residuals of the rows and the update of the weights."""

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import column, entry
from dplasso.kernels.conditioned import finish_margins, whole_term
from dplasso.kernels.residuals import to_residuals
from dplasso.kernels.softmax import clipped_residuals

LANE = 256  # rows handled at a time


@njit(cache=True, nogil=True, error_model="numpy")
def coefficients(loss, clip, margins, labels, lengths, weights, constant, first, last, out):  # type: ignore[no-untyped-def]
    """Whole coefficients of the rows ``first`` to ``last``, and the sums for the intercepts.

    A residual is clipped to a 2-norm of at most ``clip`` and divided by ``clip``: it is then at
    most 1, whatever its input, and 0 where it is NaN. ``out`` has one row per output, and holds
    residual times the row's number in ``lengths``, rounded towards 0. The sums returned are those
    of residual times ``constant`` times the row's weight, rounded in the same way.
    """
    outputs = margins.shape[0]
    sums = np.zeros(outputs, np.int64)
    if outputs > 1:
        residual = np.empty(outputs)
        for i in range(first, last):
            clipped_residuals(margins, i, labels[i], clip, residual)
            _write(residual, lengths[i], constant * entry(weights, i), i, out, sums)
        return sums
    lane, residual = np.empty(LANE), np.empty(1)
    for begin in range(first, last, LANE):
        end = min(begin + LANE, last)
        for i in range(begin, end):
            lane[i - begin] = margins[0, i]
        to_residuals(loss, lane, labels[begin:end], end - begin, 1.0)
        for i in range(begin, end):
            residual[0] = _clipped(lane[i - begin], clip) / clip
            _write(residual, lengths[i], constant * entry(weights, i), i, out, sums)
    return sums


@njit(cache=True, nogil=True, error_model="numpy")
def finish_rows(  # type: ignore[no-untyped-def]
    parts,
    units,
    grains,
    intercept,
    loss,
    clip,
    margins,
    labels,
    lengths,
    weights,
    constant,
    first,
    last,
    out,
):
    """Margins in the last output (`finish_margins`), then `coefficients`, without a pause.

    Returns the sums of the coefficients as well, before those for the intercepts.
    """
    finish_margins(parts, units, grains, intercept, first, last, margins[-1])
    constants = coefficients(
        loss, clip, margins, labels, lengths, weights, constant, first, last, out
    )
    totals = np.zeros(len(margins), np.int64)
    for k in range(len(margins)):
        for i in range(first, last):
            totals[k] += out[k, i]
    return totals, constants


@njit(inline="always")
def _clipped(residual, clip):  # type: ignore[no-untyped-def]
    """The residual, clipped to ``[-clip, clip]``."""
    residual = -clip if residual < -clip else residual
    return clip if residual > clip else residual


@njit(inline="always")
def _write(residual, length, constant, row, out, sums):  # type: ignore[no-untyped-def]
    """Write the integer coefficients of one row and add its terms to the intercepts' sums."""
    for k in range(residual.size):
        unit = residual[k] if abs(residual[k]) <= 1.0 else 0.0
        out[k, row] = np.int64(unit * length)
        sums[k] += np.int64(unit * constant)


@njit(cache=True, nogil=True, error_model="numpy")
def move(  # type: ignore[no-untyped-def]
    released, alone, columns, left, damping, grid, step, gathered, weights, first, last
):
    """Accumulate released sums, read at the middle of their grid cell, and set the weights.

    This is for all columns or those in ``columns``, where ``left`` is None or true. ``alone`` says
    whether there are sums of these columns alone, side by side.
    """
    for k in range(first, last):
        j = column(columns, k)
        if left is not None and not left[j]:
            continue
        number = released[k] if alone else released[j]
        gathered[j] += damping[j] * (np.float64(number) + 0.5) * grid
        weights[j] = -step * gathered[j]


@njit(cache=True, nogil=True)
def take(numbers, columns, first, last, out):  # type: ignore[no-untyped-def]
    """The numbers of the columns, side by side."""
    for k in range(first, last):
        out[k] = numbers[columns[k]]


@njit(cache=True, nogil=True)
def add_weights(weights, columns, total, first, last):  # type: ignore[no-untyped-def]
    """Add the weights to ``total``."""
    for k in range(first, last):
        j = column(columns, k)
        total[j] += weights[j]


@njit(cache=True, nogil=True)
def add_squares(damping, columns, times, total, first, last):  # type: ignore[no-untyped-def]
    """Add the squares of the dampings to ``total``, one after the other, as often as ``times``."""
    for k in range(first, last):
        j = column(columns, k)
        square, found = damping[j] * damping[j], total[j]
        for _ in range(times):
            found += square
        total[j] = found


@njit(cache=True, nogil=True)
def rescale(damping, columns, factor, most, first, last, out):  # type: ignore[no-untyped-def]
    """Dampings times a factor, at most ``most``."""
    for k in range(first, last):
        j = column(columns, k)
        found = damping[j] * factor
        out[j] = most if found > most else found


@njit(cache=True, nogil=True)
def mean_length(damping, present, columns, grains, most, first, last):  # type: ignore[no-untyped-def]
    """Mean squared length of rows under a damping, in whole grains; at most ``most`` per column."""
    total = np.int64(0)
    for k in range(first, last):
        j = column(columns, k)
        total += whole_term(present[j] * (damping[j] * damping[j]) * grains, most)
    return total
