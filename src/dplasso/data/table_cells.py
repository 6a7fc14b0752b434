"""The cells of a table: entries as whole shares of their public range."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso.base import threads
from dplasso.base.arrays import Floats, Ints
from dplasso.data.bounds import ColumnBounds
from dplasso.data.clip_limit import clip_limit, clipped_in_place
from dplasso.data.columns import ColumnMatrix
from dplasso.data.merging import merged
from dplasso.kernels import table as kernels

Rounding = Callable[[Any], Any]
CELL = 1 << kernels.CELL_BITS
_BLOCK = 1 << 16  # rows that are converted at a time
# Weights are divided by the width of a range; that of a narrower one could be infinite.
NARROWEST = 1e-290


def table_cells(
    X: Any, bounds: ColumnBounds, columns: Ints | None = None, rounded: Rounding = np.floor
) -> NDArray[np.int32]:
    """Entries between the ends of their column's range, as whole numbers from 0 to 2^24.

    ``X`` has checked rows, or is a ColumnMatrix; a NaN would count as the low end of its range.
    ``columns`` are the ones to convert, increasing; all by default. ``rounded`` is
    `numpy.floor` or `numpy.rint`.

    Formal guarantees
    -----------------
    A cell is a function of its entry (of all values given for its place, if there are several) and
    of the range of its column. It does not depend on other rows, nor on how ``X`` is stored.

    >>> table_cells(np.array([[-1.0, 0.0], [9.0, 0.5]]), ColumnBounds(1.0, None)).tolist()
    [[0, 8388608], [16777216, 12582912]]
    """
    if columns is not None and len(columns) == X.shape[1]:
        columns = None
    own = np.arange(X.shape[1]) if columns is None else np.asarray(columns)
    if isinstance(X, ColumnMatrix) or sp.issparse(X):
        held, cells, at_zero = cells_of_columns(X, bounds, rounded)
        out = np.empty((held.shape[0], len(own)), np.int32)
        out[:] = at_zero[own]
        for place, j in enumerate(own):
            among = slice(held.indptr[j], held.indptr[j + 1])
            out[held.indices[among], place] = cells[among]
        return out
    out = np.empty((len(X), len(own)), np.int32)
    low, width = (numbers[own] for numbers in scaled_ranges(bounds, X.shape[1]))
    stretch = np.ones(len(own)) if bounds.stretch is None else bounds.stretch[own]
    facts = stretch, clip_limit(bounds.largest), low, width, rounded is np.rint

    def write(first: int, last: int) -> None:
        for begin in range(first, last, _BLOCK):
            end = min(begin + _BLOCK, last)
            entries = X[begin:end] if columns is None else X[begin:end, own]
            if entries.dtype not in (np.float32, np.float64):
                entries = entries.astype(np.float64)
            kernels.range_cells(entries, *facts, out[begin:end])

    threads.run(write, threads.even_runs(len(X), threads.worth(out.size)))
    return out


def cells_of_columns(
    X: Any, bounds: ColumnBounds, rounded: Rounding = np.floor
) -> tuple[Any, NDArray[np.int32], NDArray[np.int32]]:
    """Nonzero entries stored by column, the cell of each of them, and the cell of 0 by column."""
    low, width = scaled_ranges(bounds, X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        held = bounds.apply(X)
        if not isinstance(held, ColumnMatrix):
            held = merged(held, "csc")
        values = held.values if isinstance(held, ColumnMatrix) else held.data
        columns = np.repeat(np.arange(held.shape[1]), np.diff(held.indptr))
        entries = np.ones(len(columns)) if values is None else np.array(values, np.float64)
        cells = cells_between(entries, bounds.largest, low[columns], width[columns], rounded)
        at_zero = cells_between(np.zeros(held.shape[1]), bounds.largest, low, width, rounded)
    return held, cells.astype(np.int32), at_zero.astype(np.int32)


def scaled_ranges(bounds: ColumnBounds, columns: int) -> tuple[Floats, Floats]:
    """Low end and width of every stretched column; the width is infinite where both ends meet.

    Every cell of such a column is then 0.
    """
    low, high = bounds.ends(columns)
    with np.errstate(over="ignore"):
        narrow = (high > low) & (high - low < NARROWEST)
        if bounds.stretch is not None:
            low, high = low * bounds.stretch, high * bounds.stretch
        width = high - low
    if np.any(narrow) or not np.all(np.isfinite(width)):
        raise ValueError(
            f"x_bound has a range that is narrower than {NARROWEST:g}, or wider than a number can "
            "be; rescale X first"
        )
    return low, np.where(width > 0.0, width, np.inf)


def cells_between(
    entries: Floats, largest: float, low: Any, width: Any, rounded: Rounding
) -> Floats:
    """Cells of stretched entries, which change, by the low ends and widths of `scaled_ranges`."""
    cells: Floats = rounded((clipped_in_place(entries, largest) - low) / width * CELL)
    # The maximum of a NaN and 0 is 0: no entry can leave the range of a cell.
    return np.fmin(np.fmax(cells, 0.0), CELL)
