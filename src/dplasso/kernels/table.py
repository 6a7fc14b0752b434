"""Sums over the rows of a dense table of whole cells, and the scaling of its rows.

Every row contributes a whole vector that is a function of this row and of public numbers. Limits on
the length of such a vector hold exactly: they are checked on the whole numbers that are added, and
a vector that rounding made too long counts as 0. The vector of a row with a weight is multiplied by
it and rounded towards 0; ``weights`` is None where every row counts fully.
"""

import math

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import entry
from dplasso.kernels.row_weights import square_within

CELL_BITS = 24
CELL = float(1 << CELL_BITS)  # a cell lies between 0 and this number
_SAFE = 1.0 - 2.0**-40  # covers the rounding of a length, its inverse and a product


@njit(cache=True, nogil=True, error_model="numpy")
def cell_sums(cells, weights, first, last):  # type: ignore[no-untyped-def]
    """Sums over rows of the mean cell and of the mean squared cell, each rounded down."""
    columns = cells.shape[1]
    means, squares = np.int64(0), np.int64(0)
    for i in range(first, last):
        total, square = np.int64(0), np.int64(0)
        for j in range(columns):
            cell = np.int64(cells[i, j])
            total += cell
            square += (cell * cell) >> CELL_BITS
        weight = entry(weights, i)
        means += np.int64((total // columns) * weight)
        squares += np.int64((square // columns) * weight)
    return np.array([means, squares])


@njit(cache=True, nogil=True, error_model="numpy")
def mean_sums(cells, weights, centre, length, first, last):  # type: ignore[no-untyped-def]
    """Sums of the cells less ``centre``, every row cut to the whole 2-norm ``length``."""
    columns = cells.shape[1]
    sums, row = np.zeros(columns, np.int64), np.empty(columns, np.int64)
    for i in range(first, last):
        for j in range(columns):
            row[j] = np.int64(cells[i, j]) - centre
        _add_cut(row, length, entry(weights, i), sums)
    return sums


@njit(cache=True, nogil=True, error_model="numpy")
def spread_sums(cells, weights, centres, length, first, last):  # type: ignore[no-untyped-def]
    """Sums of the squared distances of cells from ``centres``, every row cut to ``length``."""
    columns = cells.shape[1]
    sums, row = np.zeros(columns, np.int64), np.empty(columns, np.int64)
    for i in range(first, last):
        for j in range(columns):
            distance = np.int64(cells[i, j]) - centres[j]
            row[j] = (distance * distance) >> CELL_BITS
        _add_cut(row, length, entry(weights, i), sums)
    return sums


@njit(inline="always")
def _add_cut(row, length, weight, sums):  # type: ignore[no-untyped-def]
    """Add a whole row, shortened to ``length`` if it is longer, times its weight."""
    square = np.int64(0)
    for j in range(row.size):
        square += row[j] * row[j]
    factor = weight
    if square > length * length:
        factor *= length * _SAFE / math.sqrt(np.float64(square))
    if factor != 1.0:
        square = np.int64(0)
        for j in range(row.size):
            row[j] = np.int64(row[j] * factor)
            square += row[j] * row[j]
    if square <= square_within(length * length, weight):
        for j in range(row.size):
            sums[j] += row[j]


@njit(cache=True, nogil=True, error_model="numpy")
def range_cells(entries, stretch, limit, low, width, nearest, out):  # type: ignore[no-untyped-def]
    """Write the cells of dense entries: shares of the width of their column's range, rounded.

    Entries are stretched and clipped first. They are rounded down, or if ``nearest`` to the nearest
    cell; what is not a number counts as the low end.
    """
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            x = np.float64(entries[i, j]) * stretch[j]
            x = -limit if x < -limit else x
            x = limit if x > limit else x
            share = (x - low[j]) / width[j] * CELL
            cell = np.rint(share) if nearest else np.floor(share)
            cell = cell if cell > 0.0 else 0.0
            out[i, j] = np.int32(cell if cell < CELL else CELL)


@njit(cache=True, nogil=True, error_model="numpy")
def standardise(cells, centres, factors, rule, first, last, rows, ratios):  # type: ignore[no-untyped-def]
    """Write the standardised rows, scaled to whole vectors, and their margins' factors.

    ``rule`` holds the length to which rows are scaled, the largest length that a margin sees, the
    largest factor by which a row is lengthened, and the whole number of that first length.
    A row of ``rows`` has a 2-norm of at most that number. Its entry in ``ratios`` is the length
    that margins see over the length that the row was scaled to.
    """
    length, longest, lengthened, unit = rule
    columns = cells.shape[1]
    row = np.empty(columns)
    limit = np.int64(unit) * np.int64(unit)
    for i in range(first, last):
        square = 0.0
        for j in range(columns):
            row[j] = np.float64(np.int64(cells[i, j]) - centres[j]) * factors[j]
            square += row[j] * row[j]
        size = math.sqrt(square)
        scaled = min(lengthened * size, length)
        factor = scaled / length * unit * _SAFE / size
        if not (0.0 < size < math.inf and 0.0 < factor < math.inf):
            rows[i, :] = 0
            ratios[i] = 0.0
            continue
        whole = np.int64(0)
        for j in range(columns):
            rows[i, j] = np.int32(row[j] * factor)
            whole += np.int64(rows[i, j]) * np.int64(rows[i, j])
        ratios[i] = min(size, longest) / scaled
        if whole > limit:
            rows[i, :] = 0


@njit(cache=True, nogil=True, error_model="numpy")
def row_margins(rows, weights, ratios, unit, intercept, out):  # type: ignore[no-untyped-def]
    """Write the margins of whole rows: products with whole weights, which fit into 64 bits."""
    for i in range(out.size):
        product = np.int64(0)
        for j in range(weights.size):
            product += np.int64(rows[i, j]) * weights[j]
        out[i] = np.float64(product) * ratios[i] * unit + intercept


@njit(cache=True, nogil=True, error_model="numpy")
def add_rows(rows, residuals, sums):  # type: ignore[no-untyped-def]
    """Add every whole row times its whole residual, which must fit into 32 bits."""
    for i in range(residuals.size):
        residual = np.int64(np.int32(residuals[i]))
        for j in range(sums.size):
            sums[j] += np.int64(rows[i, j]) * residual
