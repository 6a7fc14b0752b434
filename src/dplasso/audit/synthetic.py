"""Data for several audits: labels, extreme rows, people, and the forms in which users pass rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from dplasso.audit.reference import NOBODY, Claim, Facts, Table, entries_of
from dplasso.audit.representation.forms import in_parts
from dplasso.base.arrays import Floats

# Numbers of rows of a person who comes or goes, mostly primes: nothing is divided without a rest.
SIZES = (1, 2, 3, 5, 6, 7, 29, 64, 97, 499, 997, 1000)
CANARY_SIZE = 7  # number of rows of a canary that is a person
_USUAL_SIZE = 3  # mean number of rows of other people
# Tables with a canary, and without it or with its rival in its place.
Neighbours = tuple[Table, Table]


def gathered(table: Table, facts: Claim, rng: np.random.Generator) -> Table:
    """The same rows as those of people, if people are protected: some have several rows, which
    need not follow each other, and some rows are nobody's."""
    if not facts.of_people:
        return table
    rows = len(table.y)
    people = rng.integers(0, max(rows // _USUAL_SIZE, 1), rows)
    return table._replace(people=np.where(rng.random(rows) < 0.05, NOBODY, people))


def canary(row: Floats, label: float, facts: Claim) -> Table:
    """A row that comes or goes; if people are protected, a person who has it several times."""
    size = CANARY_SIZE if facts.of_people else 1
    return Table(np.repeat(row[None, :], size, axis=0), np.full(size, label))


def newcomer(row: Floats, label: float, facts: Facts, rng: np.random.Generator) -> Table:
    """The same with up to 1,000 rows, which may also be of several kinds."""
    if not facts.of_people:
        return canary(row, label, facts)
    size = int(rng.choice(SIZES))
    X, y = np.repeat(row[None, :], size, axis=0), np.full(size, label)
    if rng.random() < 0.3:
        others = rng.random(size) < 0.5
        X[others], y[others] = random_row(len(row), facts, rng)
    return Table(X, y)


def joined(table: Table, at: int, newcomer: Table) -> Table:
    """The table with one more row, or with the rows of one more person, from one place on."""
    places = np.full(len(newcomer.y), at)
    people = table.people
    if people is not None or len(places) > 1:
        people = np.arange(len(table.y)) if people is None else people
        people = np.insert(people, places, people.max(initial=NOBODY) + 1)
    X, y = np.insert(table.X, places, newcomer.X, axis=0), np.insert(table.y, places, newcomer.y)
    return Table(X, y, people)


def left(table: Table, at: int) -> Table:
    """The table without one row, or without all rows of the person it belongs to."""
    stay = np.arange(len(table.y)) != at
    if table.people is None:
        return Table(table.X[stay], table.y[stay])
    stay &= (table.people != table.people[at]) | (table.people == NOBODY)
    return Table(table.X[stay], table.y[stay], table.people[stay])


def random_labels(rows: int, facts: Claim, rng: np.random.Generator) -> Floats:
    """Indices of classes, or numbers of which some exceed their bound."""
    if facts.classes:
        return rng.integers(0, facts.classes, rows).astype(np.float64)
    return rng.uniform(-1.5, 1.5, rows) * facts.y_bound


def labels_in_turn(rows: int, facts: Claim) -> Floats:
    """Labels that alternate among all classes, or between two numbers."""
    return np.arange(float(rows)) % max(facts.classes, 2)


def random_row(columns: int, facts: Facts, rng: np.random.Generator) -> tuple[Floats, float]:
    """A row of a kind with large effect: at the bound, far beyond it, with one entry, or random."""
    signs = np.where(rng.random(columns) < 0.5, 1.0, -1.0)
    kind = rng.integers(4)
    if kind == 0:
        x = signs
    elif kind == 1:
        x = signs * 10.0 ** rng.uniform(0.0, 3.0, columns)
    elif kind == 2:
        x = np.where(np.arange(columns) == rng.integers(columns), signs, 0.0)
    else:
        x = rng.normal(size=columns)
    x = entries_of(x, facts)
    if facts.classes:
        return x, float(rng.integers(facts.classes))
    return x, float(rng.choice([-3.0, -1.0, 1.0, 3.0]) * facts.y_bound)


def random_form(rng: np.random.Generator) -> Callable[[Floats], Any]:
    """One of the forms in which users pass rows."""
    forms = (np.asarray, sp.csr_array, _in_single_precision, _in_halves)
    return forms[rng.integers(len(forms))]


def _in_single_precision(X: Floats) -> Any:
    return sp.csc_array(X.astype(np.float32))


def _in_halves(X: Floats) -> Any:
    """Every entry in two parts, which must be added up before they are clipped."""
    return in_parts(X, [X / 2.0, X / 2.0])


def labels_apart(facts: Facts) -> tuple[float, list[float]]:
    """A label, and all opposite ones: the other classes, or the other end of the numbers."""
    if not facts.classes:
        return facts.y_bound, [-facts.y_bound]
    own = 1.0 if facts.outputs == 1 else 0.0
    return own, [float(k) for k in range(facts.classes) if k != own]
