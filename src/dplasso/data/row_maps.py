"""Public maps of a row's entries, for fitting and predicting; each row is mapped by itself."""

import math
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp

from dplasso.data.bounds import ColumnBounds
from dplasso.data.clip_limit import clipped_in_place
from dplasso.data.columns import ColumnMatrix
from dplasso.data.merging import merged
from dplasso.kernels import unit_rows as kernels

RowMap = Literal["as_is", "presence", "sqrt", "blend"]
ROW_MAPS = get_args(RowMap)


def mapped(X: Any, row_map: str, bound: float = 1.0) -> Any:
    """``X``, sparse or dense, with every nonzero entry mapped.

    "presence" maps it to 1, "sqrt" to the root of its absolute value, with its sign, and "blend" to
    the mean of the entry and the bound with its sign; "as_is" changes nothing.

    >>> mapped(np.array([[0.0, -4.0]]), "sqrt").tolist()
    [[0.0, -2.0]]
    >>> mapped(sp.csr_array([[0.0, -4.0]]), "presence").toarray().tolist()
    [[0.0, 1.0]]
    >>> mapped(np.array([[0.0, -0.5]]), "blend").tolist()
    [[0.0, -0.75]]
    """
    if row_map == "as_is":
        return X
    if not sp.issparse(X):
        return _of(np.asarray(X), row_map, bound)
    found = _merged(X)
    return _with_values(found, _of(found.data, row_map, bound))


def needs_bound(row_map: str) -> bool:
    """Whether the map needs a bound on entries: presence is 1 whatever the entries are."""
    return row_map != "presence"


def held_bound(row_map: str, largest: float) -> float:
    """The bound on entries after the map, if ``largest`` is the bound before it.

    >>> held_bound("sqrt", 4.0), held_bound("presence", 4.0), held_bound("blend", 4.0)
    (2.0, 1.0, 4.0)
    """
    if not needs_bound(row_map):
        return 1.0
    return math.sqrt(largest) if row_map == "sqrt" else largest


def row_view(X: Any, row_map: str, bounds: ColumnBounds) -> tuple[Any, ColumnBounds]:
    """``X`` as a solver sees it before clipping, and the bounds that then hold.

    "as_is" changes neither. "presence" needs no bounds. "sqrt" and "blend" stretch and clip first.
    """
    if row_map == "as_is":
        return X, bounds
    held = ColumnBounds(held_bound(row_map, bounds.largest), None)
    if not needs_bound(row_map):
        return mapped(X.sparse() if isinstance(X, ColumnMatrix) else X, row_map), held
    seen = bounds.apply(X)
    if isinstance(X, ColumnMatrix):
        seen = ColumnMatrix.of(X, bounds.largest).sparse()
    return mapped(clipped(seen, bounds.largest), row_map, bounds.largest), held


def unit_length(X: Any) -> Any:
    """``X`` with rows of 2-norm 1; empty rows stay empty.

    A row's length is summed entry by entry, in order: neither other rows nor whether ``X`` is dense
    or sparse can change its last bit.
    """
    if not sp.issparse(X):
        values = np.ascontiguousarray(X, np.float64)
        lengths = np.empty(len(values))
        kernels.dense_lengths(values, lengths)
        return values / lengths[:, None]
    found = _merged(X)
    lengths = np.empty(found.shape[0])
    found = found.tocsr()
    kernels.sparse_lengths(found.indptr, found.data.astype(np.float64, copy=False), lengths)
    return _with_values(found, found.data / np.repeat(lengths, np.diff(found.indptr)))


def only_columns(X: Any, columns: Any) -> Any:
    """``X`` with all but the given columns set to 0.

    >>> only_columns(np.array([[1.0, 2.0, 3.0]]), [2]).tolist()
    [[0.0, 0.0, 3.0]]
    """
    kept = np.zeros(X.shape[1], np.bool_)
    kept[columns] = True
    if not sp.issparse(X):
        return np.where(kept, np.asarray(X, np.float64), 0.0)
    found = _merged(X).tocsr()
    return _with_values(found, np.where(kept[found.indices], found.data, 0.0))


def _of(values: Any, row_map: str, bound: float) -> Any:
    if row_map == "presence":
        return (values != 0).astype(np.float64)
    if row_map == "blend":
        # Halve first: the sum of an entry and a bound near the largest double would overflow.
        return 0.5 * np.asarray(values, np.float64) + 0.5 * bound * np.sign(values)
    return np.sign(values) * np.sqrt(np.abs(values, dtype=np.float64))


def clipped(X: Any, bound: float) -> Any:
    """``X`` in double precision with entries clipped to the limit of the bound."""
    if not sp.issparse(X):
        return clipped_in_place(np.array(X, np.float64), bound)
    found = _merged(X)
    return _with_values(found, clipped_in_place(found.data.astype(np.float64), bound))


def _merged(X: Any) -> Any:
    return merged(X, "csc" if X.format == "csc" else "csr")


def _with_values(found: Any, values: Any) -> Any:
    """A compressed matrix with new values in the same places."""
    make = sp.csc_array if found.format == "csc" else sp.csr_array
    return make((values, found.indices, found.indptr), shape=found.shape)
