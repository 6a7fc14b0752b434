"""The same rows, stored in every possible way."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from dplasso.data import ColumnMatrix
from dplasso.storage.column_store import open_store
from stores import build


def with_repeats(X: np.ndarray) -> sp.coo_array:
    """Every entry in two or three parts, which add up to it exactly, in a shuffled order."""
    rows, columns = np.nonzero(X)
    values = X[rows, columns]
    if X.dtype.kind == "f":
        parts = [values / 2, values / 4, values / 4]
    elif X.dtype.kind == "b":
        parts = [values]  # True and True would not be 1
    else:
        parts = [values // 2, values - values // 2]
    order = np.random.default_rng(len(values)).permutation(len(values) * len(parts))
    data = np.concatenate(parts)[order]
    places = (np.tile(rows, len(parts))[order], np.tile(columns, len(parts))[order])
    return sp.coo_array((data, places), shape=X.shape)


def with_repeats_by_column(X: np.ndarray) -> sp.csc_array:
    """The same, column-compressed, with zeros stored besides."""
    parts = with_repeats(X)
    rows = np.concatenate([parts.coords[0], np.zeros(X.shape[1], np.int32)])
    columns = np.concatenate([parts.coords[1], np.arange(X.shape[1])])
    data = np.concatenate([parts.data, np.zeros(X.shape[1], X.dtype)])
    order = np.argsort(columns, kind="stable")
    starts = np.searchsorted(columns[order], np.arange(X.shape[1] + 1))
    return sp.csc_array((data[order], rows[order], starts), shape=X.shape)


# Of a dense array of any kind of number; scipy has no half precision.
FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "dense": np.asarray,
    "fortran": np.asfortranarray,
    "csr": sp.csr_array,
    "csc": sp.csc_array,
    "csr matrix": sp.csr_matrix,
    "bsr": sp.bsr_array,
    "lil": sp.lil_array,
    "dok": sp.dok_array,
    "dia": sp.dia_array,
    "coo with repeats": with_repeats,
    "csc with repeats and zeros": with_repeats_by_column,
}
KINDS = (np.float64, np.float32, np.float16, np.int8, np.int16, np.int64, np.uint8, np.uint64, bool)


def held(X: np.ndarray, x_bound: float) -> ColumnMatrix:
    return ColumnMatrix.of(sp.csr_array(X.astype(np.float32)), x_bound)


def stored(folder: Path, X: np.ndarray, x_bound: Any) -> ColumnMatrix:
    """From a column store, which knows bounds of its columns where they differ."""
    numbers = sp.csr_array(X.astype(np.float64))
    bounds = None if np.isscalar(x_bound) else np.asarray(x_bound, np.float64)
    path = build(folder / "rows.dpc", numbers, np.zeros(len(X)), bounds=bounds, overwrite=True)
    return open_store(path).matrix(x_bound if bounds is None else 1.0)


def fits(X: np.ndarray, kind: Any) -> bool:
    """Whether this number type holds every entry exactly."""
    with np.errstate(all="ignore"):
        return bool(np.array_equal(X.astype(kind).astype(np.float64), X))
