"""Margins of new rows computed step by step: the whole matrix is mapped, then multiplied."""

import numpy as np
import scipy.sparse as sp

from dplasso.data.merging import merged
from dplasso.data.row_maps import clipped, row_view


def margins(fitted, X):
    """The margins that a fitted model gives to rows, in any form of storage."""
    with np.errstate(all="ignore"):
        found = mapped_rows(fitted.reader, X) @ fitted.weights.toarray().T
    zero = fitted.reader.zero_margins(fitted.weights)
    return np.asarray(found, np.float64) + fitted.intercepts + zero


def mapped_rows(reader, X):
    """Dense rows, mapped as the rows of the fit were."""
    rows = merged(X, "csr").toarray().astype(np.float64)
    if reader.plain and reader.cuts:
        low, high = reader.ends(None, reader.n_features)
        return np.clip(rows, low, high) - np.clip(0.0, low, high)
    if reader.plain:
        return rows
    bounds = reader.bounds()
    if not reader.centres:
        bounds = bounds.without_ranges
    if reader.row_map == "as_is" and not reader.centres:
        found = clipped(bounds.apply(rows), bounds.largest)
    else:
        found, _ = row_view(rows, reader.row_map, bounds)
    found = found.toarray() if sp.issparse(found) else np.array(found, np.float64)
    if reader.chosen is not None:
        found[:, np.setdiff1d(np.arange(reader.n_features), reader.chosen)] = 0.0
    return unit_length(found) if reader.unit_rows else found


def unit_length(rows):
    """Rows of 2-norm 1; empty rows stay empty."""
    squares = np.sum(rows * rows, axis=1, keepdims=True)
    return rows / np.where(squares > 0.0, np.sqrt(squares), 1.0)
