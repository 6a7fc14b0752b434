"""The scale of each column: its public bound, and the width of its public range."""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.base.arrays import Floats, Ints
from dplasso.data.sparse_bounds import SparseBounds
from dplasso.report.weights import is_online


def bounds_of(model: Any) -> Floats | SparseBounds | None:
    """Return one bound per column, by which the radius counts weights; None if all are equal."""
    found: Floats | SparseBounds | None = None
    if not is_online(model):
        found = model.fitted_.reader.bounds_by_column
    return found


def has_widths(model: Any) -> bool:
    """Return whether weights must be multiplied by `widths_of` before they can be compared."""
    if is_online(model) or not model.fitted_.reader.plain:
        return False
    known = model.fitted_.reader.x_bound
    if isinstance(known, SparseBounds):
        return bool(len(known.paired)) or known.min() != known.max()
    return not isinstance(known, Real) and bool(model.fitted_.reader.bounds().differ)


Ends = tuple[Floats, Floats, NDArray[np.bool_]]


def ends_of(model: Any) -> Ends | None:
    """Return both ends of each column, and whether they were declared as a range.

    None if all columns have the same ends.
    """
    if is_online(model) or not model.fitted_.reader.plain:
        return None
    columns = model.fitted_.reader.n_features
    known = model.fitted_.reader.bounds()
    low, high = known.ends(columns)
    ranged = np.zeros(columns, np.bool_)
    ranged[known.ranged] = True
    each = (low, high, ranged)
    return None if all(found.min() == found.max() for found in each) else each


def is_centred(model: Any) -> bool:
    """Return whether coefficients count by the size of their column's range, not by its bound."""
    return not is_online(model) and bool(model.fitted_.reader.centres)


def widths_of(model: Any, columns: Ints) -> Floats:
    """Return the widths of the public ranges of some columns, by which weights can be compared.

    The width of a column without a range is its bound, the distance from an absent entry. Rows that
    are mapped have entries of one size.
    """
    if is_online(model) or not model.fitted_.reader.plain:
        return np.ones(len(columns))
    known = np.unique(columns)
    bounds = model.fitted_.reader.bounds(known)
    low, high = bounds.ends(len(known))
    widths = high.copy()
    at = bounds.ranged  # places among the known columns, as those of the ends
    widths[at] = high[at] - low[at]
    found: Floats = widths[np.searchsorted(known, columns)]
    return found


def largest_bound(model: Any) -> float:
    """Return the bound that all columns are stretched to."""
    return float(model.fitted_.reader.largest)


def radius_of(model: Any) -> float:
    return float(model.privacy_["bounds"]["radius"]["value"])


def norm_of(model: Any) -> float:
    """Return the sum that the radius bounds.

    It is that of the solver's own coefficients, before a correction of probabilities. They are
    multiplied by their bounds over the largest bound, and the intercept is divided by the largest
    bound. With ranges, the intercept is that of a row in the middle of them.
    """
    fitted, bounds, largest = model.fitted_, bounds_of(model), largest_bound(model)
    weights, found = fitted.weights, fitted.correction
    sizes = np.abs(weights.data)
    intercepts = fitted.intercepts + fitted.reader.middle_margins(weights)
    if bounds is not None:
        sizes = sizes * bounds[weights.indices] / largest
    if found is not None:
        sizes, intercepts = sizes / found.scale, (intercepts - found.shifts) / found.scale
    return float(sizes.sum() + np.abs(intercepts).sum() / largest)


def scale_of(model: Any) -> float:
    """Return the scale by which a correction of probabilities multiplied all coefficients."""
    found = model.fitted_.correction
    return 1.0 if found is None else float(found.scale)
