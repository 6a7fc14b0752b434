"""Public bounds on the entries of columns: one for all, or one per column."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso.base import checks, memory
from dplasso.base.arrays import Floats
from dplasso.base.wording import ParameterError
from dplasso.data.clip_limit import clipped_in_place
from dplasso.data.columns import ColumnMatrix
from dplasso.data.merging import merged
from dplasso.data.range_scales import is_indicator, range_scales
from dplasso.data.sparse_bounds import SparseBounds


@dataclass(frozen=True)
class ColumnBounds:
    """The largest bound, and the factor by which each column is stretched to it.

    A column with a smaller bound is multiplied by ``largest / bound``: all columns then share one
    bound, and a weight of the stretched column is multiplied by the same factor. The ball then
    weights coefficients by their bounds: ``sum_j bound_j |w_j| <= radius * largest``.

    ``ranges``, columns x 2, has the low and high end of every column; None if all reach from minus
    their bound to the bound.
    """

    largest: float
    stretch: Floats | None  # None if all bounds are equal
    ranges: Floats | None = None
    paired: NDArray[np.int64] | None = None  # columns with two ends, if others got one number
    of_categories: bool = False  # whether those others are declared to be hashed categories

    @classmethod
    def of(
        cls,
        x_bound: Any,
        columns: int,
        names: Any = None,
        among: NDArray[np.int64] | None = None,
    ) -> "ColumnBounds":
        """Read ``x_bound``: a number, a number or a pair per column, or a mapping from names.

        The stretch has one factor for each of the columns ``among``, by default all columns.

        >>> ColumnBounds.of([1.0, 4.0], 2).stretch.tolist()
        [4.0, 1.0]
        """
        if isinstance(x_bound, Real):
            return cls(checks.bound("x_bound", x_bound), None)
        x_bound = by_position(x_bound, names)
        if (ranges := ranges_of(x_bound)) is not None:
            kept = ranges if among is None else ranges[among]
            plain = cls.of(sizes_of(ranges), columns, None, among)
            return replace(plain, ranges=kept, paired=_places(_paired(x_bound), among))
        found = cls._of_sizes(x_bound, columns, among)
        if isinstance(x_bound, SparseBounds) and len(x_bound.paired):
            if among is None:
                memory.check(64 * columns, f"ranges of {columns:,} columns", "give fewer columns")
            paired = x_bound.paired if len(x_bound.paired) < columns else None
            return replace(
                found,
                ranges=x_bound.ends(among),
                paired=_places(paired, among),
                of_categories=x_bound.of_categories,
            )
        return found

    @classmethod
    def _of_sizes(
        cls, x_bound: Any, columns: int, among: NDArray[np.int64] | None
    ) -> "ColumnBounds":
        bounds = x_bound if isinstance(x_bound, SparseBounds) else _vector(x_bound)
        if len(bounds) != columns:
            raise ParameterError(
                "{x_bound} must have one bound per column, got {count} for {columns} columns; give "
                "as many as X has columns, or one number for all (one range for all is "
                "[(low, high)] * {columns})",
                count=len(bounds),
                columns=columns,
            )
        smallest, largest = float(bounds.min()), float(bounds.max())
        if not 0.0 < smallest <= largest < math.inf:
            raise ParameterError(
                "{x_bound} must be positive and finite; give the public bounds that entries are "
                "clipped to"
            )
        if largest == smallest:
            return cls(largest, None)
        if largest / smallest > 1e30:
            raise ParameterError(
                "{x_bound} spans more than 30 orders of magnitude; rescale X first"
            )
        return cls(largest, largest / np.asarray(bounds if among is None else bounds[among]))

    @property
    def ranged(self) -> NDArray[np.int64]:
        """The columns with a range, increasing."""
        if self.ranges is None:
            return np.empty(0, np.int64)
        return np.arange(len(self.ranges)) if self.paired is None else self.paired

    @property
    def indicators(self) -> NDArray[np.int64]:
        """The columns that are declared to be indicators, by a range from 0 to 1; increasing."""
        ranged = self.ranged
        if self.ranges is None:
            return ranged
        return ranged[is_indicator(*self.ranges[ranged].T)]

    @property
    def without_ranges(self) -> "ColumnBounds":
        """The same bounds on absolute values."""
        return replace(self, ranges=None, paired=None)

    @property
    def others_are_one(self) -> bool:
        """Whether the bound of every column without a range is 1."""
        if self.stretch is None:
            return self.largest == 1.0 or (self.ranges is not None and self.paired is None)
        return bool(np.all(np.delete(self.stretch, self.ranged) == self.largest))

    @property
    def differ(self) -> bool:
        """Whether columns have bounds or ranges of their own."""
        return self.stretch is not None or self.ranges is not None

    def ends(self, columns: int) -> tuple[Floats, Floats]:
        """Low and high ends of all columns, before they are stretched."""
        if self.ranges is not None:
            return self.ranges[:, 0], self.ranges[:, 1]
        high = np.full(columns, self.largest)
        if self.stretch is not None:
            high = high / self.stretch
        return -high, high

    def apply(self, X: Any) -> Any:
        """``X`` stretched and clipped, column-compressed; ``X`` itself if nothing is stretched."""
        if isinstance(X, ColumnMatrix):
            if not np.array_equal(_or_ones(X.stretch), _or_ones(self.stretch)):
                raise ParameterError(
                    "{x_bound} must be one number if X is a ColumnMatrix; a matrix of a column "
                    "store that has bounds per column takes those"
                )
            return X
        if self.stretch is None:
            return X
        found = merged(X, "csc")
        columns = np.repeat(np.arange(X.shape[1]), np.diff(found.indptr))
        values = self.stretched(found.data, columns)
        return sp.csc_array((values, found.indices, found.indptr), shape=X.shape)

    def stretched(self, values: NDArray[Any], columns: NDArray[Any]) -> Floats:
        """Entries of the given columns, stretched and clipped, since products may overflow."""
        assert self.stretch is not None
        with np.errstate(over="ignore"):
            clipped: Floats = clipped_in_place(values * self.stretch[columns], self.largest)
        return clipped

    def scales(self, columns: int) -> tuple[Floats, Floats]:
        """Middle and size of every column (`range_scales`); 0 and its bound without a range.

        >>> [part.tolist() for part in ColumnBounds.of([(0, 120), 2.0], 2).scales(2)]
        [[60.0, 0.0], [60.0, 2.0]]
        """
        return range_scales(*self.ends(columns))

    def unstretched(self, weights: sp.csr_array) -> sp.csr_array:
        """Weights (outputs x columns) for the columns before stretching."""
        if self.stretch is None:
            return weights
        values = weights.data * self.stretch[weights.indices]
        return sp.csr_array((values, weights.indices, weights.indptr), shape=weights.shape)

    def uncentred(self, weights: sp.csr_array, intercepts: Floats) -> tuple[sp.csr_array, Floats]:
        """Weights (outputs x columns) and intercepts for entries in their own units.

        The given ones are for columns that were centred and scaled by `scales`. A column whose ends
        meet says nothing, and gets no weight.

        >>> bounds = ColumnBounds.of([(0, 120), 2.0], 2)
        >>> found, intercepts = bounds.uncentred(sp.csr_array([[3.0, 4.0]]), np.zeros(1))
        >>> found.toarray().tolist(), intercepts.tolist()
        ([[0.05, 2.0]], [-3.0])
        """
        middles, sizes = self.scales(weights.shape[1])
        at, outputs = (
            weights.indices,
            np.repeat(np.arange(len(intercepts)), np.diff(weights.indptr)),
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.where(sizes[at] > 0.0, weights.data / sizes[at], 0.0)
        moved = np.bincount(outputs, values * middles[at], len(intercepts))
        shape = weights.shape
        return sp.csr_array((values, at, weights.indptr), shape=shape), intercepts - moved


def _places(
    columns: NDArray[np.int64] | None, among: NDArray[np.int64] | None
) -> NDArray[np.int64] | None:
    """Places of columns among others, increasing; all of them if ``among`` is None."""
    if columns is None or among is None:
        return columns
    return np.flatnonzero(np.isin(among, columns))


def ranges_of(x_bound: Any) -> Floats | None:
    """Low and high ends of the columns, columns x 2; None if ``x_bound`` has no pairs.

    >>> ranges_of([(0, 120), 1.0]).tolist(), ranges_of([1.0, 2.0])
    ([[0.0, 120.0], [-1.0, 1.0]], None)
    """
    if isinstance(x_bound, str | SparseBounds) or not isinstance(x_bound, Iterable):
        return None
    if isinstance(x_bound, np.ndarray) and x_bound.ndim < 2:
        return None
    try:
        if all(isinstance(bound, Real | str) or np.ndim(bound) == 0 for bound in x_bound):
            return None
        ranges = np.array([_pair(bound) for bound in x_bound], dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        ranges = np.empty(0)
    if ranges.ndim != 2 or ranges.shape[1:] != (2,):
        raise ParameterError(
            "{x_bound} must have a positive number, or a low and a high end, for every column; two "
            "arrays, of lows and of highs, become pairs by numpy.column_stack([lows, highs])"
        )
    sound = np.all(np.isfinite(ranges), axis=1) & (ranges[:, 0] <= ranges[:, 1])
    if not sound.all():
        raise ValueError(
            "x_bound must have finite ranges, each with its low end first; correct that of column "
            f"{int(np.argmin(sound))}, counted from 0"
        )
    return ranges


def _paired(x_bound: Any) -> NDArray[np.int64] | None:
    """The columns of which both ends are given; None if all of them are."""
    if isinstance(x_bound, np.ndarray):
        return None
    found = np.flatnonzero([np.ndim(bound) == 1 for bound in x_bound])
    return found if len(found) < len(x_bound) else None


def _pair(bound: Any) -> Any:
    """The range of a column, given by its ends or by a bound on absolute values."""
    if np.ndim(bound) == 1:
        return bound
    if not bound > 0 or isinstance(bound, bool | np.bool_):
        raise ValueError
    return -bound, bound


def sizes_of(ranges: Floats) -> Floats:
    """Bounds on the absolute values of columns with these ranges; 1 where both ends are 0.

    They are rounded up to single precision. Entries are clipped to such a number (`clip_limit`),
    which below the high end of a narrow range far from 0 would leave nothing of it.
    """
    sizes: Floats = np.abs(ranges).max(axis=1, initial=0.0)
    sizes = np.where(sizes > 0.0, sizes, 1.0)
    with np.errstate(over="ignore"):
        single = sizes.astype(np.float32)
        above = np.where(single < sizes, np.nextafter(single, np.float32(np.inf)), single)
    normal = (sizes >= np.finfo(np.float32).smallest_normal) & np.isfinite(above)
    return np.where(normal, above.astype(np.float64), sizes)


def _or_ones(stretch: Floats | None) -> Floats:
    return np.ones(1) if stretch is None else stretch


def by_position(x_bound: Any, names: Any) -> Any:
    """``x_bound``, or if it is a mapping, a list of its bounds in the order of ``names``."""
    if not isinstance(x_bound, Mapping):
        return x_bound
    if names is None:
        raise ParameterError(
            "{x_bound} maps feature names, but X has none; pass a data frame, or bounds by "
            'position; behind another step of a pipeline, set_output(transform="pandas") of that '
            "step keeps the names"
        )
    # If there are more names than bounds, a missing one is found early.
    missing = next((name for name in names if name not in x_bound), None)
    unknown = set() if missing is not None else set(x_bound).difference(names)
    if missing is not None or unknown:
        what, name = ("names", sorted(map(str, unknown))[0]) if unknown else ("misses", missing)
        raise ParameterError(
            "{x_bound} must map every feature name of X and no other, but it {what} {name!r}; "
            "give one bound per feature",
            what=what,
            name=name,
        )
    return [x_bound[name] for name in names]


def _vector(x_bound: Any) -> Floats:
    try:
        bounds = np.asarray(x_bound, dtype=np.float64)
    except (TypeError, ValueError):
        bounds = np.empty(0)
    if bounds.ndim != 1 or len(bounds) == 0 or isinstance(x_bound, str | bytes):
        raise ParameterError(
            "{x_bound} must be a positive number, one per column, or a mapping from feature names, "
            "got {kind}",
            kind=type(x_bound).__name__,
        )
    return bounds
