"""The scale of each column: its public bound, if columns have different bounds."""

from typing import Any

import numpy as np

from dplasso.base.arrays import Floats
from dplasso.data.sparse_bounds import SparseBounds
from dplasso.report.weights import is_online


def bounds_of(model: Any) -> Floats | SparseBounds | None:
    """Return one bound per column, or None if weights can be compared without scaling."""
    found: Floats | SparseBounds | None = None
    if not is_online(model):
        found = model.fitted_.reader.bounds_by_column
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
    bound.
    """
    weights, bounds, largest = model.fitted_.weights, bounds_of(model), largest_bound(model)
    sizes, intercepts, found = np.abs(weights.data), model.intercept_, model.fitted_.correction
    if bounds is not None:
        sizes = sizes * bounds[weights.indices] / largest
    if found is not None:
        sizes, intercepts = sizes / found.scale, (intercepts - found.shifts) / found.scale
    return float(sizes.sum() + np.abs(intercepts).sum() / largest)


def scale_of(model: Any) -> float:
    """Return the scale by which a correction of probabilities multiplied all coefficients."""
    found = model.fitted_.correction
    return 1.0 if found is None else float(found.scale)
