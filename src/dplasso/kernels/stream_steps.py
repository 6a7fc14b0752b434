"""Learning from a stream: each step adds gradients to an exact sum, adds noise and sets weights.

A step is one release: ``batch`` rows are scored at the current weights, their clipped gradients are
added to a sum of integers, noise drawn beforehand is added to the sum, and the leader turns the
result into the next weights. Several outputs (one per class) share a row and its clip; their
weights are stored one output after the other in one vector.
"""

import math
from typing import Any

import numpy as np
from numba import njit

from dplasso.base.arrays import Floats
from dplasso.kernels.projections import onto_l1_ball, onto_l2_ball, onto_simplex
from dplasso.kernels.residuals import Residual, to_residuals
from dplasso.kernels.stream_rows import FINE, one_row

# Sets that weights are projected onto.
L2, L1, SIMPLEX, BOX = 0, 1, 2, 3
_SAFE = 1.0 - 2.0**-40
# Limits on a row's squared length and on a residual. Beyond them floating point has too few digits
# to guarantee the clip, and the row counts as 0.
SHORTEST, LONGEST, STEEPEST = 1e-200, 1e200, 1e100
# The share of release t in averaged weights is (1 + _FRESH) / (t + _FRESH), while t is small.
_FRESH = 3.0


@njit(cache=True, nogil=True, error_model="numpy")
def add_rows(rows, labels, first, last, weights, loss, bits, total, margins):  # type: ignore[no-untyped-def]
    """Write the margins of some rows, and add their gradients, as integers, to ``total``.

    ``rows`` are row-compressed; ``loss`` is a compiled `Residual` and the clip. With more than one
    output, the label of output k is whether the row's label is k. The guarantee rests on integer
    arithmetic: a row whose integer vector is longer than 2^bits adds nothing.
    """
    indptr, indices, values = rows
    residual, clip = loss
    outputs = margins.shape[1]
    columns = weights.size // outputs
    scale = math.ldexp(1.0, bits) / clip * _SAFE
    most = np.int64(1) << np.int64(2 * bits)
    slopes, own = np.empty(outputs), np.empty(outputs)
    for i in range(first, last):
        square = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            square += values[p] * values[p]
        for k in range(outputs):
            margin, start = 0.0, k * columns
            for p in range(indptr[i], indptr[i + 1]):
                margin += weights[start + indices[p]] * values[p]
            margins[i, k] = slopes[k] = margin
            own[k] = labels[i]
            if outputs > 1:
                own[k] = 1.0 if labels[i] == k else 0.0
        to_residuals(residual, slopes, own, outputs, 1.0)
        steep = 0.0
        for k in range(outputs):
            steep = max(steep, abs(slopes[k]))
        if not (SHORTEST <= square <= LONGEST and 0.0 < steep <= STEEPEST):
            continue
        relative = 0.0
        for k in range(outputs):
            relative += (slopes[k] / steep) ** 2
        length = steep * math.sqrt(relative) * math.sqrt(square)
        factor = scale if length <= clip else scale * (clip / length)
        exact = np.int64(0)
        for k in range(outputs):
            for p in range(indptr[i], indptr[i + 1]):
                whole = np.int64(factor * slopes[k] * values[p])
                exact += whole * whole
        if 0 <= exact <= most:
            for k in range(outputs):
                for p in range(indptr[i], indptr[i + 1]):
                    total[k * columns + indices[p]] += np.int64(factor * slopes[k] * values[p])


@njit(cache=True, nogil=True, error_model="numpy")
def released(total, noise, floors, unit):  # type: ignore[no-untyped-def]
    """The noisy sum as real numbers; rounding noise down took half a unit from each on average."""
    out = np.empty(total.size)
    for j in range(total.size):
        out[j] = (np.float64(total[j] + noise[j]) + 0.5 * floors) * unit
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def projected(x, kind, lower, upper):  # type: ignore[no-untyped-def]
    """Project onto a set; ``upper[0]`` is the radius of sets that have one."""
    if kind == L2:
        return onto_l2_ball(x, upper[0])
    if kind == L1:
        return onto_l1_ball(x, upper[0])
    if kind == SIMPLEX:
        return onto_simplex(x, upper[0])
    for j in range(x.size):
        x[j] = min(max(x[j], lower[j]), upper[j])
    return x


@njit(cache=True, nogil=True, error_model="numpy")
def forget(x, rows, half_life, forgotten, faded_rows):  # type: ignore[no-untyped-def]
    """Turn a released sum into one whose rows fade; returns the number of rows it counts as."""
    kept = 0.5 ** (rows / half_life)
    for j in range(x.size):
        released = x[j]
        x[j] = released - forgotten[j]
        forgotten[j] = (1.0 - kept) * released + kept * forgotten[j]
    counted = faded_rows[0] + rows
    faded_rows[0] = counted * kept
    return counted


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
def _square(x):  # type: ignore[no-untyped-def]
    square = 0.0
    for j in range(x.size):
        square += x[j] * x[j]
    return square


@njit(cache=True, nogil=True, error_model="numpy")
def is_inside(x, kind, upper):  # type: ignore[no-untyped-def]
    """Whether the projection surely leaves ``x`` as it is, found at less cost than projecting.

    The square is summed in any order. Its relative error is far below the margin left to the ball.
    """
    return kind == L2 and upper[0] > 1e-100 and _square(x) < upper[0] * upper[0] * (1.0 - 1e-6)


@njit(cache=True, nogil=True, error_model="numpy")
def fresh_share(least, seen, rows):  # type: ignore[no-untyped-def]
    """Share of the latest release in averaged weights, after ``seen`` rows, ``rows`` of them new.

    It falls as releases become many, but not below ``least`` per row; 0 means no averaging.
    """
    if least == 0.0:
        return 1.0
    return min(1.0, max(least * rows, (1.0 + _FRESH) * rows / (seen + _FRESH * rows)))


@njit(cache=True, nogil=True, error_model="numpy")
def learn_steps(  # type: ignore[no-untyped-def]
    rows, labels, batch, weights, loss, bits, unit, total, noise, floors, seen, leader, margins
):
    """Run one step per row of ``noise``; returns the weights after the last.

    ``leader`` holds the kind of the set, its two bounds, mu, the number of rows that the starting
    point weighs like, the least share of a release in averaged weights, mu times the former number
    times the starting point (empty if it is 0), and what `forget` takes (empty where nothing
    fades).
    """
    kind, lower, upper, mu, start_rows, least, pull, half_life, forgotten, faded_rows = leader
    for step in range(noise.shape[0]):
        first = step * batch
        add_rows(rows, labels, first, first + batch, weights, loss, bits, total, margins)
        seen += batch
        x = released(total, noise[step], floors[step], unit)
        counted = np.float64(seen)
        if forgotten.size:
            counted = forget(x, batch, half_life, forgotten, faded_rows)
        inverse = 1.0 / (mu * (counted + start_rows))
        if pull.size:
            for j in range(x.size):
                x[j] = (pull[j] - x[j]) * inverse
        else:
            for j in range(x.size):
                x[j] *= -inverse
        if not is_inside(x, kind, upper):
            x = projected(x, kind, lower, upper)
        share = fresh_share(least, seen, batch)
        if share < 1.0:
            for j in range(x.size):
                x[j] = weights[j] + share * (x[j] - weights[j])
        weights = x
    return weights


@njit(cache=True, nogil=True, error_model="numpy")
def learn_row(  # type: ignore[no-untyped-def]
    places, values, label, weights, total, noise, step, floors, seen, numbers, forgotten, learned
):
    """Run one step from one row, write the weights to ``learned``, and return a finding.

    The row is made as in `one_row`, and if it cannot be learned from nothing changes. Few plain
    arrays are passed faster than tuples, and none is returned, since that would cost as much as the
    step: ``numbers`` holds what `row_numbers` puts there, and ``forgotten`` the rows that faded,
    then what was forgotten.
    """
    columns, unit_rows = np.int64(numbers[5]), numbers[6] != 0.0
    found, row = one_row(places, values, columns, unit_rows, numbers[7], numbers[8])
    if found != FINE:
        return found
    outputs, lowers, uppers = np.int64(numbers[4]), np.int64(numbers[9]), np.int64(numbers[10])
    clip, unit, mu, start_rows = numbers[12], numbers[13], numbers[14], numbers[15]
    least, bounds = numbers[17], numbers[18:]
    lower, upper, pull = (
        bounds[:lowers],
        bounds[lowers : lowers + uppers],
        bounds[lowers + uppers :],
    )
    faded = (numbers[16], forgotten[1:], forgotten[:1])
    leader = (np.int64(numbers[3]), lower, upper, mu, start_rows, least, pull, *faded)
    loss = (Residual(int(numbers[0]), int(numbers[1]), numbers[11]), clip)
    labels, margins, rounded = np.empty(1), np.empty((1, outputs)), np.empty(1, np.int64)
    labels[0], rounded[0] = label, floors
    found_weights = learn_steps(
        *(row, labels, 1, weights, loss, np.int64(numbers[2]), unit),
        *(total, noise[step : step + 1], rounded, seen, leader, margins),
    )
    for j in range(learned.size):
        learned[j] = found_weights[j]
    return found


def row_numbers(
    loss: tuple[Residual, float],
    bits: int,
    unit: float,
    leader: tuple[Any, ...],
    outputs: int,
    form: tuple[int, bool, float, float],
) -> Floats:
    """The numbers of a step in the order of `learn_row`; doubles hold addresses exactly."""
    (residuals, curvatures, shape), clip = loss
    kind, lower, upper, mu, start_rows, least, pull, half_life, _, _ = leader
    whole = [residuals, curvatures, bits, kind, outputs, *form, lower.size, upper.size]
    real = [shape, clip, unit, mu, start_rows, half_life, least]
    return np.concatenate([whole, real, lower, upper, pull])
