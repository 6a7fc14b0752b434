"""Moves of local linear oracles on vectors whose entries are their own vertex weights."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def nonzeros_and_size(x):  # type: ignore[no-untyped-def]
    """Number of nonzero entries, and the sum of their absolute values."""
    count, size = 0, 0.0
    for j in range(x.size):
        count += int(x[j] != 0.0)
        size += abs(x[j])
    return count, size


@njit(cache=True, nogil=True)
def take_from_worst(x, gradient, amount, nonzeros):  # type: ignore[no-untyped-def]
    """``x`` with up to ``amount`` of its 1-norm removed, and how much was removed.

    Entries whose shrinking lowers ``<gradient, x>`` most shrink first, to 0 if necessary.
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
    """Decrease of ``<gradient, .>`` from x to the target, and their squared distance.

    One loop fixes the order of summation; a library's product would depend on its threads.
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
