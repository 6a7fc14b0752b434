"""The cells of wide columns, which are mostly those of an entry of 0, stored by column."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplasso.base.arrays import Ints
from dplasso.data.bounds import ColumnBounds
from dplasso.data.table_cells import cells_of_columns


@dataclass(frozen=True, eq=False)
class WideCells:
    """Cells that differ from the cell of 0 of their column; such a column is present in a row."""

    n_rows: int
    at_zero: NDArray[np.int32]  # one cell per column
    indptr: Ints
    indices: NDArray[Any]  # rows, increasing within a column
    cells: NDArray[np.int32]

    @classmethod
    def of(cls, X: Any, bounds: ColumnBounds, columns: ArrayLike) -> "WideCells":
        """The cells of the given columns of checked rows, which must be increasing.

        Formal guarantees
        -----------------
        Those of `dplasso.data.table_cells.table_cells`: whether a column is present in a row, and
        its cell there, are functions of the entry and of the column's range. It takes memory for
        the nonzero entries and the columns.

        >>> found = WideCells.of(np.array([[0.0, 2.0], [0.0, 0.5]]), ColumnBounds(1.0, None), [1])
        >>> found.columns([0]).tolist(), found.indices.tolist()
        ([[16777216], [12582912]], [0, 1])
        """
        held, cells, at_zero = cells_of_columns(X, bounds)
        columns = np.asarray(columns)
        own = np.zeros(held.shape[1], bool)
        own[columns] = True
        of_column = np.repeat(np.arange(held.shape[1]), np.diff(held.indptr))
        kept = own[of_column] & (cells != at_zero[of_column])
        present = np.bincount(of_column[kept], minlength=held.shape[1])[columns]
        indptr = np.concatenate([[0], np.cumsum(present)]).astype(np.int64)
        rows = np.asarray(held.indices)[kept]
        return cls(held.shape[0], at_zero[columns], indptr, rows, cells[kept])

    @property
    def is_sound(self) -> bool:
        """Whether rows exist, and increase within each column."""
        starts, rows = np.asarray(self.indptr), np.asarray(self.indices)
        if starts[0] != 0 or np.any(np.diff(starts) < 0) or starts[-1] != len(rows):
            return False
        if len(self.cells) != len(rows) or len(starts) != len(self.at_zero) + 1:
            return False
        if len(rows) and not 0 <= rows.min() <= rows.max() < self.n_rows:
            return False
        first = np.zeros(len(rows) + 1, bool)
        first[starts] = True
        return bool(np.all((np.diff(rows) > 0) | first[1:-1]))

    def columns(self, taken: Sequence[int]) -> NDArray[np.int32]:
        """Some of the columns, by their numbers among these, with all of their cells."""
        found = np.empty((self.n_rows, len(taken)), np.int32)
        for place, j in enumerate(taken):
            among = slice(self.indptr[j], self.indptr[j + 1])
            found[:, place] = self.at_zero[j]
            found[self.indices[among], place] = self.cells[among]
        return found

    def of_rows(self, rows: slice) -> "WideCells":
        """The same columns of some consecutive rows."""
        first, last, _ = rows.indices(self.n_rows)
        kept = (self.indices >= first) & (self.indices < last)
        before = np.concatenate([[0], np.cumsum(kept)])
        indices, cells = self.indices[kept] - first, self.cells[kept]
        return WideCells(last - first, self.at_zero, before[self.indptr], indices, cells)
