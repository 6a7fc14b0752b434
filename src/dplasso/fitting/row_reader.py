"""The map of new rows before a model predicts them, the same as for the rows of its fit.

`dplasso.fitting.row_margins` applies it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dplasso.base.arrays import Floats, Ints
from dplasso.data import ColumnBounds
from dplasso.data.bounds import ranges_of, sizes_of
from dplasso.data.row_maps import held_bound, needs_bound
from dplasso.data.sparse_bounds import SparseBounds
from dplasso.fitting.request import XBound


@dataclass(frozen=True, eq=False)
class RowReader:
    """The map that a fitted model applies to every row; it uses only public facts and releases."""

    row_map: str  # see `dplasso.data.row_maps`
    n_features: int
    x_bound: XBound
    unit_rows: bool = False  # whether rows are scaled to length 1
    chosen: Ints | None = None  # the only columns that are read; None for all columns
    cuts: bool = False  # whether entries that are not mapped are cut to their column's bounds
    room: float = 1.0  # times these bounds
    # Whether columns with a range were centred and scaled by it for the fit. Rows that are mapped
    # or scaled are centred here, too; weights of plain rows are in the entries' own units instead.
    centres: bool = False

    @property
    def plain(self) -> bool:
        """Whether rows are not mapped, as in a plain linear model."""
        return self.row_map == "as_is" and not self.unit_rows

    @property
    def reads_chosen(self) -> bool:
        """Whether entries of other columns than ``chosen`` count as 0."""
        return self.chosen is not None and not self.plain

    @property
    def reads_bounds(self) -> bool:
        """Whether the map of an entry depends on the bounds of its column."""
        return self.cuts if self.plain else self.centres or needs_bound(self.row_map)

    def zero_margins(self, weights: sp.csr_array) -> Floats:
        """What a row of zeros adds to the intercepts: 0 may lie outside the range of a column."""
        if not (self.plain and self.cuts):
            return np.zeros(weights.shape[0])
        return self._margins_at(weights, lambda used: np.clip(0.0, *self.ends(used, len(used))))

    def middle_margins(self, weights: sp.csr_array) -> Floats:
        """What a row in the middle of all ranges adds to the intercepts of a plain model."""
        if not (self.plain and self.centres):
            return np.zeros(weights.shape[0])
        return self._margins_at(weights, lambda used: self.bounds(used).scales(len(used))[0])

    def _margins_at(self, weights: sp.csr_array, row: Callable[[Ints], Floats]) -> Floats:
        """Margins of a row, of which ``row`` gives the entries in some columns."""
        # Not by slices of the weights, which would take memory for all columns.
        used, places = np.unique(weights.indices, return_inverse=True)
        entries = row(used)
        outputs = np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))
        found = np.bincount(outputs, weights.data * entries[places], weights.shape[0])
        return np.asarray(found, np.float64)

    def ends(self, columns: Ints | None, count: int) -> tuple[Floats, Floats]:
        """Ends to which entries of ``count`` columns are cut, if they are."""
        low, high = self.bounds(columns).ends(count)
        return low * self.room, high * self.room

    def bounds(self, columns: Ints | None = None) -> ColumnBounds:
        """Return the bounds of all columns, or of ``columns``."""
        return ColumnBounds.of(self.x_bound, self.n_features, None, columns)

    @property
    def largest(self) -> float:
        """The largest entry that a mapped row can have before it is scaled."""
        if self.centres:
            return 1.0
        ranges = ranges_of(self.x_bound)
        bound = np.max(self.x_bound if ranges is None else sizes_of(ranges))
        return held_bound(self.row_map, float(bound))

    @property
    def bounds_by_column(self) -> Floats | SparseBounds | None:
        """One bound per column; None if all are equal, or if weights do not depend on them.

        Weights of mapped rows are for columns that share one bound. The bound of a column that was
        centred is the size of its range (`dplasso.data.range_scales`).
        """
        if not self.plain:
            return None
        if self.centres:
            return self._sizes()
        if isinstance(self.x_bound, SparseBounds):
            return None if self.x_bound.min() == self.x_bound.max() else self.x_bound
        found = self.bounds()
        return None if found.stretch is None else found.largest / found.stretch

    def _sizes(self) -> Floats | SparseBounds | None:
        """By how much entries were divided, column by column; None if by 1."""
        if isinstance(self.x_bound, SparseBounds):
            return self.x_bound.with_sizes_of_ranges()
        _, sizes = self.bounds().scales(self.n_features)
        return None if np.all(sizes == 1.0) else sizes
