"""A party's table as whole numbers whose rows are never longer than their public bound."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from dplasso.base import checks
from dplasso.base.arrays import Floats, Ints
from dplasso.base.wording import ParameterError
from dplasso.data.bounds import ranges_of
from dplasso.data.merging import merged
from dplasso.data.range_scales import range_scales
from dplasso.data.structure import array_of, sound
from dplasso.federated.moments.plan import moment_plan
from dplasso.federated.moments.terms import MomentTerms

_SHRUNK = 1.0 - 2.0**-40  # so that few shortened rows are still too long after rounding


class RowMap:
    """The map from a party's table to whole numbers, in training and for new rows alike.

    ``centre`` is what rows are centred about, in units of their bounds; nothing by default.
    """

    def __init__(
        self, terms: MomentTerms, party: str, x_bound: Any, centre: Floats | None = None
    ) -> None:
        plan = moment_plan(terms)
        self._units = Units(x_bound, terms.parties[terms.number_of(party)].n_features)
        self._centre = 0.0 if centre is None else centre
        self.entry, self._limit = plan.entry, plan.row_limit(party)

    def whole(self, X: Any) -> Ints:
        """Return the rows of a table as whole numbers within the party's bound."""
        return whole_rows(self._units.of(X) - self._centre, self.entry, self._limit)


class Units:
    """Entries in units of their public bounds, between -1 and 1.

    ``x_bound`` is a number for all columns, or one per column, or a pair (low, high) per column.
    Pairs are centred; (0, 1), the range of an indicator, stays as it is.

    >>> Units([(0.0, 120.0), (0, 1)], 2).of([[30.0, 1.0], [500.0, 0.0]])
    array([[-0.5,  1. ],
           [ 1. ,  0. ]])
    """

    def __init__(self, x_bound: Any, n_features: int) -> None:
        ranges = ranges_of(x_bound)
        if ranges is None:
            sizes = np.atleast_1d(np.asarray(x_bound, np.float64))
            if sizes.ndim != 1 or not np.all((sizes > 0.0) & np.isfinite(sizes)):
                raise ParameterError("{x_bound} must be positive and finite")
            ranges = np.column_stack([-sizes, sizes])
            if len(ranges) == 1:
                ranges = np.repeat(ranges, n_features, axis=0)
        if len(ranges) != n_features:
            raise ParameterError("{x_bound} must be one for all columns, or one for each")
        self.low, self.high = ranges.T
        self._middle, size = range_scales(self.low, self.high)
        self._size = np.where(size > 0.0, size, 1.0)

    @property
    def centre(self) -> tuple[Floats, Floats]:
        """Middle and size of every column: an entry x becomes (x - middle) / size."""
        return self._middle, self._size

    def of(self, X: Any) -> Floats:
        """Return the entries of a table in these units."""
        cells = _dense(X)
        if cells.shape[1] != len(self.low):
            raise ParameterError(
                f"{{X}} has {cells.shape[1]} features, but the terms say {len(self.low)}"
            )
        if not np.isfinite(cells).all():
            raise ParameterError("{X} must not hold NaN or infinity; replace them first")
        cells = np.clip(cells, self.low, self.high)
        inside: Floats = np.clip((cells - self._middle) / self._size, -1.0, 1.0)
        return inside


def _dense(X: Any) -> Floats:
    """Any table of numbers as an array of doubles; repeated cells of a sparse one are added."""
    given = array_of(sound(X))
    if given.ndim != 2 or given.dtype.kind not in "biuf":
        raise ParameterError("{X} must be a table of numbers, rows x features")
    whole = merged(given, "csc").toarray() if sp.issparse(given) else given
    return np.asarray(whole, np.float64)


def whole_rows(cells: Floats, entry: int, limit: int) -> Ints:
    """Return entries times ``entry`` as whole numbers, with squares of at most ``limit`` per row.

    Formal guarantees
    -----------------
    Nothing is released. The result for a row depends on that row and public numbers only. Its
    squares, added up exactly, are at most ``limit``: entries are rounded towards 0, a longer row is
    shortened, and one that is still too long counts as 0.

    >>> whole_rows(np.array([[1.0, -1.0], [0.3, 0.0]]), 100, 10_000)
    array([[ 70, -70],
           [ 30,   0]])
    """
    rows: Ints = np.trunc(cells * entry).astype(np.int64)
    lengths = np.sum(rows * rows, axis=1)
    long = np.flatnonzero(lengths > limit)
    factors = np.sqrt(limit / lengths[long]) * _SHRUNK
    short = np.trunc(rows[long] * factors[:, None]).astype(np.int64)
    short[np.sum(short * short, axis=1) > limit] = 0
    rows[long] = short
    return rows


def labels_of(y: ArrayLike, terms: MomentTerms, entry: int) -> Ints:
    """Return the columns of labels, each row of length ``entry`` at most.

    Numbers are in units of their bound. Two classes, 0 and 1, are -1 and 1 in one column; more
    classes have a column of 0 and 1 each.
    """
    values = np.asarray(y)
    if values.ndim != 1 or values.dtype.kind not in "biuf" or not np.isfinite(values).all():
        raise ParameterError("{y} must be one finite number for each row of X")
    if terms.n_classes == 0:
        share = np.clip(values.astype(np.float64) / terms.y_bound, -1.0, 1.0)
        return np.trunc(share * entry).astype(np.int64)[:, None]
    known = np.isin(values, np.arange(terms.n_classes))
    if not known.all():
        raise ParameterError("{y} must be whole numbers from 0 to {n_classes} - 1, one per class")
    classes = values.astype(np.int64)
    if terms.n_classes == 2:
        return (2 * classes - 1)[:, None] * entry
    return np.eye(terms.n_classes, dtype=np.int64)[classes] * entry


def placed(rows: Ints, places: Sequence[int] | None, capacity: int) -> Ints:
    """Return a table with ``capacity`` rows: each row at its place, and zeros elsewhere.

    Parties give the same place to the same person. By default row i has place i.
    """
    if places is None:
        given = np.arange(len(rows))
    else:
        given = np.array([checks.count("places", place, 0) for place in places], np.int64)
    if len(given) != len(rows) or len(np.unique(given)) != len(given):
        raise ParameterError(
            "{places} must be one for each row, and differ: the guarantee is for one row per person"
        )
    if len(given) and given.max() >= capacity:
        raise ParameterError("{places} must be below {n_rows}, the capacity of the job")
    table = np.zeros((capacity, rows.shape[1]), np.int64)
    table[given] = rows
    return table
