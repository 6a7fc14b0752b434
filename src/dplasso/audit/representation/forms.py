"""The ways in which the same rows can be stored."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso.base.arrays import Floats
from dplasso.data import ColumnMatrix
from dplasso.data.row_chunks import RowChunk
from dplasso.storage import build_store, open_store

# From the narrowest to the widest; a loader takes the first that holds the values it read.
_KINDS = (np.bool_, np.int8, np.int32, np.float16, np.float32, np.int64, np.float64)
_MEMORY = 128 << 20
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
    rows, columns = np.nonzero(np.asarray(matrix.todense()) == 0.0)
    found = matrix.tocoo()
    values = np.concatenate([found.data, np.zeros(len(rows[::2]))])
    places = [
        np.concatenate(pair) for pair in zip(found.coords, (rows[::2], columns[::2]), strict=True)
    ]
    return sp.csr_array(sp.coo_array((values, tuple(places)), shape=matrix.shape))
