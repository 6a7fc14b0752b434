"""Bounds and ranges of columns as an audited estimator declares them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.data.bounds import sizes_of
from dplasso.data.sparse_bounds import SparseBounds

Bound = float | tuple[float, float]


def by_column(x_bound: Any) -> list[Bound]:
    """Bounds by column, numbers and pairs; an empty list if one bound is for all columns.

    >>> by_column([(0, 120), 1]), by_column(1.0)
    ([(0.0, 120.0), 1.0], [])
    """
    if isinstance(x_bound, SparseBounds):
        x_bound = x_bound.with_pairs()
    if x_bound is None or isinstance(x_bound, str) or np.isscalar(x_bound):
        return []
    if isinstance(x_bound, np.ndarray):
        x_bound = x_bound.tolist()
    return [
        (float(bound[0]), float(bound[1])) if isinstance(bound, Sequence) else float(bound)
        for bound in x_bound
    ]


def has_ranges(x_bound: Any) -> bool:
    """Whether a column has a range."""
    return any(isinstance(bound, tuple) for bound in by_column(x_bound))


def sizes_by_column(x_bound: Any) -> list[float]:
    """Bounds on absolute values; beside ranges, all are rounded up to single precision."""
    given = by_column(x_bound)
    if not has_ranges(x_bound):
        return [float(np.max(bound)) for bound in given]
    ends = [bound if isinstance(bound, tuple) else (-bound, bound) for bound in given]
    return [float(size) for size in sizes_of(np.array(ends))]


def ranges_by_column(x_bound: Any) -> NDArray[np.float64] | None:
    """Ranges, columns x 2, with NaN for columns without one; None if no column has one."""
    if not has_ranges(x_bound):
        return None
    none = (np.nan, np.nan)
    return np.array([bound if isinstance(bound, tuple) else none for bound in by_column(x_bound)])
