"""The map of new rows before a model predicts them, the same as for the rows of its fit."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from dplasso.base.arrays import Floats, Ints
from dplasso.data import ColumnBounds
from dplasso.data.bounds import ranges_of, sizes_of
from dplasso.data.merging import merged
from dplasso.data.row_maps import clipped, held_bound, only_columns, row_view, unit_length
from dplasso.data.sparse_bounds import SparseBounds
from dplasso.data.used_columns import places_in
from dplasso.fitting.request import XBound


@dataclass(frozen=True, eq=False)
class RowReader:
    """The map that a fitted model applies to every row; it uses only public facts and releases."""

    row_map: str  # see `dplasso.data.row_maps`
    n_features: int
    x_bound: XBound
    unit_rows: bool = False  # whether rows are scaled to length 1
    chosen: Ints | None = None  # the only columns that are read; None for all columns
    cuts: bool = False  # whether entries that are not mapped are cut to their column's range

    @property
    def plain(self) -> bool:
        """Whether rows are not mapped, as in a plain linear model."""
        return self.row_map == "as_is" and not self.unit_rows

    def apply(self, X: Any, columns: Ints | None = None) -> Any:
        """Map rows as the rows of the fit were mapped.

        ``columns`` are the numbers of the columns of ``X``, if it does not have all of them.
        """
        if self.plain and self.cuts:
            return _above_zero(X, *self.bounds(columns).ends(X.shape[1]))
        if self.plain:
            # scipy would add repeated entries in the precision of the matrix.
            return merged(X, "csr") if sp.issparse(X) and X.format == "coo" else X
        bounds = self.bounds(columns)
        if self.row_map == "as_is":
            found = clipped(bounds.apply(X), bounds.largest)
        else:
            found, _ = row_view(X, self.row_map, bounds)
        if self.chosen is not None:
            found = only_columns(found, self._chosen_among(columns, self.chosen))
        return unit_length(found) if self.unit_rows else found

    def zero_margins(self, weights: sp.csr_array) -> Floats:
        """What a row of zeros adds to the intercepts: 0 may lie outside the range of a column."""
        if not (self.plain and self.cuts):
            return np.zeros(weights.shape[0])
        # Not by slices of the weights, which would take memory for all columns.
        used, places = np.unique(weights.indices, return_inverse=True)
        zero = np.clip(0.0, *self.bounds(used).ends(len(used)))
        outputs = np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))
        found = np.bincount(outputs, weights.data * zero[places], weights.shape[0])
        return np.asarray(found, np.float64)

    def bounds(self, columns: Ints | None = None) -> ColumnBounds:
        """Return the bounds of all columns, or of ``columns``."""
        return ColumnBounds.of(self.x_bound, self.n_features, None, columns)

    @property
    def largest(self) -> float:
        """The largest entry that a mapped row can have before it is scaled."""
        ranges = ranges_of(self.x_bound)
        bound = np.max(self.x_bound if ranges is None else sizes_of(ranges))
        return held_bound(self.row_map, float(bound))

    @property
    def bounds_by_column(self) -> Floats | SparseBounds | None:
        """One bound per column; None if all are equal, or if weights do not depend on them.

        Weights of mapped rows are for columns that share one bound.
        """
        if not self.plain:
            return None
        if isinstance(self.x_bound, SparseBounds):
            return None if self.x_bound.min() == self.x_bound.max() else self.x_bound
        found = self.bounds()
        return None if found.stretch is None else found.largest / found.stretch

    @staticmethod
    def _chosen_among(columns: Ints | None, chosen: Ints) -> Ints:
        if columns is None:
            return chosen
        places, known = places_in(chosen, columns)
        return places[known]


def _above_zero(X: Any, low: Floats, high: Floats) -> Any:
    """Entries cut to their ranges, less what an entry of 0 is cut to: sparse rows stay sparse."""
    zero = np.clip(0.0, low, high)
    if not sp.issparse(X):
        return np.clip(X, low, high) - zero
    found = merged(X, "csr")
    at = found.indices
    entries = np.clip(found.data, low[at], high[at]) - zero[at]
    return sp.csr_array((entries, at, found.indptr), shape=found.shape)
