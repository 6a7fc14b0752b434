"""The one form in which the engine holds a data matrix."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso import threads
from dplasso.kernels import columns as kernels


@dataclass(frozen=True)
class ColumnMatrix:
    """A column-compressed matrix, checked and clipped.

    Rows of every column are distinct and in order, entries are finite and of size at most
    ``x_bound``. ``values`` is None where every stored entry is 1. Where the given matrix already
    has this form its arrays are used as they are, without a copy, and are never written to.

    >>> import scipy.sparse as sp
    >>> matrix = ColumnMatrix.of(sp.csr_array([[1.0, 0.0], [1.0, 3.0]]), x_bound=2.0)
    >>> matrix.shape, matrix.values.tolist()
    ((2, 2), [1.0, 1.0, 2.0])
    """

    indptr: NDArray[Any]
    indices: NDArray[Any]
    values: NDArray[Any] | None
    shape: tuple[int, int]
    x_bound: float

    @classmethod
    def of(cls, X: Any, x_bound: float = 1.0) -> "ColumnMatrix":
        """Check ``X`` (sparse in any format, or dense), clip it to ``x_bound`` and hold it."""
        if isinstance(X, ColumnMatrix):
            if X.x_bound > x_bound:
                raise ValueError(
                    "X was clipped to a larger x_bound; build its ColumnMatrix with this one"
                )
            return X
        if not (isinstance(x_bound, int | float) and 0 < x_bound < math.inf):
            raise ValueError(
                f"x_bound must be a positive finite number, got {x_bound!r}; "
                "give the public bound that entries are clipped to"
            )
        compressed, ours = _compressed(X)
        indptr, indices, values = compressed.indptr, compressed.indices, compressed.data
        rows, columns = compressed.shape
        _check_shape(rows, columns, indptr, indices, values)
        found = _inspect(indptr, indices, values, rows, x_bound)
        if found & kernels.BAD_ROW:
            raise ValueError("X has row indices outside its shape; rebuild the sparse matrix")
        if found & kernels.NOT_FINITE:
            raise ValueError("X holds NaN or infinity; impute or remove those entries first")
        if found & kernels.UNORDERED:
            merged = compressed if ours else compressed.copy()
            merged.has_canonical_format = False
            merged.sum_duplicates()
            indptr, indices, values, ours = merged.indptr, merged.indices, merged.data, True
            found = _inspect(indptr, indices, values, rows, x_bound)
        if not found & kernels.NOT_ONE and x_bound >= 1:
            values = None
        elif found & kernels.OUT_OF_BOUND:
            values = np.clip(values, -x_bound, x_bound, out=values if ours else None)
        return cls(indptr, indices, values, (rows, columns), float(x_bound))

    @property
    def entries(self) -> int:
        """Number of stored entries."""
        return int(self.indptr[-1])

    def product(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Margins: the matrix times ``weights`` (columns x outputs)."""
        values = np.ones(self.entries, np.int8) if self.values is None else self.values
        matrix = sp.csc_array((values, self.indices, self.indptr), shape=self.shape)
        product: NDArray[np.float64] = matrix @ weights
        return product


def _compressed(X: Any) -> tuple[Any, bool]:
    """``X`` as a csc_array with float or one-byte entries, and whether its arrays are ours."""
    if sp.issparse(X):
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, got {X.ndim}; reshape it first")
        compressed, ours = sp.csc_array(X), X.format != "csc"
    else:
        dense = np.asarray(X)
        if dense.ndim != 2:
            raise ValueError(f"X must have two dimensions, got {dense.ndim}; reshape it first")
        if dense.dtype.kind not in "fiub":
            raise ValueError(f"X must hold real numbers, got {dense.dtype}; encode it first")
        compressed, ours = sp.csc_array(dense), True
    kind = compressed.dtype
    if kind.kind not in "fiub":
        raise ValueError(f"X must hold real numbers, got {kind}; encode it first")
    if kind not in (np.float32, np.float64):
        # Small integers are exact in single precision.
        wanted = np.float32 if kind.itemsize <= 2 else np.float64
        compressed, ours = compressed.astype(wanted), True
    return compressed, ours


def _check_shape(
    rows: int, columns: int, indptr: NDArray[Any], indices: NDArray[Any], values: NDArray[Any]
) -> None:
    if rows < 1 or columns < 1:
        raise ValueError("X is empty; it needs at least one row and one column")
    sound = len(indptr) == columns + 1 and indptr[0] == 0 and np.all(indptr[1:] >= indptr[:-1])
    if not (sound and indptr[-1] <= min(len(indices), len(values))):
        raise ValueError("X has column pointers that do not fit its entries; rebuild it")


def _inspect(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    values: NDArray[Any] | None,
    rows: int,
    x_bound: float,
) -> int:
    found = 0
    calls = [
        (indptr, indices, values, rows, float(x_bound), first, last)
        for first, last in threads.balanced_runs(indptr, threads.available())
    ]
    for part in threads.run(kernels.inspect, calls):
        found |= part
    return found
