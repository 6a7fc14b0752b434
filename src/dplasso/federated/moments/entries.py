"""Which entries of the matrix of products are opened."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dplasso.base.arrays import Ints
from dplasso.federated.moments.terms import MomentTerms


@lru_cache(maxsize=4)
def opened_entries(terms: MomentTerms) -> tuple[Ints, Ints]:
    """Return rows and columns of the upper triangle, without products of labels with labels.

    No weights follow from these, and a person would move them, too. Columns are in the order of the
    parties, as they are while the matrix is shared.
    """
    rows, columns = np.triu_indices(terms.n_columns)
    labels = terms.columns(terms.label_holder).stop - terms.n_targets
    after = terms.columns(terms.label_holder).stop
    opened = ~((labels <= rows) & (columns < after))
    return rows[opened], columns[opened]


def own_entries(terms: MomentTerms, party: str) -> NDArray[np.bool_]:
    """Return which opened entries are products of columns that are all of one party."""
    own = terms.columns(party)
    found: NDArray[np.bool_] = np.ones(entry_count(terms), bool)
    for places in opened_entries(terms):
        found &= (own.start <= places) & (places < own.stop)
    return found


def cross_entries(terms: MomentTerms) -> NDArray[np.bool_]:
    """Return which opened entries are products of columns of two parties."""
    own: NDArray[np.bool_] = np.zeros(entry_count(terms), bool)
    for party in terms.names:
        own |= own_entries(terms, party)
    return ~own


def entry_count(terms: MomentTerms) -> int:
    """Return how many entries are opened.

    >>> from dplasso.federated.moments.terms import agree_moments
    >>> public = dict(n_rows=9, epsilon=1.0, delta=1e-3, n_classes=3)
    >>> entry_count(agree_moments({"a": 2, "b": 1}, "a", **public))  # 7 columns, 3 of labels
    22
    """
    return _triangle(terms.n_columns) - _triangle(terms.n_targets)


def _triangle(size: int) -> int:
    return size * (size + 1) // 2
