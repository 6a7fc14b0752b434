"""Noise within a block of steps, drawn for the columns that are looked at, and learning from it."""

import math

import numpy as np
from numba import njit

from dplasso.kernels.buffered import FINE_BITS
from dplasso.kernels.grid_gaussian import add_noise
from dplasso.kernels.stream_steps import add_rows, fresh_share

# Findings of `meet`: all columns are met, there is no room for another, draws are undecided.
MET, FULL, UNDECIDED = 0, 1, 2


@njit(cache=True, nogil=True)
def echo_one(path, shifts, shares):  # type: ignore[no-untyped-def]
    """Turn the draws of one column, step by step, into noise, as `buffered.echo` does."""
    buffers = np.zeros(shifts.size, np.int64)
    for step in range(path.size):
        held, drawn = np.int64(0), path[step]
        for k in range(shifts.size):
            before = buffers[k]
            held += before
            buffers[k] = before - (before >> shifts[k]) + drawn * shares[k]
        path[step] += held >> FINE_BITS


@njit(cache=True, nogil=True)
def keep_path(number, places, paths, met, shifts, shares):  # type: ignore[no-untyped-def]
    """Turn the latest draws into the path of a number, in one step that no interrupt divides."""
    echo_one(paths[met[0]], shifts, shares)
    places[number] = met[0]
    met[0] += 1


@njit(cache=True, nogil=True)
def meet(  # type: ignore[no-untyped-def]
    columns, outputs, width, places, paths, met, cells, key, block, shifts, shares, undecided
):
    """Draw the noise of a block for the columns, of every output, that have none yet.

    ``places`` holds the place of a number's path in ``paths``, or -1; ``met[0]`` counts the paths.
    A number has its place only when its path is complete. Returns a finding, the number that it is
    about, and how many of its draws are undecided.
    """
    for p in range(columns.size):
        for k in range(outputs):
            number = np.int64(columns[p]) + k * width
            if places[number] >= 0:
                continue
            if met[0] == paths.shape[0]:
                return FULL, number, 0
            path = paths[met[0]]
            path[:] = 0
            found = add_noise(cells, key, block * places.size + number, path, undecided)
            if found > 0:
                return UNDECIDED, number, found
            keep_path(number, places, paths, met, shifts, shares)
    return MET, 0, 0


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
def length(total, before):  # type: ignore[no-untyped-def]
    """The length of the sum of two vectors of whole numbers."""
    square = 0.0
    for j in range(total.size):
        number = np.float64(total[j] + before[j])
        square += number * number
    return math.sqrt(square)


@njit(cache=True, nogil=True)
def gather(before, places, paths, inside, out):  # type: ignore[no-untyped-def]
    """The noise of one place of all paths, in a block whose numbers are all met."""
    for j in range(out.size):
        out[j] = before[j] + paths[places[j], inside]


@njit(cache=True, nogil=True, error_model="numpy")
def set_weights(  # type: ignore[no-untyped-def]
    columns, outputs, width, total, noise, inside, unit, inverse, share, average, weights
):
    """Write the weights of some columns: the average, moved by ``share`` towards the latest point.

    ``noise`` holds what a block has drawn: the noise before it, places, paths, and how often a
    number was rounded down before it.
    """
    before, places, paths, floors = noise
    for p in range(columns.size):
        for k in range(outputs):
            j = np.int64(columns[p]) + k * width
            weights[j] = average[j]
            if inside > 0:
                noisy = total[j] + before[j] + paths[places[j], inside - 1]
                point = (np.float64(noisy) + 0.5 * (floors + 1)) * unit * -inverse
                weights[j] += share * (point - average[j])


@njit(cache=True, nogil=True, error_model="numpy")
def learn_in_block(  # type: ignore[no-untyped-def]
    rows, labels, batch, loss, bits, total, margins, noise, inside, numbers, average, weights
):
    """Run steps whose latest point is surely inside the ball; returns how many were run.

    ``numbers`` holds the unit, mu, the rows that the start weighs like, the rows so far, the most
    that the length of the released sum can be in units, the radius of the ball, the least share of
    a row in the average, and the rows up to the average.
    """
    unit, mu, start_rows, seen, most, limit, least, then = numbers
    outputs = margins.shape[1]
    width = weights.size // outputs
    indptr, indices, _ = rows
    row_length = math.ldexp(1.0, bits)
    steps = labels.size // batch
    for step in range(steps):
        counted = seen + step * batch
        inverse = 1.0 / (mu * (counted + start_rows))
        if (most + step * batch * row_length) * unit * inverse > limit and inside + step > 0:
            return step
        first = step * batch
        share = fresh_share(least, counted, counted - then)
        set_weights(
            *(indices[indptr[first] : indptr[first + batch]], outputs, width, total, noise),
            *(inside + step, unit, inverse, share, average, weights),
        )
        add_rows(rows, labels, first, first + batch, weights, loss, bits, total, margins)
    return steps
