"""Rows and labels as a fit should hold them, in plain numpy."""

import math

import numpy as np

from dplasso.audit.facts import BLEND, PRESENCE, SQRT, Facts
from dplasso.base.arrays import Floats


def column_bounds(columns: int, facts: Facts) -> Floats:
    """The declared bound on every column, repeated from the first where there are more columns."""
    if facts.bounds is not None:
        repeated: Floats = np.resize(facts.bounds, columns)
        return repeated
    return np.full(columns, facts.x_bound)


def held_rows(X: Floats, facts: Facts) -> Floats:
    """Entries clipped and scaled to one bound; or their roots, or their means with the bound; or 1
    for every nonzero entry."""
    if facts.rows == PRESENCE:
        return np.where(X != 0.0, 1.0, 0.0)
    bounds = column_bounds(X.shape[1], facts)
    rows = _clipped(X * (facts.x_bound / bounds), facts.x_bound)
    if facts.rows == SQRT:
        rows = np.sign(rows) * np.sqrt(np.abs(rows))
    if facts.rows == BLEND:
        rows = (rows + np.sign(rows) * facts.x_bound) / 2.0
    return _clipped(rows, facts.held_bound)


def limit_of(bound: float) -> float:
    """The bound truncated to the 24 leading bits of single precision, where it is in its range."""
    if not 2.0**-126 <= bound <= (2.0 - 2.0**-23) * 2.0**127:
        return bound
    part, exponent = math.frexp(bound)
    return math.ldexp(math.floor(part * 2**24), exponent - 24)


def _clipped(rows: Floats, bound: float) -> Floats:
    clipped: Floats = np.clip(rows, -limit_of(bound), limit_of(bound))
    return clipped


def held_labels(y: Floats, facts: Facts) -> Floats:
    """Indices of classes, or clipped numbers."""
    return y if facts.classes else np.clip(y, -facts.y_bound, facts.y_bound)
