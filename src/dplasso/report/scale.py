"""How much each column can weigh: its public bound, where columns differ in it."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.data import ColumnBounds
from dplasso.data.sparse_bounds import SparseBounds


def bounds_of(model: Any) -> NDArray[np.float64] | SparseBounds | None:
    """One bound a column; None where all are equal, so that a weight tells by itself."""
    names = getattr(model, "feature_names_in_", None)
    if getattr(model, "solver_", None) != "frank_wolfe" or model.rows_ != "as_is":
        return None  # weights are for rows that were stretched, or scaled to length 1
    if not isinstance(model.privacy_["bounds"]["x_bound"]["value"], str):
        return None
    if isinstance(model.x_bound, SparseBounds):
        return None if model.x_bound.min() == model.x_bound.max() else model.x_bound
    found = ColumnBounds.of(model.x_bound, model.n_features_in_, names)
    return None if found.stretch is None else found.largest / found.stretch


def largest_bound(model: Any) -> float:
    """The one that all columns are stretched to."""
    bounds = bounds_of(model)
    if bounds is not None:
        return float(bounds.max())
    stated = model.privacy_["bounds"]["x_bound"]["value"]
    if model.rows_ == "presence":
        return 1.0
    bound = float(np.max(model.x_bound)) if isinstance(stated, str) else float(stated)
    return math.sqrt(bound) if model.rows_ == "sqrt" else bound


def radius_of(model: Any) -> float:
    return float(model.privacy_["bounds"]["radius"]["value"])


def norm_of(model: Any) -> float:
    """The sum that the radius bounds: coefficients by their bounds over the largest, and the
    intercept over the largest."""
    weights, bounds, largest = model._weights, bounds_of(model), largest_bound(model)
    sizes = np.abs(weights.data)
    if bounds is not None:
        sizes = sizes * bounds[weights.indices] / largest
    return float(sizes.sum() + np.abs(model.intercept_).sum() / largest)
