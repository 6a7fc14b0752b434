"""How much a row counts: a person counts as a few rows at most, and classes may count less.

Formal guarantees
-----------------
Row i of a person with c rows has the exact weight e_i = min(1, k / c) times the declared weight of
its class, which is at most 1; k is ``rows_per_person``. The exact weights of a person's rows add up
to at most k, and they depend on that person's rows alone. A row without an identifier has weight 0.

The weight w_i that is returned is 1 if e_i is, and otherwise rounded down, so that
w_i (1 + 2^-41) <= e_i. A vector of length at most L that is multiplied by w_i in double precision,
by a few operations, and rounded towards 0 to whole numbers thus has a length of at most e_i L,
exactly: no rounding reaches 2^-41. The vectors of a person then add up to at most k L.

So a release whose sensitivity is S for one row has sensitivity k S for one person, added or
removed. Where one person is replaced by another, the two sums differ by at most k times the largest
distance between two points of the convex hull of all vectors of one row, and 0.
"""

import numpy as np

from dplasso.base.arrays import Floats, Ints
from dplasso.data.identifiers import NOBODY

_SAFE = 1.0 - 2.0**-40  # covers the rounding of the weight, and of what is computed with it


def row_weights(
    people: Ints | None,
    rows_per_person: int = 1,
    classes: Ints | None = None,
    class_weights: Floats | None = None,
) -> Floats | None:
    """Weights of all rows, or None if every row counts fully because nothing says otherwise.

    ``people`` are the numbers of `people_of`. ``classes`` are the classes of the rows, as places in
    ``class_weights``. Whether it is None is a function of which arguments are given.

    >>> row_weights(np.array([0, 1, 1, 1, 1, -1])).round(3).tolist()
    [1.0, 0.25, 0.25, 0.25, 0.25, 0.0]
    >>> row_weights(np.array([0, 1, 1, 1, 1, -1]), rows_per_person=2).round(3).tolist()
    [1.0, 0.5, 0.5, 0.5, 0.5, 0.0]
    """
    rows = None if people is None else rows_of_people(people)
    return weights_of_counts(rows, rows_per_person, classes, class_weights)


def weights_of_counts(
    rows: Ints | None,
    rows_per_person: int = 1,
    classes: Ints | None = None,
    class_weights: Floats | None = None,
) -> Floats | None:
    """The same, given for every row how many rows its person has; 0 where there is no person."""
    shares: Floats | None = None
    if rows is not None:
        shares = _shares_of_people(rows, rows_per_person)
    if classes is not None and class_weights is not None:
        of_class = class_weights[classes]
        shares = of_class if shares is None else shares * of_class
    return None if shares is None else np.where(shares < 1.0, shares * _SAFE, 1.0)


def rows_of_people(people: Ints) -> Ints:
    """For every row, the number of rows of its person; 0 for rows without one."""
    known = people != NOBODY
    found = np.zeros(len(people), np.int64)
    found[known] = np.bincount(people[known])[people[known]]
    return found


def _shares_of_people(rows: Ints, rows_per_person: int) -> Floats:
    return np.where(rows > 0, np.minimum(rows_per_person / np.maximum(rows, 1), 1.0), 0.0)
