"""Rows that a loader may store in several ways, and rows that change how it stores all rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from dplasso.audit.representation.forms import narrowest
from dplasso.base.arrays import Floats

ONES, WHOLE, SINGLE = "ones", "whole numbers", "single precision"
KINDS = (ONES, WHOLE, SINGLE)
_DENSITY = 0.4
USED = 32  # columns that have entries, where there are very many columns
_EDGES = 2.0**16
_LARGE = 1e39  # beyond single precision
_SMALL = 0.1  # not exact in single precision


def rows_of_kind(
    kind: str, rows: int, columns: int, bound: float, rng: np.random.Generator
) -> Floats:
    """Rows of 0 and 1, of small whole numbers, or of numbers exact in single precision.

    Most integers exceed the bound; the other numbers do not. Some rows are empty.
    """
    used = min(columns, USED)
    there = rng.random((rows, used)) < _DENSITY
    there[:2] = False
    if kind == ONES:
        values = np.ones((rows, used))
    elif kind == WHOLE:
        values = rng.integers(-3, 8, (rows, used)).astype(np.float64)
    else:
        shares = rng.uniform(-1.0, 1.0, (rows, used))
        # Half of them lie at a rounding edge, for holders that keep integers.
        edges = np.rint(shares * _EDGES) / _EDGES
        values = np.where(rng.random((rows, used)) < 0.5, shares, edges) * bound
        values = values.astype(np.float32).astype(np.float64)
    X = np.zeros((rows, columns))
    X[:, :used] = values * there
    return X


def telling_rows(columns: int, bound: float, rng: np.random.Generator) -> Iterator[Floats]:
    """Rows that do not fit the narrowest storage of most other rows."""
    for value in (3.0, _SMALL, 10.0 * bound, float(2**31 + 1), _LARGE):
        row = np.zeros(columns)
        row[rng.integers(min(columns, USED))] = value
        yield row


def ways_to_store(X: Floats) -> Iterator[tuple[str, Any]]:
    """The containers that a loader might choose, in the narrowest type that holds all rows."""
    narrow = narrowest(X)
    yield "dense", narrow
    if narrow.dtype == np.float16:
        narrow = narrow.astype(np.float32)
    for form in (sp.csr_array, sp.csc_array, sp.coo_array):
        yield form.__name__, form(narrow)


def with_a_repeat(X: Floats) -> sp.coo_array:
    """The narrowest sparse matrix, with an entry of the last row given in two parts."""
    narrow = narrowest(X)
    narrow = narrow.astype(np.float32) if narrow.dtype.kind in "bi" else narrow
    found = sp.coo_array(narrow)
    rows, columns = found.coords
    last = np.flatnonzero(rows == len(X) - 1)[:1]
    values = found.data.copy()
    values[last] /= 2
    repeated = np.concatenate([values, values[last]])
    places = [np.concatenate([place, place[last]]) for place in (rows, columns)]
    return sp.coo_array((repeated, tuple(places)), shape=X.shape)
