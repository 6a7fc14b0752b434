"""The entries that a descent reads in every step, in an order that is quick to read."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.base import threads as pool
from dplasso.base.arrays import Ints
from dplasso.data.unit_rows import UnitRows
from dplasso.kernels import by_length
from dplasso.solvers.exact_margins import Matrix

# Columns that are longer on average are read where they are: copies would gain nothing.
LONG = 64
# Adding up a column takes as long as this many entries more than it has.
COLUMN = 3
# Columns from this number on have numbers of 64 bits.
MANY = 1 << 31
# Columns are copied anew once their entries are no more than this share of those that are held.
SHARE = 0.75


class HeldColumns:
    """Columns of unit rows, all or some: a copy sorted by length (`kernels/by_length.py`).

    Columns without entries are left out. Row numbers take 16 bits where that is enough. Sums of
    whole numbers do not depend on the order, so no result does.
    """

    matrix: Matrix  # starts, rows and values of the columns' entries
    columns: NDArray[Any] | None  # which columns these are; None if all, in their order
    are_all: bool  # whether none is missing

    def __init__(self, rows: UnitRows, columns: Ints | None, threads: int) -> None:
        self.matrix, self.columns = (rows.indptr, rows.indices, rows.values), None
        self.entries, self._asked, self._threads = int(rows.indptr[-1]), columns, threads
        if columns is not None or self.entries < LONG * rows.shape[1]:
            self._copy(rows, _with_entries(rows, columns, threads))
        self.are_all = len(self.matrix[0]) - 1 == rows.shape[1]
        self.edges: Ints = pool.edges_of_turns(self.matrix[0], threads, COLUMN)

    def serves(self, rows: UnitRows, columns: Ints | None) -> bool:
        """Whether these columns are all here, and not far fewer than these."""
        if columns is None:
            return self._asked is None
        runs = pool.even_runs(len(columns), self._threads)
        facts = (rows.indptr, columns, self._asked)
        found = pool.run(by_length.compare, [(*facts, *run) for run in runs])
        entries = sum(number for number, _ in found)
        return entries >= SHARE * self.entries and all(among for _, among in found)

    def _copy(self, rows: UnitRows, columns: Ints | None) -> None:
        before = _before(rows, columns, self._threads)
        self.entries, count = int(before[-1]), rows.shape[1] if columns is None else len(columns)
        small = rows.shape[0] <= 1 << 16
        order = np.empty(count, np.int32 if rows.shape[1] <= MANY else np.int64)
        starts = np.empty(count + 1, rows.indptr.dtype)
        copied = np.empty(self.entries, np.uint16 if small else rows.indices.dtype)
        values = None if rows.values is None else np.empty(self.entries, rows.values.dtype)
        given = (rows.indptr, rows.indices, rows.values, columns, before)
        runs = pool.even_runs(len(before) - 1, self._threads)
        made = (order, starts, copied, values)
        pool.run(by_length.copy_blocks, [(*given, *run, *made) for run in runs])
        starts[-1] = self.entries
        self.matrix, self.columns = (starts, copied, values), order


def _with_entries(rows: UnitRows, columns: Ints | None, threads: int) -> Ints | None:
    """Those of the columns that have entries; None for all."""
    count = rows.shape[1] if columns is None else len(columns)
    place = (rows.indptr, columns)
    runs = pool.even_runs(count, threads)
    found = pool.run(by_length.count_filled, [(*place, *run) for run in runs])
    if sum(found) == count:
        return columns
    filled = np.empty(sum(found), np.int64)
    parts = np.split(filled, np.cumsum(found)[:-1])
    calls = [(*place, *run, part) for run, part in zip(runs, parts, strict=True)]
    pool.run(by_length.list_filled, calls)
    return filled


def _before(rows: UnitRows, columns: Ints | None, threads: int) -> Ints:
    """Number of entries before each block of columns, and of all at the end."""
    count = rows.shape[1] if columns is None else len(columns)
    before = np.zeros(-(-count // by_length.BLOCK) + 1, np.int64)
    runs = pool.even_runs(len(before) - 1, threads)
    pool.run(by_length.lengths, [(rows.indptr, columns, *run, before[1:]) for run in runs])
    np.cumsum(before, out=before)
    return before
