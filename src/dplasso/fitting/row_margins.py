"""Margins of new rows: a reader and weights, as the arrays that compiled loops read."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from dplasso.base import threads
from dplasso.base.arrays import Floats, Ints
from dplasso.data.bounds import ColumnBounds
from dplasso.data.centring import centred_cells
from dplasso.data.clip_limit import clip_limit
from dplasso.data.merging import add_up, compressed
from dplasso.data.row_maps import held_bound, needs_bound
from dplasso.data.sparse_bounds import SparseBounds
from dplasso.data.structure import in_known_kind
from dplasso.data.table_cells import cells_between, scaled_ranges
from dplasso.data.used_columns import weights_at
from dplasso.fitting.row_reader import RowReader
from dplasso.kernels import prediction as kernels

_KINDS = {
    "as_is": kernels.CLIPPED,
    "presence": kernels.PRESENCE,
    "sqrt": kernels.SQRT,
    "blend": kernels.BLEND,
}
_FEW_ENTRIES = 1 << 18  # which one thread handles in about a millisecond


@dataclass(frozen=True, eq=False)
class RowMargins:
    """How the margins of new rows are computed; all of it is public.

    The margins of a row are a function of the row: neither other rows nor the way in which rows
    are stored can change them.
    """

    columns: Ints | None  # columns that have a line in the table, increasing; None for all
    table: Floats  # see `dplasso.kernels.prediction`
    intercepts: Floats
    kind: int
    unit_rows: bool
    limits: tuple[float, float, float]
    filled: Ints | None  # columns in which an entry of 0 counts

    @classmethod
    def of(
        cls,
        reader: RowReader,
        weights: sp.csr_array,
        intercepts: Floats,
        columns: Ints | None = None,
    ) -> "RowMargins":
        """Build the arrays for all columns, or for ``columns`` and one more for all others."""
        own = None if columns is None else np.append(columns, _absent(columns))
        if reader.reads_chosen:  # there are no others
            columns = own = np.unique(np.asarray(reader.chosen, np.int64))
        held = weights if columns is None else weights_at(weights, columns)
        numbers = _Numbers.of(reader, own)
        outputs, lines = held.shape[0], reader.n_features if own is None else len(own)
        table = np.zeros((lines, outputs + len(numbers.by_column)))
        table[: held.shape[1], :outputs] = held.toarray().T
        for place, numbers_of_columns in enumerate(numbers.by_column, outputs):
            table[:, place] = numbers_of_columns
        return cls(
            columns,
            table,
            intercepts + reader.zero_margins(weights),
            numbers.kind,
            reader.unit_rows,
            numbers.limits,
            numbers.filled if own is None or numbers.filled is None else own[numbers.filled],
        )

    def __call__(self, X: Any) -> Floats:
        """Margins of checked rows, rows x outputs."""
        return self._of_sparse(X) if sp.issparse(X) else self._of_dense(np.asarray(X))

    def _of_dense(self, X: Any) -> Floats:
        rows = in_known_kind(X if self.columns is None else X[:, self.columns])
        if rows.dtype not in (np.float32, np.float64):
            rows = rows.astype(np.float64)
        out = np.empty((len(rows), len(self.intercepts)))
        runs = threads.even_runs(len(rows), _threads(rows.size))
        given = (self.table, self.intercepts, self.kind, self.unit_rows, self.limits)
        threads.run(kernels.dense_margins, [(rows, *given, *run, out) for run in runs])
        return out

    def _of_sparse(self, X: Any) -> Floats:
        rows = compressed(X, "csr")
        if rows.dtype not in (np.float32, np.float64):
            rows = rows.astype(np.float64)
        out = np.empty((rows.shape[0], len(self.intercepts)))
        if not self._write(rows, out):  # entries are stored in another order, or repeated
            self._write(add_up(rows), out)
        return out

    def _write(self, rows: sp.csr_array, out: Floats) -> bool:
        """Write the margins, or return False if columns of a row are not in order."""
        starts = rows.indptr.astype(np.int64, copy=False)
        runs = threads.balanced_runs(starts, _threads(rows.nnz))
        given = (self.table, self.intercepts, self.unit_rows, self.limits, self.filled)
        calls = [(starts, rows.indices, rows.data, self.columns, *given, *run, out) for run in runs]
        loop = kernels.sparse_margins(self.kind, self.table.shape[1] - len(self.intercepts))
        return all(threads.run(loop, calls))


class _Numbers(NamedTuple):
    """The numbers by which entries are mapped."""

    kind: int
    by_column: tuple[Floats, ...] = ()
    filled: Ints | None = None  # places of columns in which an entry of 0 counts
    limits: tuple[float, float, float] = (0.0, 0.0, 1.0)

    @classmethod
    def of(cls, reader: RowReader, columns: Ints | None) -> "_Numbers":
        """Return the numbers of some columns, or of all."""
        count = reader.n_features if columns is None else len(columns)
        if reader.plain:
            return cls._of_plain(reader, columns, count)
        bounds = reader.bounds(columns)
        if not reader.centres:
            bounds = bounds.without_ranges
        elif bounds.ranges is None and reader.row_map == "as_is":
            return cls(kernels.AS_IS)
        kind, largest = _KINDS[reader.row_map], bounds.largest
        limit = clip_limit(largest)
        if bounds.ranges is not None:
            limits = limit, largest, held_bound(reader.row_map, largest)
            return cls(kind, *_centred(bounds, count), limits)
        stretched = bounds.stretch is not None and needs_bound(reader.row_map)
        by_column = (np.asarray(bounds.stretch),) if stretched else ()
        return cls(kind, by_column, limits=(limit, largest, 1.0))

    @classmethod
    def _of_plain(cls, reader: RowReader, columns: Ints | None, count: int) -> "_Numbers":
        if not reader.cuts:
            return cls(kernels.AS_IS)
        if isinstance(reader.x_bound, Real):
            _, high = reader.ends(np.zeros(1, np.int64), 1)
            return cls(kernels.CLIPPED, limits=(float(high[0]), 0.0, 1.0))
        low, high = reader.ends(columns, count)
        return cls(kernels.CUT, (low, high, np.clip(0.0, low, high)))


def _centred(bounds: ColumnBounds, count: int) -> tuple[tuple[Floats, ...], Ints]:
    """Numbers of columns of which some are centred, and those that are not 0 where entries are."""
    low, width = scaled_ranges(bounds, count)
    gain, shift = centred_cells(*bounds.ends(count))
    stretch = np.ones(count) if bounds.stretch is None else bounds.stretch
    centred = np.zeros(count, np.bool_)
    centred[bounds.ranged] = True
    at_zero = cells_between(np.zeros(count), bounds.largest, low, width, np.rint) * gain + shift
    numbers = stretch, low, np.where(centred, width, 0.0), gain, shift
    return numbers, np.flatnonzero(centred & (at_zero != 0.0))


def few_columns(reader: RowReader, weights: sp.csr_array) -> Ints | None:
    """The columns with weights or bounds of their own, if they are few; otherwise None.

    Every entry of a row is then searched for among them, which is slower than to have all columns,
    but memory does not grow with the number of columns.
    """
    used = np.unique(weights.indices).astype(np.int64)
    if isinstance(reader.x_bound, SparseBounds):
        used = np.union1d(used, reader.x_bound.listed)
    elif reader.reads_bounds and not isinstance(reader.x_bound, Real):
        return None  # there is a bound for every column anyway
    return used if 4 * len(used) < reader.n_features else None


def _absent(columns: Ints) -> int:
    """The first column that is not among these."""
    gaps = np.flatnonzero(columns != np.arange(len(columns)))
    return int(gaps[0]) if len(gaps) else len(columns)


def _threads(entries: int) -> int:
    return threads.available() if entries > _FEW_ENTRIES else 1
