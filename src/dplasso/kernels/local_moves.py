"""Moves of local linear oracles on vectors that are their own mixture of vertices."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def nonzeros_and_size(x):  # type: ignore[no-untyped-def]
    """How many entries are not 0, and the sum of their sizes."""
    count, size = 0, 0.0
    for j in range(x.size):
        count += int(x[j] != 0.0)
        size += abs(x[j])
    return count, size


@njit(cache=True, nogil=True)
def take_from_worst(x, gradient, amount, nonzeros):  # type: ignore[no-untyped-def]
    """``x`` with ``amount`` taken off the sizes of its entries, and how much that was.

    Entries whose shrinking lowers ``<gradient, x>`` most are the first to shrink, to 0 if need be.
    """
    places, gains = np.empty(nonzeros, np.int64), np.empty(nonzeros)
    found = 0
    for j in range(x.size):
        if x[j] != 0.0:
            places[found] = j
            gains[found] = -gradient[j] if x[j] > 0.0 else gradient[j]
            found += 1
    out, left = x.copy(), amount
    for k in np.argsort(gains, kind="mergesort"):
        if left <= 0.0:
            break
        j = places[k]
        if abs(x[j]) <= left:
            out[j] = 0.0
            left -= abs(x[j])
        else:
            out[j] = x[j] - np.copysign(left, x[j])
            left = 0.0
    return out, amount - max(left, 0.0)


@njit(cache=True, nogil=True)
def gain_and_square(gradient, x, target):  # type: ignore[no-untyped-def]
    """How much ``<gradient, .>`` sinks from x to the target, and their squared distance.

    One loop and one order of adding up, where a library's product would depend on its threads.
    """
    gain, square = 0.0, 0.0
    for j in range(x.size):
        way = target[j] - x[j]
        gain -= gradient[j] * way
        square += way * way
    return gain, square


@njit(cache=True, nogil=True)
def square_length(x):  # type: ignore[no-untyped-def]
    """Sum of the squares."""
    square = 0.0
    for j in range(x.size):
        square += x[j] * x[j]
    return square
