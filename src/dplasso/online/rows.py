"""Rows as they come in, dense or sparse, and their clipped gradients: nothing else sees them."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from dplasso.base.arrays import Floats
from dplasso.data.merging import merged
from dplasso.kernels import row_steps
from dplasso.online.running_sum import SparseVector

_COMPLAINTS = {
    row_steps.NOT_FINITE: "rows hold NaN or infinity; remove or impute those rows first",
    row_steps.OUT_OF_RANGE: "rows hold a column outside the weights; declare all columns",
    row_steps.OUT_OF_ORDER: "rows must name their columns once each, in rising order; sort them",
}


class Clipping(NamedTuple):
    """Which loss, its own number, and the length that a row's gradient is clipped to."""

    loss: int
    shape: float
    clip: float


class Rows(ABC):
    """Checked rows.

    Formal guarantees
    -----------------
    `step` is a row's gradient, `steps` those of all rows; each is a function of that row, its
    label and the weights, and of length ``clip`` at most.
    """

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def margins(self, weights: Floats) -> Floats:
        """Product of every row with the weights."""

    @abstractmethod
    def step(
        self, i: int, weights: Floats, label: float, clipping: Clipping
    ) -> tuple[float, Floats | SparseVector]:
        """Margin and clipped gradient of row i."""

    @abstractmethod
    def steps(
        self, weights: Floats, labels: Floats, clipping: Clipping
    ) -> tuple[Floats, Floats | sp.csr_array]:
        """Margins and clipped gradients of all rows, at the same weights."""


class DenseRows(Rows):
    """Rows of an array."""

    def __init__(self, values: Floats) -> None:
        if not row_steps.all_finite(values.ravel()):
            raise ValueError(_COMPLAINTS[row_steps.NOT_FINITE])
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def margins(self, weights: Floats) -> Floats:
        margins: Floats = self._values @ weights
        return margins

    def step(
        self, i: int, weights: Floats, label: float, clipping: Clipping
    ) -> tuple[float, Floats | SparseVector]:
        gradient = np.empty(len(weights))
        margin = row_steps.dense_step(weights, self._values[i], label, *clipping, gradient)
        return margin, gradient

    def steps(
        self, weights: Floats, labels: Floats, clipping: Clipping
    ) -> tuple[Floats, Floats | sp.csr_array]:
        margins, gradients = np.empty(len(labels)), np.empty_like(self._values)
        row_steps.dense_steps(weights, self._values, labels, *clipping, margins, gradients)
        return margins, gradients


class SparseRows(Rows):
    """Row-compressed rows."""

    def __init__(self, indptr: Any, indices: Any, values: Floats, dimension: int) -> None:
        finding = row_steps.look_at_sparse(indptr, indices, values, dimension)
        if finding != row_steps.FINE:
            raise ValueError(_COMPLAINTS[finding])
        self._parts = (indptr, indices, values)

    def __len__(self) -> int:
        return len(self._parts[0]) - 1

    def margins(self, weights: Floats) -> Floats:
        margins = np.empty(len(self))
        row_steps.sparse_margins(weights, *self._parts, margins)
        return margins

    def step(
        self, i: int, weights: Floats, label: float, clipping: Clipping
    ) -> tuple[float, Floats | SparseVector]:
        indptr, indices, values = self._parts
        mine = slice(indptr[i], indptr[i + 1])
        row = indices[mine]
        gradient = np.empty(len(row))
        margin = row_steps.sparse_step(weights, row, values[mine], label, *clipping, gradient)
        return margin, (row, gradient)

    def steps(
        self, weights: Floats, labels: Floats, clipping: Clipping
    ) -> tuple[Floats, Floats | sp.csr_array]:
        indptr, indices, values = self._parts
        margins, gradients = np.empty(len(labels)), np.empty(len(values))
        row_steps.sparse_steps(weights, *self._parts, labels, *clipping, margins, gradients)
        shape = (len(labels), len(weights))
        return margins, sp.csr_array((gradients, indices, indptr), shape=shape)


def rows_of(rows: Any, dimension: int) -> Rows:
    """Rows from a dense array (one row may be a vector), a sparse matrix, or one row's
    (indices, values)."""
    if isinstance(rows, tuple):
        return _one_sparse(rows, dimension)
    if sp.issparse(rows):
        _check_width(rows.shape[-1], dimension)
        found = merged(rows, "csr", "rows")
        values = found.data.astype(np.float64, copy=False)
        return SparseRows(found.indptr, found.indices, values, dimension)
    values = np.ascontiguousarray(rows, np.float64)
    values = values[None, :] if values.ndim == 1 else values
    if values.ndim != 2:
        raise ValueError(f"rows must have one or two dimensions, got {values.ndim}")
    _check_width(values.shape[1], dimension)
    return DenseRows(values)


def _one_sparse(row: tuple[Any, ...], dimension: int) -> SparseRows:
    if len(row) != 2:
        raise ValueError(f"rows given as a tuple must be (indices, values), got {len(row)} parts")
    indices, values = np.asarray(row[0]), np.ascontiguousarray(row[1], np.float64)
    if indices.ndim != 1 or indices.shape != values.shape or indices.dtype.kind not in "iu":
        raise ValueError("indices must be whole numbers, one for every one of values")
    if not np.all((indices >= 0) & (indices < dimension)):  # before a cast could wrap one
        raise ValueError(_COMPLAINTS[row_steps.OUT_OF_RANGE])
    indptr = np.array([0, len(indices)], np.int32)
    return SparseRows(indptr, np.ascontiguousarray(indices, np.int32), values, dimension)


def _check_width(width: int, dimension: int) -> None:
    if width != dimension:
        raise ValueError(f"rows must have {dimension} columns like the weights, got {width}")
