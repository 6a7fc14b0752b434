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
        largest = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            largest = max(largest, abs(values[p]))
        factor = rest
        if unit and largest > 0.0:
            square = 0.0
            for p in range(indptr[i], indptr[i + 1]):
                square += (values[p] / largest) ** 2
            factor = rest / math.sqrt(square) / largest
            if not math.isfinite(factor):  # the row is too short to be scaled
                factor = 0.0
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
def one_row(places, values, columns, unit, rest, share, gaps):  # type: ignore[no-untyped-def]
    """One row from entries in any order: a finding, and the row as `prepared` returns it.

    Entries at negative places are ignored, and with ``gaps`` those that are NaN. Repeated places
    are added up, and zeros dropped, as for a matrix.
    """
    kept, plain = 0, True
    indices, entries = np.empty(places.size, np.int32), np.empty(places.size)
    for p in range(places.size):
        if places[p] < 0 or (gaps and math.isnan(values[p])):
            continue
        if places[p] >= columns:
            return OUT_OF_RANGE, prepared(
                np.zeros(2, np.int64), indices, entries, 0, False, 1.0, 0.0
            )
        plain = plain and values[p] != 0.0 and (kept == 0 or places[p] > indices[kept - 1])
        indices[kept], entries[kept] = places[p], values[p]
        kept += 1
    starts, indices, entries = np.empty(2, np.int64), indices[:kept], entries[:kept]
    starts[0], starts[1] = 0, kept
    if not plain:
        order = np.argsort(indices)
        ends, merged, sums = starts.copy(), np.empty_like(indices), np.empty_like(entries)
        add_repeats(starts, indices[order], entries[order], ends, merged, sums)
        starts, indices, entries = ends, merged, sums
    found = finding(starts, indices, entries, columns)
    return found, prepared(starts, indices, entries, columns, unit, rest, share)


@njit(cache=True, nogil=True, error_model="numpy")
def one_margin(places, values, columns, unit, rest, share, weights):  # type: ignore[no-untyped-def]
    """A finding about one row by name, and its product with the weights of one output."""
    found, row = one_row(places, values, columns, unit, rest, share, True)
    margins = np.zeros(1)
    if found == FINE:
        margins_of(weights, row[0], row[1], row[2], margins)
    return found, margins[0]
