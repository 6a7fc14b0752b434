"""Merge repeated entries of sparse matrices and drop stored zeros."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from dplasso.data.structure import in_known_kind, sound
from dplasso.kernels import columns as column_kernels
from dplasso.kernels.repeats import add_repeats


def compressed(X: Any, form: str) -> Any:
    """The entries of a `sound` sparse ``X`` as "csr" or "csc", without summing repeated ones.

    scipy's own conversions add repeated entries, in the precision of the matrix and in no
    particular order. Arrays may be those of ``X``.
    """
    if X.format in ("csr", "csc"):
        return X if X.format == form else X.asformat(form)
    unmerged = sp.coo_array((X.data, X.coords), shape=X.shape)
    unmerged.has_canonical_format = True  # or the conversion would add repeated entries
    return unmerged.asformat(form)


def merged(X: Any, form: str, name: str = "X") -> Any:
    """``X``, sparse or dense, as "csr" or "csc": sorted indices, one entry per place, no zeros.

    Repeated entries are added in double precision. If there are none, arrays may be those of ``X``,
    and entries keep their precision; integers become double precision. A sparse matrix is checked
    before it is read; ``name`` is its name in errors.

    Formal guarantees
    -----------------
    A row's entries are a function of the values given for that row, place by place. Neither the
    order in which they were stored nor the precision or the kind of the matrix matters, as long as
    the values are equal. A sum of finite entries is finite: at most the largest double.

    >>> X = sp.coo_array(([100, 100], ([0, 0], [1, 1])), shape=(1, 2), dtype=np.int8)
    >>> merged(X, "csr").toarray().tolist()
    [[0.0, 200.0]]
    """
    found = compressed(sound(X, name) if sp.issparse(X) else sparse_of(X), form)
    if found.dtype not in (np.float32, np.float64):
        found = found.astype(np.float64)
    return found if _is_merged(found) else add_up(found)


def sparse_of(X: Any) -> Any:
    """The nonzero entries of a dense matrix."""
    return sp.csc_array(in_known_kind(np.asarray(X)))


def _is_merged(found: Any) -> bool:
    lines, across = len(found.indptr) - 1, max(found.shape)
    bits = column_kernels.inspect(found.indptr, found.indices, found.data, across, np.inf, 0, lines)
    return not bits & (column_kernels.UNORDERED | column_kernels.ZERO)


def add_up(found: Any) -> Any:
    """A copy of a compressed matrix with repeated entries summed and zeros dropped."""
    data = found.data.astype(np.float64) if found.dtype.itemsize > 8 else found.data
    ordered = type(found)((data, found.indices, found.indptr), shape=found.shape, copy=True)
    ordered.has_sorted_indices = False
    ordered.sort_indices()
    indptr = np.empty_like(ordered.indptr)
    indices = np.empty_like(ordered.indices)
    values = np.empty(len(ordered.data))
    kept = add_repeats(ordered.indptr, ordered.indices, ordered.data, indptr, indices, values)
    return type(found)((values[:kept], indices[:kept], indptr), shape=found.shape)
