"""Public maps of a row's entries, the same at fitting and at predicting; no row sees another."""

import math
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp

from dplasso.data.bounds import ColumnBounds
from dplasso.data.columns import ColumnMatrix

RowMap = Literal["as_is", "presence", "sqrt", "blend"]
ROW_MAPS = get_args(RowMap)


def mapped(X: Any, rows: str, bound: float = 1.0) -> Any:
    """``X``, sparse or dense, with "presence" (1 where an entry is not 0), "sqrt" (the root of its
    size, with its sign) or "blend" (half way between the entry and the bound, with its sign) in
    place of every entry that is not 0; "as_is" changes nothing.

    >>> mapped(np.array([[0.0, -4.0]]), "sqrt").tolist()
    [[0.0, -2.0]]
    >>> mapped(sp.csr_array([[0.0, -4.0]]), "presence").toarray().tolist()
    [[0.0, 1.0]]
    >>> mapped(np.array([[0.0, -0.5]]), "blend").tolist()
    [[0.0, -0.75]]
    """
    if rows == "as_is":
        return X
    if not sp.issparse(X):
        return _of(np.asarray(X), rows, bound)
    found = X.copy() if X.format in ("csr", "csc", "coo") else sp.csr_array(X)
    found.sum_duplicates()
    found.data = _of(found.data, rows, bound)
    return found


def row_view(X: Any, rows: str, bounds: ColumnBounds) -> tuple[Any, ColumnBounds]:
    """``X`` as a solver sees it before it clips, and the bounds that then hold.

    "as_is" leaves both. "presence" needs no bounds. "sqrt" and "blend" stretch and clip first.
    """
    if rows == "as_is":
        return X, bounds
    if isinstance(X, ColumnMatrix):
        raise ValueError(f"rows={rows!r} needs the entries themselves; pass X, not a ColumnMatrix")
    if rows == "presence":
        return mapped(X, rows), ColumnBounds(1.0, None)
    seen = clipped(bounds.apply(X), bounds.largest)
    largest = math.sqrt(bounds.largest) if rows == "sqrt" else bounds.largest
    return mapped(seen, rows, bounds.largest), ColumnBounds(largest, None)


def unit_length(X: Any) -> Any:
    """``X`` with rows of 2-norm 1; rows of nothing stay so."""
    if not sp.issparse(X):
        values = np.asarray(X, np.float64)
        lengths = np.linalg.norm(values, axis=1, keepdims=True)
        return values / np.where(lengths > 0.0, lengths, 1.0)
    compressed = sp.csr_array(X, dtype=np.float64)
    lengths = np.sqrt(compressed.multiply(compressed).sum(axis=1))
    inverse = 1.0 / np.where(lengths > 0.0, lengths, 1.0)
    values = compressed.data * np.repeat(inverse, np.diff(compressed.indptr))
    return sp.csr_array((values, compressed.indices, compressed.indptr), shape=compressed.shape)


def only_columns(X: Any, columns: Any) -> Any:
    """``X`` with nothing left but some of its columns, in their places.

    >>> only_columns(np.array([[1.0, 2.0, 3.0]]), [2]).tolist()
    [[0.0, 0.0, 3.0]]
    """
    kept = np.zeros(X.shape[1], np.bool_)
    kept[columns] = True
    if not sp.issparse(X):
        return np.where(kept, np.asarray(X, np.float64), 0.0)
    compressed = sp.csr_array(X, dtype=np.float64)
    values = np.where(kept[compressed.indices], compressed.data, 0.0)
    return sp.csr_array((values, compressed.indices, compressed.indptr), shape=X.shape)


def _of(values: Any, rows: str, bound: float) -> Any:
    if rows == "presence":
        return (values != 0).astype(np.float64)
    if rows == "blend":
        return 0.5 * (np.asarray(values, np.float64) + bound * np.sign(values))
    return np.sign(values) * np.sqrt(np.abs(values, dtype=np.float64))


def clipped(X: Any, bound: float) -> Any:
    """``X`` with entries of size at most the bound."""
    if not sp.issparse(X):
        return np.clip(np.asarray(X, np.float64), -bound, bound)
    found = X.copy() if X.format in ("csr", "csc", "coo") else sp.csr_array(X)
    found.sum_duplicates()
    found.data = np.clip(found.data, -bound, bound)
    return found
