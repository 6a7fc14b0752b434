"""Checks and scaling of the rows of a stream, and their intercept column."""

import math

import numpy as np
from numba import njit

from dplasso.kernels.repeats import add_repeats

# Findings about rows.
FINE, NOT_FINITE, OUT_OF_RANGE, OUT_OF_ORDER = 0, 1, 2, 3


@njit(cache=True, nogil=True)
def finding(indptr, indices, values, dimension):  # type: ignore[no-untyped-def]
    """Check row-compressed rows; returns one of the findings.

    A column that occurs twice in a row would make the row's gradient longer than its clip.
    """
    for i in range(indptr.size - 1):
        last = np.int64(-1)
        for p in range(indptr[i], indptr[i + 1]):
            j = np.int64(indices[p])
            if j < 0 or j >= dimension:
                return OUT_OF_RANGE
            if j <= last:
                return OUT_OF_ORDER
            if not math.isfinite(values[p]):
                return NOT_FINITE
            last = j
    return FINE


@njit(cache=True, nogil=True, error_model="numpy")
def to_length(values, first, last, rest):  # type: ignore[no-untyped-def]
    """The factor that scales some entries to length ``rest``; 0 if they are too short for it."""
    largest = 0.0
    for p in range(first, last):
        largest = max(largest, abs(values[p]))
    if largest == 0.0:
        return rest
    square = 0.0
    for p in range(first, last):
        square += (values[p] / largest) ** 2
    factor = rest / math.sqrt(square) / largest
    return factor if math.isfinite(factor) else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def prepared(indptr, indices, values, columns, unit, rest, share):  # type: ignore[no-untyped-def]
    """Row-compressed rows with a last column of ``share``, unless that is 0, for the intercept.

    With ``unit`` the other entries are scaled to length ``rest``. Each row's result depends on that
    row alone.
    """
    rows, more = indptr.size - 1, 1 if share > 0.0 else 0
    starts = np.empty(rows + 1, np.int64)
    size = indptr[rows] - indptr[0] + more * rows
    places, entries = np.empty(size, np.int32), np.empty(size)
    starts[0], at = 0, 0
    for i in range(rows):
        factor = to_length(values, indptr[i], indptr[i + 1], rest) if unit else rest
        for p in range(indptr[i], indptr[i + 1]):
            places[at], entries[at] = indices[p], values[p] * factor
            at += 1
        if more:
            places[at], entries[at] = columns, share
            at += 1
        starts[i + 1] = at
    return starts, places, entries


@njit(cache=True, nogil=True, error_model="numpy")
def margins_of(weights, indptr, indices, values, margins):  # type: ignore[no-untyped-def]
    """Products of row-compressed rows with the weights."""
    for i in range(margins.size):
        margin = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            margin += weights[indices[p]] * values[p]
        margins[i] = margin


@njit(cache=True, nogil=True, error_model="numpy")
def one_row(places, values, columns, unit, rest, share):  # type: ignore[no-untyped-def]
    """One row from entries in any order: a finding, and the row as `prepared` returns it.

    Entries at negative places, and those that are NaN, are ignored. Repeated places are added up,
    and zeros dropped, as for a matrix.
    """
    kept, last, in_order = 0, -1, True
    starts = np.zeros(2, np.int64)
    indices, entries = np.empty(places.size + 1, np.int32), np.empty(places.size + 1)
    for p in range(places.size):
        if places[p] < 0 or math.isnan(values[p]):
            continue
        if places[p] >= columns:
            return OUT_OF_RANGE, (starts, indices, entries)
        in_order, last = in_order and places[p] > last, places[p]
        indices[kept], entries[kept] = places[p], values[p]
        kept += 1
    starts[1] = kept
    if in_order:  # nothing is repeated, so that zeros are all there is to drop
        present = 0
        for p in range(kept):
            if entries[p] != 0.0:
                indices[present], entries[present] = indices[p], entries[p]
                present += 1
        starts[1] = present
    else:
        order = np.argsort(indices[:kept])
        ends, merged, sums = starts.copy(), np.empty_like(indices), np.empty_like(entries)
        add_repeats(starts, indices[order], entries[order], ends, merged, sums)
        starts, indices, entries = ends, merged, sums
    found, kept = finding(starts, indices, entries, columns), starts[1]
    if found == FINE:
        factor = to_length(entries, 0, kept, rest) if unit else rest
        for p in range(kept):
            entries[p] *= factor
        if share > 0.0:
            indices[kept], entries[kept] = columns, share
            starts[1] = kept + 1
    return found, (starts, indices[: starts[1]], entries[: starts[1]])


@njit(cache=True, nogil=True, error_model="numpy")
def one_margin(places, values, columns, unit, rest, share, weights):  # type: ignore[no-untyped-def]
    """The product of one row by name with the weights of one output; NaN if it is not fine."""
    found, row = one_row(places, values, columns, unit, rest, share)
    margin = np.nan
    if found == FINE:
        margin = 0.0
        for p in range(row[1].size):
            margin += weights[row[1][p]] * row[2][p]
    return margin
