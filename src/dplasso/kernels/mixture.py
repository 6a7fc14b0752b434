"""The signal in the gathered sums of columns, in one pass over the columns.

See ``solvers/gradient/mixture.py`` for the model, and the same in a few lines of numpy.
"""

import math

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import column


@njit(cache=True, nogil=True, error_model="numpy")
def size_counts(gathered, spread, noise, columns, bin_width, last_size, first, last):  # type: ignore[no-untyped-def]
    """Histogram of the gathered sums' absolute values, in standard deviations of their noise."""
    counts = np.zeros(int(last_size / bin_width) + 1, np.int64)
    for k in range(first, last):
        j = column(columns, k)
        deviation = noise * math.sqrt(spread[j])
        for output in range(gathered.shape[0]):
            size = abs(gathered[output, j] / deviation)
            size = last_size if size > last_size else size
            counts[int(size / bin_width) if size == size else 0] += 1
    return counts


@njit(cache=True, nogil=True, error_model="numpy")
def signals(gathered, spread, noise, columns, middles, shares, slopes, first, last, out):  # type: ignore[no-untyped-def]
    """Root of the size of the signal in every column, averaged over the outputs.

    ``shares`` are those of signal at the sizes ``middles``, equally far apart, and ``slopes`` are
    those of the lines between them.
    """
    outputs, width = gathered.shape[0], middles[1] - middles[0]
    for k in range(first, last):
        j = column(columns, k)
        deviation, total = noise * math.sqrt(spread[j]), 0.0
        for output in range(outputs):
            z = gathered[output, j] / deviation
            part = _interpolated(abs(z), middles, shares, slopes, width)
            total += math.sqrt((z * part) * (z * part) + part)
        out[j] = math.sqrt(total / outputs)


@njit(inline="always")
def _interpolated(size, middles, shares, slopes, width):  # type: ignore[no-untyped-def]
    """``np.interp``, to the last bit, without a search."""
    final = middles.size - 1
    if size >= middles[final]:
        return shares[final]
    if not size > middles[0]:
        return shares[0]
    at = min(int((size - middles[0]) / width), final - 1)
    at -= int(middles[at] > size)
    at += int(middles[at + 1] <= size)
    return slopes[at] * (size - middles[at]) + shares[at]
