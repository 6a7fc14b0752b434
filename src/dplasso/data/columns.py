"""The form in which solvers store a data matrix."""

from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property, reduce
from operator import or_
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso.base import checks, threads
from dplasso.data.clip_limit import clip_limit, clipped_in_place, held_single
from dplasso.data.merging import add_up, compressed, sparse_of
from dplasso.data.structure import array_of, is_real, sound, sound_parts
from dplasso.kernels import columns as kernels
from dplasso.kernels import transpose

_LARGE = 1 << 20  # with more entries, two threads transpose a matrix faster than scipy
MOST_ROWS = (1 << 27) - 1  # most terms that fit into a column's score, a sum of integers


@dataclass(frozen=True)
class ColumnMatrix:
    """A column-compressed matrix, checked and clipped.

    `ColumnMatrix.of` makes one from any matrix. Rows within a column are distinct and sorted;
    entries are nonzero, finite and at most ``clip_limit(x_bound)`` in absolute value; row numbers
    have 32 bits. Arrays of the given matrix that already have this form are used without a copy,
    and never written to. A matrix constructed directly is checked for all of this.

    Parameters
    ----------
    indptr, indices : array
        Column pointers and row numbers.
    values : array or None
        None if every stored entry is 1, otherwise in single precision if that represents every
        given entry exactly, and in double precision if not.
    shape : tuple of int
        Numbers of rows and columns.
    x_bound : float
        Public bound on the absolute value of entries.
    extended : ColumnMatrix, optional
        The same matrix with the constant column of an intercept, if it is available.
    stretch : array of float64, optional
        Factors of the columns (`ColumnBounds`), by which their weights must be multiplied, too.
    trusted : bool, default False
        Whether the arrays were checked before.

    Formal guarantees
    -----------------
    An entry is a function of the given entry (of all values given for its place, if there are
    several) and of ``x_bound``. Other rows determine its precision, never its value. Equal entries
    give equal arrays, whatever kind of matrix, precision or file they came in.

    Examples
    --------
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
    extended: "ColumnMatrix | None" = field(default=None, repr=False)  # with constant
    stretch: NDArray[np.float64] | None = field(default=None, repr=False)  # see `ColumnBounds`
    trusted: InitVar[bool] = False

    def __post_init__(self, trusted: bool) -> None:
        if not trusted:
            _check_by_hand(self)

    @classmethod
    def of(cls, X: Any, x_bound: float = 1.0) -> "ColumnMatrix":
        """Check ``X`` (sparse in any format, or dense), clip it to ``x_bound`` and store it.

        Parameters
        ----------
        X : array or sparse matrix
            Rows x columns.
        x_bound : float, default=1.0
            Entries beyond it, of either sign, are clipped to it.

        Returns
        -------
        ColumnMatrix
        """
        x_bound = positive_bound(x_bound)
        if isinstance(X, ColumnMatrix):
            return X._declared(x_bound)
        found, ours, room = _compressed(X)
        _check_shape(found)
        values = _float_values(found)
        ours = ours or values is not found.data
        bits = _inspect(found, values, x_bound)
        if bits & kernels.NOT_FINITE:
            raise ValueError("X holds NaN or infinity; impute or remove those entries first")
        if bits & (kernels.UNORDERED | kernels.ZERO):
            found, ours, room = add_up(found), True, None
            values = found.data
            bits = _inspect(found, values, x_bound)
        if not bits & kernels.NOT_ONE and x_bound >= 1:
            values = None
        else:
            values, room = _held_values(values, bits, x_bound, found.nnz, ours, room)
        indices = found.indices.astype(np.int32, copy=False)
        indptr = _narrowed(found.indptr)
        held = cls(indptr, indices, values, found.shape, x_bound, trusted=True)
        if room is None or (values is None and x_bound != 1.0):
            return held
        return replace(held, extended=held._extended_within(room), trusted=True)

    def _declared(self, x_bound: float) -> "ColumnMatrix":
        """The same entries under another bound, which must not be smaller."""
        if self.x_bound > x_bound:
            raise ValueError(
                "X was clipped to a larger x_bound; build its ColumnMatrix with this one"
            )
        if self.x_bound == x_bound:
            return self
        values = self.values
        if values is not None and not held_single(x_bound):
            values = values.astype(np.float64, copy=False)
        return replace(self, values=values, x_bound=x_bound, extended=None, trusted=True)

    def _extended_within(self, room: "_Room") -> "ColumnMatrix":
        """The matrix with its constant column, written to the spare room without a copy."""
        rows, columns = self.shape
        room.indices[self.entries :] = np.arange(rows, dtype=np.int32)
        indptr = np.append(self.indptr, self.indptr.dtype.type(self.entries + rows))
        room.values[self.entries :] = self.constant
        values = None if self.values is None else room.values
        parts = (indptr, room.indices, values)
        return ColumnMatrix(*parts, (rows, columns + 1), self.x_bound, trusted=True)

    def with_constant(self) -> "ColumnMatrix":
        """Return the matrix with one more column for the intercept, all entries ``constant``.

        Returns
        -------
        ColumnMatrix
        """
        if self.extended is not None:
            return self.extended
        rows, columns = self.shape
        indptr = _narrowed(np.append(self.indptr.astype(np.int64), self.entries + rows))
        indices = np.concatenate((self.indices[: self.entries], np.arange(rows, dtype=np.int32)))
        values = self.values
        if values is None and self.x_bound != 1.0:
            values = np.ones(self.entries, np.float32 if held_single(self.x_bound) else np.float64)
        if values is not None:
            filled = np.full(rows, self.constant, values.dtype)
            values = np.concatenate((values[: self.entries], filled))
        parts = (indptr, indices, values)
        return ColumnMatrix(*parts, (rows, columns + 1), self.x_bound, trusted=True)

    def picked(self, columns: NDArray[np.int64]) -> "ColumnMatrix":
        """Return the matrix of some of the columns, in the given order.

        Parameters
        ----------
        columns : array of int
            Numbers of columns.

        Returns
        -------
        ColumnMatrix
        """
        starts, ends = self.indptr[columns], self.indptr[columns + 1]
        runs = [slice(a, b) for a, b in zip(starts, ends, strict=True)]
        indptr = np.concatenate(([0], np.cumsum(ends - starts))).astype(self.indptr.dtype)
        return ColumnMatrix(
            indptr,
            _joined(self.indices, runs),
            None if self.values is None else _joined(self.values, runs),
            (self.shape[0], len(columns)),
            self.x_bound,
            stretch=None if self.stretch is None else self.stretch[columns],
            trusted=True,
        )

    @cached_property
    def norm1(self) -> NDArray[np.float32] | None:
        """The 1-norm of every column over ``x_bound``, rounded up; None if ``values`` is."""
        if self.values is None:
            return None
        norms = np.empty(self.shape[1], np.float32)
        runs = threads.balanced_runs(self.indptr, threads.worth(self.entries))
        calls = [(self.indptr, self.values, self.x_bound, *run, norms) for run in runs]
        threads.run(kernels.norms1, calls)
        return norms

    @property
    def constant(self) -> float:
        """The entries of the column that `with_constant` adds: a public number."""
        return clip_limit(self.x_bound)

    @property
    def entries(self) -> int:
        """Number of stored entries."""
        return int(self.indptr[-1])

    def sparse(self) -> sp.csc_array:
        """Return the entries as a scipy matrix.

        Returns
        -------
        csc_array
        """
        values = np.ones(self.entries) if self.values is None else self.values[: self.entries]
        return sp.csc_array((values, self.indices[: self.entries], self.indptr), shape=self.shape)

    def product(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute margins: the matrix times ``weights``.

        Parameters
        ----------
        weights : array
            Columns x outputs.

        Returns
        -------
        ndarray of float
            Rows x outputs.
        """
        values = np.ones(self.entries, np.int8) if self.values is None else self.values
        matrix = sp.csc_array((values, self.indices, self.indptr), shape=self.shape)
        product: NDArray[np.float64] = matrix @ weights
        return product

    def rows(self) -> sp.csr_array:
        """Return the entries by rows, as they were before columns were stretched.

        Returns
        -------
        csr_array
        """
        found = self.sparse()
        if self.stretch is not None:
            found.data = found.data / np.repeat(self.stretch, np.diff(self.indptr))
        return sp.csr_array(found)


def _joined(array: NDArray[Any], runs: list[slice]) -> NDArray[Any]:
    return np.concatenate([array[:0], *(array[run] for run in runs)])


def positive_bound(x_bound: Any) -> float:
    """The bound that entries are clipped to; an error if it is not a finite number above 0."""
    return checks.bound("x_bound", x_bound)


class _Room(NamedTuple):
    """Arrays of the entries, with spare room for one more entry per row."""

    indices: NDArray[np.int32]
    values: NDArray[Any]


def _compressed(X: Any) -> tuple[Any, bool, _Room | None]:
    """``X``, checked, as a csc_array of real numbers; whether its arrays may be written to; and the
    larger arrays that they are part of, if any."""
    X = array_of(sound(X))
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}; reshape it first")
    if not is_real(X.dtype):
        raise ValueError(f"X must hold real numbers, got {X.dtype}; encode it first")
    if not sp.issparse(X):
        return sparse_of(X), True, None
    if X.format == "csr" and X.dtype in (np.float32, np.float64) and _is_large(X):
        found, room = turned(X)
        return found, True, room
    return compressed(X, "csc"), X.format != "csc", None


def _narrowed(indptr: NDArray[Any]) -> NDArray[Any]:
    """Pointers in 32 bits if the last one fits."""
    return indptr.astype(sp.get_index_dtype(maxval=indptr[-1]), copy=False)


def _is_large(X: Any) -> bool:
    """Whether our own threads are worth starting; row numbers must fit into 32 bits."""
    return bool(X.nnz > _LARGE and X.shape[0] <= MOST_ROWS)


def turned(X: Any) -> tuple[Any, _Room]:
    """Convert row-compressed entries to columns on all cores, with the same result as scipy."""
    rows, columns = X.shape
    indptr = np.zeros(columns + 1, np.int64)
    transpose.tally(X.indices, indptr[1:])
    np.cumsum(indptr, out=indptr)
    entries = int(indptr[-1])
    room = _Room(np.empty(entries + rows, np.int32), np.empty(entries + rows, X.dtype))
    cursor = indptr[:-1].copy()
    runs = threads.balanced_runs(indptr, threads.worth(entries))
    given = (X.indptr, X.indices, X.data)
    threads.run(
        transpose.scatter, [(*given, *run, cursor, room.indices, room.values) for run in runs]
    )
    indptr = indptr.astype(sp.get_index_dtype(maxval=entries + rows), copy=False)
    found = sp.csc_array((rows, columns), dtype=X.dtype)
    found.indptr, found.indices = indptr, room.indices[:entries]
    found.data = room.values[:entries]
    return found, room


def _check_shape(found: Any) -> None:
    rows, columns = found.shape
    if rows < 1 or columns < 1:
        raise ValueError("X is empty; it needs at least one row and one column")
    if rows > MOST_ROWS:
        raise ValueError(f"X has more than {MOST_ROWS:,} rows; split it and fit the parts")


def _float_values(found: Any) -> NDArray[Any] | None:
    """Entries in single or double precision; None for whole numbers that are all 1."""
    data = found.data
    if data.dtype in (np.float32, np.float64):
        values: NDArray[Any] = data
        return values
    if data.dtype.kind in "iub" and np.all(data == 1):
        return None
    # Small whole numbers are exact in single precision.
    converted: NDArray[Any] = data.astype(np.float32 if data.dtype.itemsize <= 2 else np.float64)
    return converted


def _held_values(
    values: NDArray[Any] | None,
    bits: int,
    x_bound: float,
    entries: int,
    ours: bool,
    room: _Room | None,
) -> tuple[NDArray[Any], _Room | None]:
    """Clipped values in their final precision, and the larger arrays that they are part of.

    ``values`` is None if all are 1; ``ours`` says whether the array may be written to.
    """
    single = held_single(x_bound) and not bits & kernels.NOT_SINGLE
    kind = np.dtype(np.float32 if single else np.float64)
    if values is None:
        return np.full(entries, min(1.0, clip_limit(x_bound)), kind), room
    if values.dtype != kind and room is not None:
        room = _Room(room.indices, np.empty(len(room.values), kind))
        room.values[:entries] = values
        values = room.values[:entries]
    elif values.dtype != kind:
        values, ours = values.astype(kind), True
    if bits & kernels.OUT_OF_BOUND:
        values = clipped_in_place(values if ours else values.copy(), x_bound)
    return values, room


def _inspect(found: Any, values: NDArray[Any] | None, x_bound: float) -> int:
    indptr, rows = found.indptr, found.shape[0]
    calls = [
        (indptr, found.indices, values, rows, clip_limit(x_bound), first, last)
        for first, last in threads.balanced_runs(indptr, threads.worth(len(found.indices)))
    ]
    bits: int = reduce(or_, threads.run(kernels.inspect, calls))
    return bits


def _check_by_hand(matrix: ColumnMatrix) -> None:
    """Reject arrays that do not have the form of the class."""
    indptr, indices, values = matrix.indptr, matrix.indices, matrix.values
    given = [indptr, indices] if values is None else [indptr, indices, values]
    kinds = ((np.int32, np.int64), (np.int32,), (np.float32, np.float64))
    for array, known in zip(given, kinds[: len(given)], strict=True):
        if not isinstance(array, np.ndarray) or array.dtype not in known or array.ndim != 1:
            raise ValueError("arrays of a ColumnMatrix are vectors of numbers; use ColumnMatrix.of")
    x_bound = positive_bound(matrix.x_bound)
    data = np.ones(len(indices), np.float32) if values is None else values
    parts = {"data": data, "indices": indices, "indptr": indptr}
    found = sound_parts("csc", matrix.shape, "ColumnMatrix", **parts)
    _check_shape(found)
    bits = _inspect(found, values, x_bound)
    if bits & (kernels.NOT_FINITE | kernels.OUT_OF_BOUND | kernels.UNORDERED):
        raise ValueError(
            "entries of a ColumnMatrix are finite, within x_bound, in order and not repeated; use "
            "ColumnMatrix.of"
        )
    if values is None and x_bound < 1.0 and matrix.entries:
        raise ValueError("entries of a ColumnMatrix without values are 1, which is above x_bound")
    if matrix.extended is not None:
        raise ValueError("extended is made by with_constant; leave it out")
    stretch = matrix.stretch
    if stretch is not None and not (
        isinstance(stretch, np.ndarray)
        and stretch.shape == matrix.shape[1:]
        and stretch.dtype == np.float64
        and np.all((stretch >= 1) & np.isfinite(stretch))
    ):
        raise ValueError("stretch must be a finite number of at least 1 for every column")
