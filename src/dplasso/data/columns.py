"""The one form in which the engine holds a data matrix."""

import contextlib
import math
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso import threads
from dplasso.kernels import columns as kernels
from dplasso.kernels import transpose

_LARGE = 1 << 20  # entries from which on two threads turn a matrix sooner than scipy's one
MOST_ROWS = (1 << 27) - 1  # what a column's score, a sum of whole numbers, has room for


@dataclass(frozen=True)
class ColumnMatrix:
    """A column-compressed matrix, checked and clipped.

    Rows of every column are distinct and in order, entries are finite and of size at most
    ``x_bound``; row numbers take 32 bits. ``values`` is None where every stored entry is 1, else
    ``norm1`` has the 1-norm of every column, over ``x_bound`` and rounded up. Arrays of the given
    matrix that already have this form are used without a copy, and never written to. Columns that
    were multiplied by ``stretch`` give weights to be multiplied by it, too.

    >>> import scipy.sparse as sp
    >>> matrix = ColumnMatrix.of(sp.csr_array([[1.0, 0.0], [1.0, 3.0]]), x_bound=2.0)
    >>> matrix.shape, matrix.values.tolist()
    ((2, 2), [1.0, 1.0, 2.0])
    """

    indptr: NDArray[Any]
    indices: NDArray[Any]
    values: NDArray[Any] | None
    norm1: NDArray[np.float32] | None
    shape: tuple[int, int]
    x_bound: float
    extended: "ColumnMatrix | None" = field(default=None, repr=False)  # by the constant, if at hand
    stretch: NDArray[np.float64] | None = field(default=None, repr=False)  # see `ColumnBounds`

    @classmethod
    def of(cls, X: Any, x_bound: float = 1.0) -> "ColumnMatrix":
        """Check ``X`` (sparse in any format, or dense), clip it to ``x_bound`` and hold it."""
        x_bound = positive_bound(x_bound)
        if isinstance(X, ColumnMatrix):
            if X.x_bound > x_bound:
                raise ValueError(
                    "X was clipped to a larger x_bound; build its ColumnMatrix with this one"
                )
            return X
        compressed, ours, room = _compressed(X)
        rows, columns = compressed.shape
        _check_shape(compressed)
        values = _float_values(compressed)
        ours = ours or values is not compressed.data
        found = _inspect(compressed, values, x_bound)
        if found & kernels.BAD_ROW:
            raise ValueError("X has row indices outside its shape; rebuild the sparse matrix")
        if found & kernels.NOT_FINITE:
            raise ValueError("X holds NaN or infinity; impute or remove those entries first")
        if found & kernels.UNORDERED:
            compressed, values, ours, room = _merged(compressed), None, True, None
            values = _float_values(compressed)
            found = _inspect(compressed, values, x_bound)
        if not found & kernels.NOT_ONE and x_bound >= 1:
            values = None
        elif values is None:
            values = np.full(compressed.nnz, bound_as(np.float32, x_bound))
        elif found & kernels.OUT_OF_BOUND:
            limit = bound_as(values.dtype, x_bound)
            values = np.clip(values, -limit, limit, out=values if ours else None)
        indices = compressed.indices.astype(np.int32, copy=False)
        small = compressed.indptr[-1] <= np.iinfo(np.int32).max
        indptr = compressed.indptr.astype(np.int32 if small else np.int64, copy=False)
        norm1 = None if values is None else norms_of(indptr, values, x_bound)
        held = cls(indptr, indices, values, norm1, (rows, columns), x_bound)
        if room is None or (values is None and x_bound != 1.0):
            return held
        return replace(held, extended=held._extended_within(room))

    def _extended_within(self, room: "_Room") -> "ColumnMatrix":
        """The matrix with its constant column where that was left room for: nothing is copied."""
        rows, columns = self.shape
        room.indices[self.entries :] = np.arange(rows, dtype=np.int32)
        indptr = np.append(self.indptr, self.indptr.dtype.type(self.entries + rows))
        shape = (rows, columns + 1)
        if self.values is None:
            return ColumnMatrix(indptr, room.indices, None, None, shape, self.x_bound)
        room.values[self.entries :] = bound_as(room.values.dtype, self.x_bound)
        norm1 = norms_of(indptr, room.values, self.x_bound)
        return ColumnMatrix(indptr, room.indices, room.values, norm1, shape, self.x_bound)

    def with_constant(self) -> "ColumnMatrix":
        """The same matrix with one more column, all entries the bound: an intercept's."""
        if self.extended is not None:
            return self.extended
        rows, columns = self.shape
        indptr = np.append(self.indptr.astype(np.int64), self.entries + rows)
        if indptr[-1] <= np.iinfo(np.int32).max:
            indptr = indptr.astype(np.int32)
        indices = np.concatenate((self.indices[: self.entries], np.arange(rows, dtype=np.int32)))
        values = self.values
        if values is None and self.x_bound != 1.0:
            values = np.ones(self.entries, np.float32)
        if values is not None:
            constant = bound_as(values.dtype, self.x_bound)
            filled = np.full(rows, constant, values.dtype)
            values = np.concatenate((values[: self.entries], filled))
        norm1 = None if values is None else norms_of(indptr, values, self.x_bound)
        return ColumnMatrix(indptr, indices, values, norm1, (rows, columns + 1), self.x_bound)

    def picked(self, columns: NDArray[np.int64]) -> "ColumnMatrix":
        """The matrix of some of the columns, in the order given."""
        starts, lengths = self.indptr[columns], np.diff(self.indptr)[columns]
        runs = [np.arange(a, a + n) for a, n in zip(starts, lengths, strict=True)]
        places = np.concatenate(runs) if runs else np.empty(0, np.int64)
        indptr = np.concatenate(([0], np.cumsum(lengths))).astype(self.indptr.dtype)
        return ColumnMatrix(
            indptr,
            self.indices[places],
            None if self.values is None else self.values[places],
            None if self.norm1 is None else self.norm1[columns],
            (self.shape[0], len(columns)),
            self.x_bound,
            stretch=None if self.stretch is None else self.stretch[columns],
        )

    @property
    def constant(self) -> float:
        """What the entries of the column added by `with_constant` are."""
        return 1.0 if self.values is None else float(self.values[self.entries - 1])

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


def positive_bound(x_bound: Any) -> float:
    """The bound as a float, if it is one."""
    kind = isinstance(x_bound, Real) and not isinstance(x_bound, bool | np.bool_)
    with contextlib.suppress(OverflowError):
        if kind and 0 < float(x_bound) < math.inf:
            return float(x_bound)
    raise ValueError(
        f"x_bound must be a positive finite number, got {x_bound!r}; "
        "give the public bound that entries are clipped to"
    )


def bound_as(kind: Any, x_bound: float) -> Any:
    """The largest number of a precision that is not above the bound."""
    near = np.dtype(kind).type(x_bound)
    return np.nextafter(near, near.dtype.type(0)) if float(near) > x_bound else near


class _Room(NamedTuple):
    """Arrays of the entries, with room for one more a row."""

    indices: NDArray[np.int32]
    values: NDArray[Any]


def _compressed(X: Any) -> tuple[Any, bool, _Room | None]:
    """``X`` as a csc_array of real numbers, whether its arrays are ours to write to, and the room
    that they are part of, if there is any."""
    if not sp.issparse(X):
        X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}; reshape it first")
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X must hold real numbers, got {X.dtype}; encode it first")
    if not sp.issparse(X):
        # scipy has no half precision; single holds it exactly.
        return sp.csc_array(X.astype(np.float32) if X.dtype == np.float16 else X), True, None
    try:
        if X.format in ("csr", "bsr"):
            X.check_format(full_check=True)  # the conversion itself trusts what it reads
        if X.format == "csr" and X.dtype in (np.float32, np.float64) and _is_large(X):
            compressed, room = turned(X)
            return compressed, True, room
        sound = X.format != "coo" or all(
            len(places) == 0 or (places.min() >= 0 and places.max() < size)
            for places, size in zip(X.coords, X.shape, strict=True)
        )
        if X.format == "coo" and X.dtype.kind in "iu":
            # Repeated entries are added on the way, and would overflow.
            X = X.astype(np.float32 if X.dtype.itemsize <= 2 else np.float64)
        compressed = sp.csc_array(X) if sound else None
    except (ValueError, IndexError):
        compressed = None
    if compressed is None:
        raise ValueError("X has row or column numbers that do not fit its shape; rebuild it")
    return compressed, X.format != "csc", None


def _is_large(X: Any) -> bool:
    """Whether own threads are worth it; row numbers must fit 32 bits."""
    return bool(X.nnz > _LARGE and X.shape[0] <= MOST_ROWS)


def turned(X: Any) -> tuple[Any, _Room]:
    """Row-compressed entries column by column, on all cores, as scipy would turn them."""
    rows, columns = X.shape
    indptr = np.zeros(columns + 1, np.int64)
    transpose.tally(X.indices, indptr[1:])
    np.cumsum(indptr, out=indptr)
    entries = int(indptr[-1])
    room = _Room(np.empty(entries + rows, np.int32), np.empty(entries + rows, X.dtype))
    cursor = indptr[:-1].copy()
    runs = threads.balanced_runs(indptr, threads.available())
    given = (X.indptr, X.indices, X.data)
    threads.run(
        transpose.scatter, [(*given, *run, cursor, room.indices, room.values) for run in runs]
    )
    if entries + rows <= np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)
    found = sp.csc_array((rows, columns), dtype=X.dtype)
    found.indptr, found.indices = indptr, room.indices[:entries]
    found.data = room.values[:entries]
    return found, room


def _check_shape(compressed: Any) -> None:
    rows, columns = compressed.shape
    indptr = compressed.indptr
    if rows < 1 or columns < 1:
        raise ValueError("X is empty; it needs at least one row and one column")
    if rows > MOST_ROWS:
        raise ValueError(f"X has more than {MOST_ROWS:,} rows; split it and fit the parts")
    sound = len(indptr) == columns + 1 and indptr[0] == 0 and np.all(indptr[1:] >= indptr[:-1])
    if not (sound and indptr[-1] <= min(len(compressed.indices), len(compressed.data))):
        raise ValueError("X has column pointers that do not fit its entries; rebuild it")


def _float_values(compressed: Any) -> NDArray[Any] | None:
    """Entries in single or double precision; None for whole numbers that are all 1."""
    data = compressed.data
    if data.dtype in (np.float32, np.float64):
        values: NDArray[Any] = data
        return values
    if data.dtype.kind in "iub" and np.all(data == 1):
        return None
    # Small whole numbers and half precision are exact in single precision.
    converted: NDArray[Any] = data.astype(np.float32 if data.dtype.itemsize <= 2 else np.float64)
    return converted


def _merged(compressed: Any) -> Any:
    """A copy with the rows of every column in order and repeated entries added up."""
    wide = np.float64 if compressed.dtype.kind in "iub" else compressed.dtype
    merged = compressed.astype(wide, copy=True)
    merged.has_canonical_format = False
    merged.sum_duplicates()
    return merged


def norms_of(indptr: NDArray[Any], values: NDArray[Any], x_bound: float) -> NDArray[np.float32]:
    """The 1-norm of every column over the bound, rounded up."""
    norms = np.empty(len(indptr) - 1, np.float32)
    runs = threads.balanced_runs(indptr, threads.available())
    threads.run(kernels.norms1, [(indptr, values, x_bound, *run, norms) for run in runs])
    return norms


def _inspect(compressed: Any, values: NDArray[Any] | None, x_bound: float) -> int:
    indptr, rows = compressed.indptr, compressed.shape[0]
    found = 0
    calls = [
        (indptr, compressed.indices, values, rows, float(x_bound), first, last)
        for first, last in threads.balanced_runs(indptr, threads.available())
    ]
    for part in threads.run(kernels.inspect, calls):
        found |= part
    return found
