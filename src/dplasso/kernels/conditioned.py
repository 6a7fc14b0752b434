"""Exact sums of conditioned rows.

A conditioned row is a vector of whole numbers, V - P: entry j of V is ``damping[j]`` times the unit
row's entry, rounded to a multiple of 1 / ``whole``, and P, the centre, is the same for all rows. V
is as sparse as the row; P is not, and is never subtracted entry by entry: sums over the rows of
c V - c P are formed as the sum of c V, less P times the sum of c. Whole numbers make that an
identity. Products wrap around at 2^64 as the sums do, so what wraps on the way comes back.

`_entry_of` is the one place that rounds: the length of a row and its share in a sum are those of
the same whole numbers.

Entries lie column after column, and ``starts`` says where each begins; ``columns`` says which ones
these are, and is None if they are all, in their order. What loops read or write per row is far
from what the last entry needed: without a hint to the cache (`prefetch`), a step over very many
rows would mostly wait for memory. Rows with numbers of 16 bits are so few that the cache has them
anyway, and hints would take longer than they save.

The loops over entries that every step repeats take runs of columns in turns (`kernels/turns.py`);
``edges`` says where runs begin, and ``taken`` counts those that were taken.
"""

import math

import numpy as np
from numba import njit, types
from numba.extending import overload

from dplasso.kernels.arithmetic import column, double_of_bits, entry, nearest_integer, prefetch
from dplasso.kernels.turns import next_run

# Entries between the hint to the cache and the use of what was asked for.
AHEAD = 64
# Columns of the pairs of `weighted_sums`: a row's coefficient, and the bits of its unit.
COEFFICIENT, UNIT = 0, 1


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


def _ask_ahead(array, indices, p, most):  # type: ignore[no-untyped-def]
    """Ask the cache for what an entry soon after ``p`` needs; ``most`` is the last entry."""


@overload(_ask_ahead, inline="always")
def _compiled_ask_ahead(array, indices, p, most):  # type: ignore[no-untyped-def]
    if indices.dtype == types.uint16:
        return lambda array, indices, p, most: None

    width = array.ndim  # a row of `pairs` has two numbers, and other rows have one

    def ask(array, indices, p, most):  # type: ignore[no-untyped-def]
        soon = np.int64(indices[np.uint64(min(np.int64(p) + AHEAD, most))])
        prefetch(array, width * soon)

    return ask


@njit(cache=True, nogil=True, error_model="numpy")
def square_lengths(  # type: ignore[no-untyped-def]
    starts, indices, values, columns, units, whole, damping, centre, edges, taken, out
):
    """Sums per row of the terms of |V - P|^2 of its entries, over the runs of columns taken."""
    out[:] = 0
    run = next_run(taken)
    while run < len(edges) - 1:
        most = np.int64(starts[edges[run + 1]]) - 1
        for k in range(np.uint64(edges[run]), np.uint64(edges[run + 1])):
            j = np.uint64(column(columns, k))
            scale, twice = damping[j] * whole, 2 * centre[j]
            for p in range(np.uint64(starts[k]), np.uint64(starts[k + 1])):
                _ask_ahead(units, indices, p, most)
                _ask_ahead(out, indices, p, most)
                row = np.uint64(indices[p])
                v = _entry_of(scale, units[row], entry(values, p))
                out[row] += v * (v - twice)
        run = next_run(taken)


@njit(cache=True, nogil=True, error_model="numpy")
def weighted_sums(  # type: ignore[no-untyped-def]
    starts, indices, values, columns, pairs, whole, damping, edges, taken, out
):
    """Sums over the rows of c V, in the runs of columns taken.

    ``pairs`` has the coefficient c of every row and the bits of its unit side by side, so that an
    entry needs one place in memory and not two.
    """
    run = next_run(taken)
    while run < len(edges) - 1:
        most = np.int64(starts[edges[run + 1]]) - 1
        for k in range(np.uint64(edges[run]), np.uint64(edges[run + 1])):
            j = np.uint64(column(columns, k))
            scale = damping[j] * whole
            total = np.int64(0)
            for p in range(np.uint64(starts[k]), np.uint64(starts[k + 1])):
                _ask_ahead(pairs, indices, p, most)
                row = np.uint64(indices[p])
                unit = double_of_bits(pairs[row, UNIT])
                total += pairs[row, COEFFICIENT] * _entry_of(scale, unit, entry(values, p))
            out[j] = total
        run = next_run(taken)


@njit(cache=True, nogil=True, error_model="numpy")
def add_margins(  # type: ignore[no-untyped-def]
    starts, indices, values, columns, weights, grains, most_grains, edges, taken, out
):
    """The rows' margins from the runs of columns taken: entries times weights, added up.

    Margins are whole numbers of grains before their row's unit is applied, so that they do not
    depend on where the columns were split. A term is at most ``most_grains``.
    """
    out[:] = 0
    run = next_run(taken)
    while run < len(edges) - 1:
        most = np.int64(starts[edges[run + 1]]) - 1
        for k in range(np.uint64(edges[run]), np.uint64(edges[run + 1])):
            j = np.uint64(column(columns, k))
            weight = weights[j] * grains
            for p in range(np.uint64(starts[k]), np.uint64(starts[k + 1])):
                _ask_ahead(out, indices, p, most)
                term = whole_term(weight * entry(values, p), most_grains)
                out[np.uint64(indices[p])] += term
        run = next_run(taken)


@njit(cache=True, nogil=True, error_model="numpy")
def add_margins_of(  # type: ignore[no-untyped-def]
    indptr, indices, values, columns, weights, grains, most_grains, edges, taken, out
):
    """Like `add_margins`, with the weights of these columns alone, in their order."""
    out[:] = 0
    run = next_run(taken)
    while run < len(edges) - 1:
        for k in range(edges[run], edges[run + 1]):
            weight, j = weights[k] * grains, columns[k]
            for p in range(np.uint64(indptr[j]), np.uint64(indptr[j + 1])):
                term = whole_term(weight * entry(values, p), most_grains)
                out[np.uint64(indices[p])] += term
        run = next_run(taken)


@njit(inline="always")
def whole_term(term, most):  # type: ignore[no-untyped-def]
    """A term of a sum in whole grains, at most ``most`` of them; 0 if it is not a number."""
    term = -most if term < -most else term
    term = most if term > most else term
    return nearest_integer(term if term == term else 0.0)


@njit(cache=True, nogil=True, error_model="numpy")
def merge(parts, first, last):  # type: ignore[no-untyped-def]
    """Add all ``parts``, one row of numbers each, to the first one, from ``first`` to ``last``."""
    whole = parts[0]
    for k in range(1, parts.shape[0]):
        part = parts[k]
        for i in range(first, last):
            whole[i] += part[i]


@njit(cache=True, nogil=True, error_model="numpy")
def finish_margins(parts, units, grains, intercept, first, last, out):  # type: ignore[no-untyped-def]
    """Margins of the rows ``first`` to ``last`` from parts of their whole grains."""
    merge(parts, first, last)
    for i in range(first, last):
        out[i] = parts[0, i] * (units[i] / grains) + intercept


@njit(cache=True, nogil=True, error_model="numpy")
def finish_lengths(parts, square_centre, unit, weights, first, last, out):  # type: ignore[no-untyped-def]
    """``unit`` over the lengths of the rows ``first`` to ``last``, times their weights.

    ``parts`` are those of `square_lengths`. The result is 0 for a length of 0.
    """
    merge(parts, first, last)
    for i in range(first, last):
        square = parts[0, i] + square_centre
        found = unit / math.sqrt(np.float64(square)) if square > 0 else 0.0
        out[i] = found * entry(weights, i)
