"""Exact sums of conditioned rows.

A conditioned row is a vector of whole numbers, V - P: entry j of V is ``damping[j]`` times the unit
row's entry, rounded to a multiple of 1 / ``whole``, and P, the centre, is the same for all rows. V
is as sparse as the row; P is not, and is never subtracted entry by entry: sums over the rows of
c V - c P are formed as the sum of c V, less P times the sum of c. Whole numbers make that an
identity. Products wrap around at 2^64 as the sums do, so what wraps on the way comes back.

`_entry_of` is the one place that rounds: the length of a row and its share in a sum are those of
the same whole numbers.
"""

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import entry, nearest_integer


@njit(inline="always")
def _entry_of(scale, unit, value):  # type: ignore[no-untyped-def]
    """Integer entry of V, from a column's scale, a row's unit and the stored number."""
    return nearest_integer(scale * (unit * value))


@njit(cache=True, nogil=True, error_model="numpy")
def unit_sums(indptr, indices, values, units, grains, first, last, out):  # type: ignore[no-untyped-def]
    """Sums per column of the unit rows' entries, each rounded towards 0 to whole grains."""
    for j in range(first, last):
        total = np.int64(0)
        for p in range(np.uint64(indptr[j]), np.uint64(indptr[j + 1])):
            total += np.int64(units[np.uint64(indices[p])] * entry(values, p) * grains)
        out[j] = total


@njit(cache=True, nogil=True, error_model="numpy")
def square_lengths(  # type: ignore[no-untyped-def]
    indptr, indices, values, units, whole, damping, centre, first, last, out
):
    """Add to every row the terms of |V - P|^2 of its entries in columns ``first`` to ``last``."""
    for j in range(first, last):
        scale, twice = damping[j] * whole, 2 * centre[j]
        for p in range(np.uint64(indptr[j]), np.uint64(indptr[j + 1])):
            row = np.uint64(indices[p])
            v = _entry_of(scale, units[row], entry(values, p))
            out[row] += v * (v - twice)


@njit(cache=True, nogil=True, error_model="numpy")
def weighted_sums(  # type: ignore[no-untyped-def]
    indptr, indices, values, units, whole, damping, centre, coefficients, total, first, last, out
):
    """Sums over the rows of c (V - P), columns ``first`` to ``last``; ``total`` is that of c."""
    for j in range(first, last):
        scale = damping[j] * whole
        sum_j = -centre[j] * total
        for p in range(np.uint64(indptr[j]), np.uint64(indptr[j + 1])):
            row = np.uint64(indices[p])
            sum_j += coefficients[row] * _entry_of(scale, units[row], entry(values, p))
        out[j] = sum_j


@njit(cache=True, nogil=True, error_model="numpy")
def add_margins(indptr, indices, values, weights, grains, most, first, last, out):  # type: ignore[no-untyped-def]
    """Add the entries of columns ``first`` to ``last`` times their weights to the rows' margins.

    Margins are whole numbers of grains before their row's unit is applied, so that they do not
    depend on where the columns were split. A term is at most ``most`` grains.
    """
    for j in range(first, last):
        weight = weights[j] * grains
        for p in range(np.uint64(indptr[j]), np.uint64(indptr[j + 1])):
            term = min(max(weight * entry(values, p), -most), most)
            out[np.uint64(indices[p])] += nearest_integer(term)


@njit(cache=True, nogil=True, error_model="numpy")
def add_margins_of(  # type: ignore[no-untyped-def]
    indptr, indices, values, columns, weights, grains, most, first, last, out
):
    """Like `add_margins`, for some of the columns, which ``weights`` belong to."""
    for k in range(first, last):
        weight, j = weights[k] * grains, columns[k]
        for p in range(np.uint64(indptr[j]), np.uint64(indptr[j + 1])):
            term = min(max(weight * entry(values, p), -most), most)
            out[np.uint64(indices[p])] += nearest_integer(term)
