"""Public bounds on the entries of columns: one for all, or one per column."""

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso.base.arrays import Floats
from dplasso.data.clip_limit import clipped_in_place
from dplasso.data.columns import ColumnMatrix
from dplasso.data.merging import merged
from dplasso.data.sparse_bounds import SparseBounds


@dataclass(frozen=True)
class ColumnBounds:
    """The largest bound, and the factor by which each column is stretched to it.

    A column with a smaller bound is multiplied by ``largest / bound``: all columns then share one
    bound, and a weight of the stretched column is multiplied by the same factor. The ball then
    weights coefficients by their bounds: ``sum_j bound_j |w_j| <= radius * largest``.

    Attributes
    ----------
    largest : float
    stretch : array of float64, one factor per column, or None if all bounds are equal
    """

    largest: float
    stretch: Floats | None

    @classmethod
    def of(
        cls,
        x_bound: Any,
        columns: int,
        names: Any = None,
        among: NDArray[np.int64] | None = None,
    ) -> "ColumnBounds":
        """Read ``x_bound``: a number, one number per column, or a mapping from feature names.

        The stretch has one factor for each of the columns ``among``, by default all columns.

        >>> ColumnBounds.of([1.0, 4.0], 2).stretch.tolist()
        [4.0, 1.0]
        """
        if isinstance(x_bound, Real) and not isinstance(x_bound, bool | np.bool_):
            return cls(float(_positive(np.array([float(x_bound)]))[0]), None)
        x_bound = by_position(x_bound, names)
        bounds = x_bound if isinstance(x_bound, SparseBounds) else _vector(x_bound)
        if len(bounds) != columns:
            raise ValueError(
                f"x_bound must have one bound a column, got {len(bounds)} for {columns} columns; "
                "give as many as X has columns, or one number for all"
            )
        smallest, largest = _positive(np.array([bounds.min(), bounds.max()])).tolist()
        if largest == smallest:
            return cls(largest, None)
        if largest / smallest > 1e30:
            raise ValueError("x_bound spans more than 30 orders of magnitude; rescale X first")
        return cls(largest, largest / np.asarray(bounds if among is None else bounds[among]))

    def apply(self, X: Any) -> Any:
        """``X`` stretched and clipped, column-compressed; ``X`` itself if nothing is stretched."""
        if isinstance(X, ColumnMatrix):
            if not np.array_equal(_or_ones(X.stretch), _or_ones(self.stretch)):
                raise ValueError(
                    "x_bound must be one number where X is a ColumnMatrix; one that a column store "
                    "gives for bounds per column takes those"
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

    def unstretched(self, weights: sp.csr_array) -> sp.csr_array:
        """Weights (outputs x columns) for the columns before stretching."""
        if self.stretch is None:
            return weights
        values = weights.data * self.stretch[weights.indices]
        return sp.csr_array((values, weights.indices, weights.indptr), shape=weights.shape)


def _or_ones(stretch: Floats | None) -> Floats:
    return np.ones(1) if stretch is None else stretch


def by_position(x_bound: Any, names: Any) -> Any:
    """``x_bound``, or if it is a mapping, a list of its bounds in the order of ``names``."""
    if not isinstance(x_bound, Mapping):
        return x_bound
    if names is None:
        raise ValueError(
            "x_bound maps feature names, but X has none; pass a data frame, or bounds by position"
        )
    # If there are more names than bounds, a missing one is found early.
    missing = next((name for name in names if name not in x_bound), None)
    unknown = set() if missing is not None else set(x_bound).difference(names)
    if missing is not None or unknown:
        what, name = ("names", sorted(map(str, unknown))[0]) if unknown else ("misses", missing)
        raise ValueError(
            f"x_bound must map every feature name of X and no other, but it {what} {name!r}; "
            "give one bound per feature"
        )
    return [x_bound[name] for name in names]


def _vector(x_bound: Any) -> Floats:
    try:
        bounds = np.asarray(x_bound, dtype=np.float64)
    except (TypeError, ValueError):
        bounds = np.empty(0)
    if bounds.ndim != 1 or len(bounds) == 0 or isinstance(x_bound, str | bytes):
        raise ValueError(
            f"x_bound must be a positive number, one per column, or a mapping from feature names, "
            f"got {type(x_bound).__name__}"
        )
    return bounds


def _positive(bounds: Floats) -> Floats:
    if not np.all((bounds > 0) & (bounds < np.inf)):
        raise ValueError(
            "x_bound must be positive and finite; give the public bounds entries are clipped to"
        )
    return bounds
