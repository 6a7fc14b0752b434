"""Columns with public ranges, centred and scaled by them."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from dplasso.base.arrays import Floats, Ints
from dplasso.data.bounds import ColumnBounds
from dplasso.data.range_scales import is_indicator
from dplasso.data.table_cells import CELL, table_cells


def centred_columns(X: Any, bounds: ColumnBounds) -> Floats:
    """The columns with ranges, rows x such columns: -1 at the low end, 1 at the high end.

    ``X`` has checked rows, or is a ColumnMatrix. Entries beyond an end count as that end. Those of
    indicators, whose range is from 0 to 1, stay as they are. A column whose ends meet says nothing:
    its entries are 0.

    Formal guarantees
    -----------------
    An entry is a function of the given entry (of all values given for its place, if there are
    several) and of the public range of its column: it is the cell of `table_cells`, a whole number,
    shifted and scaled by powers of two, which is exact in single precision. Neither other rows nor
    how ``X`` is stored can change a bit of it, and a stored 0 and an implicit 0 are the same. It
    lies in [-1, 1].

    >>> ages = ColumnBounds.of([(0, 120), 1.0], 2)
    >>> centred_columns(np.array([[30.0, 1.0], [500.0, 0.0]]), ages).tolist()
    [[-0.5], [1.0]]
    """
    own = bounds.ranged
    low, high = (ends[own] for ends in bounds.ends(X.shape[1]))
    # To the nearest: the middle of a range, where a row of nothing else has no length, is 0.
    gain, shift = centred_cells(low, high)
    found: Floats = table_cells(X, bounds, own, np.rint) * gain
    found += shift
    return found


def centred_cells(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Gain and shift by which the cells of columns with these ranges become centred entries.

    >>> gain, shift = centred_cells(np.array([40.0, 0.0, 7.0]), np.array([60.0, 1.0, 7.0]))
    >>> (CELL * gain + shift).tolist(), shift.tolist()
    ([1.0, 1.0, 0.0], [-1.0, 0.0, 0.0])
    """
    says_nothing, indicator = low == high, is_indicator(low, high)
    gain = np.where(says_nothing, 0.0, np.where(indicator, 1.0, 2.0) / CELL)
    return gain, np.where(says_nothing | indicator, 0.0, -1.0)


def with_columns(X: sp.csc_array, replaced: Floats, columns: Ints) -> sp.csc_array:
    """``X`` with some of its columns, which are increasing, replaced by dense ones.

    >>> with_columns(sp.csc_array([[5.0, 0.0, 7.0]]), np.array([[2.0]]), np.array([0])).toarray()
    array([[2., 0., 7.]])
    """
    kept = np.ones(X.shape[1], np.bool_)
    kept[columns] = False
    lengths = np.diff(X.indptr).astype(np.int64)
    owner = np.repeat(np.arange(X.shape[1]), lengths)
    lengths[columns] = np.count_nonzero(replaced, axis=0)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices, values = np.empty(indptr[-1], X.indices.dtype), np.empty(indptr[-1])
    moved = kept[owner]
    places = (np.arange(len(owner)) + (indptr[:-1] - X.indptr[:-1])[owner])[moved]
    indices[places], values[places] = X.indices[moved], X.data[moved]
    for place, column in enumerate(columns):
        among = slice(indptr[column], indptr[column + 1])
        (rows,) = np.nonzero(replaced[:, place])
        indices[among], values[among] = rows, replaced[rows, place]
    return sp.csc_array((values, indices, indptr), shape=X.shape)
