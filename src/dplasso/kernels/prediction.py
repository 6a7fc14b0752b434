"""Margins of new rows: entries are mapped, and multiplied by weights, in one pass.

A column has a line in ``table``: one weight per output, then the numbers by which its entries are
mapped. Sums of a row run in the order of its columns, and are divided by its length at the end. So
its margins do not depend on other rows, nor on whether rows are sparse or dense.

Margins are written to ``out``, rows x outputs, for rows ``first`` to ``last``. ``limits`` are the
number that entries are clipped to, their bound, and the divisor of entries that are not centred
beside columns that are. ``unit`` says whether rows are scaled to length 1.
"""

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from numba import njit

from dplasso.kernels.table import CELL_BITS

# Maps of entries.
AS_IS, CUT, CLIPPED, PRESENCE, SQRT, BLEND = range(6)
# How many numbers a column has, which tells what they are: none; the factor by which entries are
# stretched; the low end, the high end, and what 0 is cut to (for CUT); the factor, and the start,
# width, gain and shift of its cells. The width of a column that is not centred is 0.
NONE, STRETCHED, ENDS, CENTRED = 0, 1, 3, 5
_CELL = float(1 << CELL_BITS)
# Dense rows and columns that are handled together: their entries fit into a cache.
_ROWS, _COLUMNS = 32, 1024


@cache
def sparse_margins(kind: int, own: int) -> Callable[..., bool]:
    """Return the loop over row-compressed rows, compiled for one map and one kind of numbers.

    It returns False if columns of a row are not in order. ``columns`` are the columns of the lines
    of ``table``, increasing; all if it is None. One more line is for all other columns; without it
    they do not count. ``filled`` are columns in which an entry of 0 counts, or None; it is mapped
    once per column.

    What the loop closes over is numbers alone: code on disk is found again by their pickles, and
    those of a compiled function differ between processes.
    """

    @njit(cache=True, nogil=True, error_model="numpy")
    def margins(  # type: ignore[no-untyped-def]
        indptr, indices, values, columns, table, intercepts, unit, limits, filled, first, last, out
    ):
        outputs, fills = intercepts.size, 0 if filled is None else filled.size
        one = outputs == 1  # and its sum is formed at once; others wait for all entries
        longest = _longest(indptr, first, last) + fills
        lines, entries = np.empty(longest, np.uint64), np.empty(longest)
        zero_lines, zeros = np.empty(fills, np.uint64), np.empty(fills)
        if filled is not None:
            for f in range(fills):
                zero_lines[f] = _line(columns, filled[f])
                zeros[f] = _mapped(0.0, table, zero_lines[f], outputs, limits, kind, own)
        ordered = 1
        for i in range(first, last):
            count, square, only = 0, 0.0, 0.0
            previous, fill = np.int64(-1), 0
            for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                column = np.int64(indices[p])
                ordered &= int(column > previous)
                previous = column
                if filled is not None:
                    while fill < fills and filled[fill] < column:
                        x, line = zeros[fill], zero_lines[fill]
                        square += x * x
                        if one:
                            only += x * table[line, 0]
                        else:
                            lines[count], entries[count] = line, x
                            count += 1
                        fill += 1
                    fill += int(fill < fills and filled[fill] == column)
                line = _line(columns, column)
                if columns is None or line < table.shape[0]:
                    x = _mapped(np.float64(values[p]), table, line, outputs, limits, kind, own)
                    square += x * x
                    if one:
                        only += x * table[line, 0]
                    else:
                        lines[count], entries[count] = line, x
                        count += 1
            for rest in range(fill, fills):
                x, line = zeros[rest], zero_lines[rest]
                square += x * x
                if one:
                    only += x * table[line, 0]
                else:
                    lines[count], entries[count] = line, x
                    count += 1
            length = _length(square) if unit else 1.0
            for k in range(outputs):
                total = only
                for q in range(count):
                    total += entries[q] * table[lines[q], k]
                out[i, k] = _over(total, length) + intercepts[k]
        return ordered == 1

    return margins


@njit(inline="always")
def _mapped(x, table, line, at, limits, kind, own):  # type: ignore[no-untyped-def]
    """An entry after the map; the numbers of its column begin at ``at``."""
    limit, bound, divisor = limits
    if kind == AS_IS:
        return x
    if kind == CUT:
        return _cut(x, table, line, at)
    if own == CENTRED and table[line, at + 2] > 0.0:
        return _centred(x, table, line, at, limit)
    if kind == PRESENCE:
        x = _presence(x)
    else:
        x = _within(x if own == NONE else x * table[line, at], -limit, limit)
        if kind == SQRT:
            x = _root(x)
        elif kind == BLEND:
            x = _blended(x, bound)
    return x / divisor if own == CENTRED and divisor != 1.0 else x


@njit(inline="always")
def _longest(indptr, first, last):  # type: ignore[no-untyped-def]
    found = np.int64(0)
    for i in range(first, last):
        found = max(found, np.int64(indptr[i + 1] - indptr[i]))
    return found


@njit(cache=True, nogil=True, error_model="numpy")
def dense_margins(rows, table, intercepts, kind, unit, limits, first, last, out):  # type: ignore[no-untyped-def]
    """The same for dense rows; ``table`` has a line for every column."""
    outputs, columns = intercepts.size, rows.shape[1]
    tile = np.zeros((min(columns, _COLUMNS), _ROWS))
    totals, lengths = np.empty((outputs, _ROWS)), np.empty(_ROWS)
    for begin in range(first, last, _ROWS):
        count = min(_ROWS, last - begin)
        lengths[:] = 0.0
        totals[:] = 0.0
        for left in range(0, columns, _COLUMNS):
            _load(rows, begin, count, left, table, outputs, kind, limits, tile)
            for c in range(min(_COLUMNS, columns - left)):
                entries, line = tile[np.uint64(c)], np.uint64(left + c)
                if unit:
                    for r in range(_ROWS):
                        lengths[r] += entries[r] * entries[r]
                for k in range(outputs):
                    weight, sums = table[line, np.uint64(k)], totals[np.uint64(k)]
                    for r in range(_ROWS):
                        sums[r] += entries[r] * weight
        for r in range(count):
            length = _length(lengths[r]) if unit else 1.0
            for k in range(outputs):
                out[begin + r, k] = _over(totals[k, r], length) + intercepts[k]


@njit(inline="always")
def _load(rows, begin, count, left, table, at, kind, limits, tile):  # type: ignore[no-untyped-def]
    """Write mapped entries to ``tile``, columns x rows."""
    width = min(_COLUMNS, rows.shape[1] - left)
    for r in range(count):
        for c in range(width):
            row, column = np.uint64(begin + r), np.uint64(left + c)
            tile[np.uint64(c), np.uint64(r)] = rows[row, column]
    for c in range(width):
        _map_column(tile[np.uint64(c)], table, np.uint64(left + c), at, kind, limits)


@njit(inline="always")
def _map_column(entries, table, line, at, kind, limits):  # type: ignore[no-untyped-def]
    """Map entries of one column as `sparse_margins` does, each map in a loop that vectorises."""
    limit, bound, divisor = limits
    own = table.shape[1] - at
    if kind == AS_IS:
        return
    if kind == CUT:
        for r in range(_ROWS):
            entries[r] = _cut(entries[r], table, line, at)
        return
    if own == CENTRED and table[line, at + 2] > 0.0:
        for r in range(_ROWS):
            entries[r] = _centred(entries[r], table, line, at, limit)
        return
    if kind == PRESENCE:
        for r in range(_ROWS):
            entries[r] = _presence(entries[r])
    else:
        stretch = 1.0 if own == NONE else table[line, at]
        for r in range(_ROWS):
            entries[r] = _within(entries[r] * stretch, -limit, limit)
        if kind == SQRT:
            for r in range(_ROWS):
                entries[r] = _root(entries[r])
        elif kind == BLEND:
            for r in range(_ROWS):
                entries[r] = _blended(entries[r], bound)
    if own == CENTRED and divisor != 1.0:
        for r in range(_ROWS):
            entries[r] /= divisor


@njit(inline="always")
def _line(columns, column):  # type: ignore[no-untyped-def]
    """The line of a column; the one after those of ``columns`` if it is not among them."""
    if columns is None:
        return np.uint64(column)
    low, high = 0, columns.size
    while low < high:
        middle = (low + high) >> 1
        if columns[middle] < column:
            low = middle + 1
        else:
            high = middle
    found = low < columns.size and columns[low] == column
    return np.uint64(low if found else columns.size)


@njit(inline="always")
def _length(square):  # type: ignore[no-untyped-def]
    """The length of a row; 1 for rows without entries, which stay so."""
    return math.sqrt(square) if square > 0.0 else 1.0


@njit(inline="always")
def _over(total, length):  # type: ignore[no-untyped-def]
    """The sum of a row divided by its length; 0 for rows that are too long for a number."""
    return total / length if length < math.inf else 0.0


@njit(inline="always")
def _cut(x, table, line, at):  # type: ignore[no-untyped-def]
    return _within(x, table[line, at], table[line, at + 1]) - table[line, at + 2]


@njit(inline="always")
def _centred(x, table, line, at, limit):  # type: ignore[no-untyped-def]
    x = _within(x * table[line, at], -limit, limit)
    cell = np.rint((x - table[line, at + 1]) / table[line, at + 2] * _CELL)
    cell = cell if cell > 0.0 else 0.0  # also what is not a number
    cell = _CELL if cell > _CELL else cell
    return cell * table[line, at + 3] + table[line, at + 4]


@njit(inline="always")
def _presence(x):  # type: ignore[no-untyped-def]
    return 1.0 if x != 0.0 else 0.0


@njit(inline="always")
def _root(x):  # type: ignore[no-untyped-def]
    return math.copysign(math.sqrt(abs(x)), x)


@njit(inline="always")
def _blended(x, bound):  # type: ignore[no-untyped-def]
    # Halve first: the sum of an entry and a bound near the largest double would overflow.
    return 0.5 * x + math.copysign(0.5 * bound, x) if x != 0.0 else 0.0


@njit(inline="always")
def _within(x, low, high):  # type: ignore[no-untyped-def]
    x = low if x < low else x
    return high if x > high else x
