"""Public maps of a row's entries, for fitting and predicting; each row is mapped by itself."""

import math
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp

from dplasso.data.bounds import ColumnBounds
from dplasso.data.centring import centred_columns, with_columns
from dplasso.data.clip_limit import clipped_in_place
from dplasso.data.columns import ColumnMatrix
from dplasso.data.merging import merged

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

    Without ranges, "as_is" changes neither, "presence" needs no bounds, and "sqrt" and "blend"
    stretch and clip first. With ranges, columns that have one are centred and scaled by it,
    whatever the map, and the others are mapped and scaled to a bound of 1.

    >>> ages_and_words = ColumnBounds.of([(0, 120), 4.0], 2)
    >>> row_view(np.array([[90.0, 3.0]]), "presence", ages_and_words)[0].toarray().tolist()
    [[0.5, 1.0]]
    """
    held = held_bounds(row_map, bounds)
    if bounds.ranges is not None:
        return _centred_view(X, row_map, bounds), held
    if row_map == "as_is":
        return X, bounds
    if not needs_bound(row_map):
        return mapped(X.sparse() if isinstance(X, ColumnMatrix) else X, row_map), held
    return mapped(_clipped_view(X, bounds), row_map, bounds.largest), held


def rooted(matrix: ColumnMatrix) -> ColumnMatrix:
    """The signed roots of the entries, as `row_view` has them; the root of 1 is 1.

    >>> rooted(ColumnMatrix.of(np.array([[0.0, -4.0]]), 9.0)).values.tolist()
    [-2.0]
    """
    if matrix.values is None:
        return matrix
    largest = held_bound("sqrt", matrix.x_bound)
    values = clipped_in_place(_of(matrix.values[: matrix.entries], "sqrt", largest), largest)
    return replace(matrix, values=values, x_bound=largest, extended=None, trusted=True)


def held_bounds(row_map: str, bounds: ColumnBounds) -> ColumnBounds:
    """The bounds on the entries that `row_view` returns: one for all, except for "as_is"."""
    if bounds.ranges is not None:
        return ColumnBounds(1.0, None)
    if row_map == "as_is":
        return bounds
    return ColumnBounds(held_bound(row_map, bounds.largest), None)


def _centred_view(X: Any, row_map: str, bounds: ColumnBounds) -> Any:
    """Columns with ranges centred and scaled, and the others mapped and scaled to 1."""
    centred, plain = centred_columns(X, bounds), bounds.without_ranges
    if centred.shape[1] == X.shape[1]:
        return centred
    if row_map == "as_is":
        others, largest = _clipped_view(X, plain), plain.largest
    else:
        others, held = row_view(X, row_map, plain)
        largest = held.largest
    others = merged(others, "csc")
    return with_columns(_with_values(others, others.data / largest), centred, bounds.ranged)


def _clipped_view(X: Any, bounds: ColumnBounds) -> Any:
    """``X`` stretched and clipped, in double precision."""
    seen = bounds.apply(X)
    if isinstance(X, ColumnMatrix):
        seen = ColumnMatrix.of(X, bounds.largest).sparse()
    return clipped(seen, bounds.largest)


def _of(values: Any, row_map: str, bound: float) -> Any:
    if row_map == "presence":
        return (values != 0).astype(np.float64)
    if row_map == "blend":
        # Halve first: the sum of an entry and a bound near the largest double would overflow.
        return 0.5 * np.asarray(values, np.float64) + 0.5 * bound * np.sign(values)
    roots = np.sqrt(np.abs(values, dtype=np.float64))
    return np.copysign(roots, values, out=roots)


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
