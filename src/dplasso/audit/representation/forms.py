"""The ways in which the same rows can be stored, and rows that change how all are stored."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso.base.arrays import Floats, Ints
from dplasso.data import ColumnMatrix
from dplasso.data.row_chunks import RowChunk
from dplasso.storage import build_store, open_store

# From the narrowest to the widest; a loader takes the first that holds the values it read.
_KINDS = (np.bool_, np.int8, np.int32, np.float16, np.float32, np.int64, np.float64)
_MEMORY = 128 << 20
ONES, WHOLE, SINGLE = "ones", "whole numbers", "single precision"
KINDS = (ONES, WHOLE, SINGLE)
_DENSITY = 0.4
USED = 32  # columns that have entries, where there are very many columns
_EDGES = 2.0**16
_LARGE = 1e39  # beyond single precision
_SMALL = 0.1  # not exact in single precision
_MOST_DENSE = 1 << 20  # most entries of a dense matrix that is stored in many ways


def kinds_of(X: Floats) -> list[Any]:
    """The number types that hold every entry exactly, the narrowest first."""
    values = X[X != 0.0]
    with np.errstate(over="ignore", invalid="ignore"):
        return [
            kind
            for kind in _KINDS
            if np.array_equal(values.astype(kind).astype(np.float64), values)
        ]


def narrowest(X: Floats) -> NDArray[Any]:
    """The entries in the narrowest number type that holds them all."""
    return X.astype(kinds_of(X)[0])


def forms_of(X: Floats) -> Iterator[tuple[str, Any]]:
    """The same entries in memory, in different number types, containers, orders and repeats."""
    kinds = kinds_of(X)
    if X.size <= _MOST_DENSE:
        yield from ((f"dense {np.dtype(kind).name}", X.astype(kind)) for kind in kinds)
        yield "dense, by columns", np.asfortranarray(X)
    wide, narrow = sp.csr_array(X), X.astype(kinds[0])
    yield "csr", wide
    for name in ("csc", "coo", "bsr", "lil", "dok"):
        yield name, wide.asformat(name)
    # scipy has no sparse matrices of half precision.
    for kind in {kinds[0], kinds[len(kinds) // 2]} - {np.float16, np.float64}:
        yield f"csr {np.dtype(kind).name}", sp.csr_array(narrow.astype(kind))
        yield f"csc {np.dtype(kind).name}", sp.csc_array(narrow.astype(kind))
    yield "csr, 64-bit indices", _with_long_indices(wide)
    yield "csr, out of order", _reversed(wide)
    yield "csr with zeros", _with_zeros(wide)
    halves = in_parts(X, [X / 2.0, X / 2.0])
    yield "coo in halves", halves
    yield "csr in halves", _unmerged(halves, sp.csr_array)
    yield "csc in halves", _unmerged(halves, sp.csc_array)
    if np.int64 in kinds:
        yield "coo of whole parts", in_parts(X, [X + 5.0, np.full_like(X, -5.0)], np.int64)
        # These parts add up exactly in double precision, in any order, but not in single.
        yield "coo of single parts", in_parts(X, _parts(X, 2.0**25), np.float32)


def orders_of(X: Floats) -> Iterator[tuple[str, Any]]:
    """The same parts of entries in orders on which their double-precision sum depends."""
    parts = _parts(X, 2.0**60)
    for name, ordered in (
        ("as given", parts),
        ("reversed", parts[::-1]),
        ("mixed", parts[1::2] + parts[::2]),
    ):
        matrix = in_parts(X, ordered)
        yield f"coo, parts {name}", matrix
        yield f"csr, parts {name}", _unmerged(matrix, sp.csr_array)
        yield f"csc, parts {name}", _unmerged(matrix, sp.csc_array)


def _parts(X: Floats, large: float) -> list[Floats]:
    """Parts that add up to integers; two of them are large."""
    return [np.full_like(X, large), np.ones_like(X), X - 1.0, np.full_like(X, -large)]


def own_forms_of(X: Any, y: Floats, x_bound: Any, folder: Path) -> Iterator[tuple[str, Any]]:
    """The same rows as the library itself holds them: a matrix by columns, and one on disk.

    ``x_bound`` is a number, or one per column; in the second case there is only the store.
    """
    if np.ndim(x_bound) == 0:
        yield "ColumnMatrix", ColumnMatrix.of(X, x_bound)
    yield "store", stored(sp.csr_array(X), y, x_bound, folder)


def stored(X: Any, y: Floats, x_bound: Any, folder: Path) -> ColumnMatrix:
    """The rows of a row-compressed matrix, written to and read from a column store."""
    chunk = RowChunk(
        np.asarray(y, np.float64),
        X.indptr.astype(np.int64),
        X.indices,
        X.data.astype(np.float64),
    )
    bounds = None if np.ndim(x_bound) == 0 else np.asarray(x_bound, np.float64)
    with tempfile.TemporaryDirectory(dir=folder) as own:
        path = build_store(Path(own) / "store", [chunk], X.shape[1], memory=_MEMORY, bounds=bounds)
        # Memory maps stay valid after their files are deleted.
        return open_store(path).matrix(1.0 if bounds is not None else x_bound)


def label_forms_of(y: NDArray[Any]) -> Iterator[tuple[str, Any]]:
    """The same labels in other number types, and in a list."""
    yield "labels in a list", y.tolist()
    if y.dtype.kind in "iuf":
        for kind in kinds_of(y.astype(np.float64)):
            if kind is not np.bool_:
                yield f"labels {np.dtype(kind).name}", y.astype(kind)


def in_parts(X: Floats, parts: list[Floats], kind: Any = np.float64) -> sp.coo_array:
    """Entries that are not 0, each given by several entries that add up to it.

    (To change the number type afterwards would add the parts up.)
    """
    rows, columns = np.nonzero(X)
    count = len(parts)
    values = np.concatenate([part[rows, columns] for part in parts]).astype(kind)
    return sp.coo_array((values, (np.tile(rows, count), np.tile(columns, count))), shape=X.shape)


def _unmerged(matrix: sp.coo_array, form: Any) -> Any:
    """The matrix in a compressed form that keeps repeated entries."""
    by_columns = form is sp.csc_array
    rows, columns = matrix.coords
    major, minor = (columns, rows) if by_columns else (rows, columns)
    order = np.argsort(major, kind="stable")
    starts = np.searchsorted(major[order], np.arange(matrix.shape[by_columns] + 1))
    return form((matrix.data[order], minor[order], starts), shape=matrix.shape)


def _with_long_indices(matrix: sp.csr_array) -> sp.csr_array:
    found = matrix.copy()
    found.indices, found.indptr = found.indices.astype(np.int64), found.indptr.astype(np.int64)
    return found


def _reversed(matrix: sp.csr_array) -> sp.csr_array:
    """The matrix with the entries of every row in reverse order."""
    ends = np.repeat(matrix.indptr[1:], np.diff(matrix.indptr))
    starts = np.repeat(matrix.indptr[:-1], np.diff(matrix.indptr))
    order = starts + ends - 1 - np.arange(matrix.nnz)
    return sp.csr_array(
        (matrix.data[order], matrix.indices[order], matrix.indptr), shape=matrix.shape
    )


def _with_zeros(matrix: sp.csr_array) -> sp.csr_array:
    """The matrix with every second zero stored explicitly."""
    rows, columns = np.nonzero(matrix.toarray() == 0.0)
    zeros = np.zeros(len(rows[::2]))
    return sp.csr_array(_with_more(matrix.tocoo(), zeros, rows[::2], columns[::2]))


def _with_more(matrix: sp.coo_array, values: Any, rows: Ints, columns: Ints) -> sp.coo_array:
    """The matrix with further entries, which may be zeros or repeats."""
    places = [np.concatenate(pair) for pair in zip(matrix.coords, (rows, columns), strict=True)]
    return sp.coo_array((np.concatenate([matrix.data, values]), tuple(places)), matrix.shape)


def rows_of_kind(
    kind: str, rows: int, columns: int, bound: float, rng: np.random.Generator
) -> Floats:
    """Rows of 0 and 1, of small whole numbers, or of numbers exact in single precision.

    Most integers exceed the bound; the other numbers do not. Some rows are empty.
    """
    used = min(columns, USED)
    there = rng.random((rows, used)) < _DENSITY
    there[:2] = False
    if kind == ONES:
        values = np.ones((rows, used))
    elif kind == WHOLE:
        values = rng.integers(-3, 8, (rows, used)).astype(np.float64)
    else:
        shares = rng.uniform(-1.0, 1.0, (rows, used))
        # Half of them lie at a rounding edge, for holders that keep integers.
        edges = np.rint(shares * _EDGES) / _EDGES
        values = np.where(rng.random((rows, used)) < 0.5, shares, edges) * bound
        values = values.astype(np.float32).astype(np.float64)
    X = np.zeros((rows, columns))
    X[:, :used] = values * there
    return X


def telling_rows(columns: int, bound: float, rng: np.random.Generator) -> Iterator[Floats]:
    """Rows that do not fit the narrowest storage of most other rows.

    The last one has entries of different size, where the entries of a row may all be alike.
    """
    for value in (3.0, _SMALL, 10.0 * bound, float(2**31 + 1), _LARGE):
        row = np.zeros(columns)
        row[rng.integers(min(columns, USED))] = value
        yield row
    row = np.zeros(columns)
    row[:2] = bound, bound / 4.0
    yield row


def ways_to_store(X: Floats) -> Iterator[tuple[str, Any]]:
    """The containers that a loader might choose, in the narrowest type that holds all rows."""
    narrow = narrowest(X)
    yield "dense", narrow
    if narrow.dtype == np.float16:
        narrow = narrow.astype(np.float32)
    for form in (sp.csr_array, sp.csc_array, sp.coo_array):
        yield form.__name__, form(narrow)


def with_a_repeat(X: Floats) -> sp.coo_array:
    """The narrowest sparse matrix, with an entry of the last row given in two parts."""
    narrow = narrowest(X)
    if narrow.dtype.kind in "bi" or narrow.dtype == np.float16:
        narrow = narrow.astype(np.float32)
    found = sp.coo_array(narrow)
    last = np.flatnonzero(found.coords[0] == len(X) - 1)[:1]
    found.data[last] /= 2
    return _with_more(found, found.data[last], *(place[last] for place in found.coords))
