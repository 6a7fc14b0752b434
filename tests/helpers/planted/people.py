"""Mistakes in what the rows of a person count as."""

import re

import numpy as np
import scipy.sparse as sp

from dplasso.data import identifiers
from dplasso.data import row_weights as weighing
from dplasso.estimators import PrivateLassoClassifier, base, people
from dplasso.search import trial
from dplasso.solvers.table.plan import CELL
from dplasso.solvers.table.rows import PrivateTable


def weights_by_row(monkeypatch):
    """Every row counts fully, however many rows its person has."""
    right = weighing._shares_of_people
    monkeypatch.setattr(weighing, "_shares_of_people", lambda rows, k: np.ceil(right(rows, k)))


def weights_rounded_up(monkeypatch):
    """Weights are not rounded down, and a little beyond what the rows of a person may count as."""
    monkeypatch.setattr(weighing, "_SAFE", 1.0 + 2.0**-20)


def weights_by_all_rows(monkeypatch):
    """The rows of everyone count less if one person has many rows."""
    right = weighing._shares_of_people

    def shares(rows, k):
        return np.where(rows == 0, 0.0, right(rows, k).min(initial=1.0, where=rows > 0))

    monkeypatch.setattr(weighing, "_shares_of_people", shares)


def weights_times(size):
    """Every row counts a little more than its share."""

    def plant(monkeypatch):
        right = people.row_weights
        monkeypatch.setattr(
            people,
            "row_weights",
            lambda *given: None if (found := right(*given)) is None else size * found,
        )

    return plant


def people_told_apart_by_their_place(monkeypatch):
    """Equal identifiers that do not follow each other are taken for two people."""
    right = people.people_of

    def people_of(groups):
        found = right(groups)
        return np.cumsum(np.append(0, found[1:] != found[:-1]))

    monkeypatch.setattr(people, "people_of", people_of)


def noise_for_a_row(monkeypatch):
    """Noise is that for one row, where a person counts as several."""
    right = people.Unit.of_people
    monkeypatch.setattr(
        people.Unit, "of_people", staticmethod(lambda rows, name=None: right(1, name))
    )


def weights_rounded_to_nearest(monkeypatch):
    """Weights are the nearest numbers, so that those of a person may add up to a little more."""
    monkeypatch.setattr(weighing, "_SAFE", 1.0)


def shares_rounded_to_nearest(monkeypatch):
    """What a row counts as is rounded to the nearest whole number: 1,000 rows exceed one row."""

    def whole(table):
        ones = np.full(len(table._labels), float(CELL))
        return np.rint(ones if table._weights is None else ones * table._weights).astype(np.int64)

    monkeypatch.setattr(PrivateTable, "_whole_weights", whole)


def weights_by_distinct_rows(monkeypatch):
    """A person who has one row many times counts as if they had it once."""
    checked, seen = base.PrivateLasso._checked, []

    def remembered(self, X, y):
        found = checked(self, X, y)
        seen[:] = [np.ascontiguousarray(sp.csr_array(found[0]).toarray())]
        return found

    def rows(people):
        found = np.zeros(len(people), np.int64)
        for person in np.unique(people[people >= 0]):
            own = people == person
            found[own] = len(np.unique(seen[0][own], axis=0))
        return found

    monkeypatch.setattr(base.PrivateLasso, "_checked", remembered)
    monkeypatch.setattr(weighing, "rows_of_people", rows)


def class_weights_of_mean_one(monkeypatch):
    """Weights of classes are scaled to a mean of 1, so that rows of one count more than a row."""
    right = PrivateLassoClassifier._weights_of
    monkeypatch.setattr(
        *(PrivateLassoClassifier, "_weights_of"),
        lambda self, classes: right(self, classes) / right(self, classes).mean(),
    )


def products_by_whole_weights(monkeypatch):
    """Both factors of a product of columns are multiplied by the weight, and not by its root."""

    def weigh(table, block, begin):
        if table._weights is not None:
            np.trunc(block * table._weights[begin : begin + len(block), None], out=block)

    monkeypatch.setattr(PrivateTable, "_weigh_for_products", weigh)


def nobody_is_somebody(monkeypatch):
    """Rows without an identifier are taken for those of one more person."""
    right = people.people_of

    def people_of(groups):
        found = right(groups)
        return np.where(found < 0, found.max(initial=-1) + 1, found)

    monkeypatch.setattr(people, "people_of", people_of)


def one_coin_per_row(monkeypatch):
    """A search fits some rows of a person, and scores the others."""
    monkeypatch.setattr(trial, "_first_rows", lambda people: np.arange(len(people)))


def identifiers_as_they_are(monkeypatch):
    """White space at the ends of identifiers is kept."""
    monkeypatch.setattr(identifiers, "_ENDS", re.compile("(?!)"))
