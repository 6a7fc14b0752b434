"""The cells of a table: entries as whole shares of their public range."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso.base.arrays import Floats
from dplasso.data.bounds import ColumnBounds
from dplasso.data.clip_limit import clipped_in_place
from dplasso.data.columns import ColumnMatrix
from dplasso.data.merging import merged
from dplasso.kernels.table import CELL_BITS

CELL = 1 << CELL_BITS
_BLOCK = 1 << 16  # rows that are converted at a time
# Weights are divided by the width of a range; that of a narrower one could be infinite.
NARROWEST = 1e-290


def table_cells(X: Any, bounds: ColumnBounds) -> NDArray[np.int32]:
    """Entries between the ends of their column's range, as whole numbers from 0 to 2^24.

    Parameters
    ----------
    X : array, sparse matrix or ColumnMatrix, rows x columns
        Checked rows. A NaN would count as the low end of its range.
    bounds : ColumnBounds
        Public ranges of the columns.

    Formal guarantees
    -----------------
    A cell is a function of its entry (of all values given for its place, if there are several) and
    of the range of its column. It does not depend on other rows, nor on how ``X`` is stored.

    >>> table_cells(np.array([[-1.0, 0.0], [9.0, 0.5]]), ColumnBounds(1.0, None)).tolist()
    [[0, 8388608], [16777216, 12582912]]
    """
    low, width = _scale(bounds, X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(X, ColumnMatrix) or sp.issparse(X):
            return _of_columns(X, bounds, low, width)
        out = np.empty(X.shape, np.int32)
        for begin in range(0, len(X), _BLOCK):
            entries = np.array(X[begin : begin + _BLOCK], np.float64)
            if bounds.stretch is not None:
                entries *= bounds.stretch
            out[begin : begin + _BLOCK] = _cells(entries, bounds.largest, low, width)
    return out


def _of_columns(X: Any, bounds: ColumnBounds, low: Floats, width: Floats) -> NDArray[np.int32]:
    held = bounds.apply(X)
    if not isinstance(held, ColumnMatrix):
        held = merged(held, "csc")
    values = held.values if isinstance(held, ColumnMatrix) else held.data
    out = np.empty(held.shape, np.int32)
    out[:] = _cells(np.zeros(held.shape[1]), bounds.largest, low, width)
    for j, (first, last) in enumerate(zip(held.indptr[:-1], held.indptr[1:], strict=True)):
        entries = np.ones(last - first) if values is None else np.array(values[first:last], float)
        out[held.indices[first:last], j] = _cells(entries, bounds.largest, low[j], width[j])
    return out


def _scale(bounds: ColumnBounds, columns: int) -> tuple[Floats, Floats]:
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


def _cells(entries: Floats, largest: float, low: Any, width: Any) -> Floats:
    cells: Floats = np.floor((clipped_in_place(entries, largest) - low) / width * CELL)
    # The maximum of a NaN and 0 is 0: no entry can leave the range of a cell.
    return np.fmin(np.fmax(cells, 0.0), CELL)
