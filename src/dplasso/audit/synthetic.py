"""Data for several audits: labels, extreme rows, and the forms in which users pass rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from dplasso.audit.reference import Claim, Facts, column_bounds
from dplasso.audit.representation.forms import in_parts
from dplasso.base.arrays import Floats

Table = tuple[Floats, Floats]  # rows and labels
# Tables with a canary, and without it or with its rival in its place.
Neighbours = tuple[Table, Table]


def inserted(table: Table, at: int, row: Floats, label: float) -> Table:
    """The table with one more row."""
    return np.insert(table[0], at, row, axis=0), np.insert(table[1], at, label)


def replaced(table: Table, at: int, row: Floats, label: float) -> Table:
    """The table with another row in one place."""
    X, y = table[0].copy(), table[1].copy()
    X[at], y[at] = row, label
    return X, y


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
    bounds = column_bounds(columns, facts)
    signs = np.where(rng.random(columns) < 0.5, 1.0, -1.0)
    kind = rng.integers(4)
    if kind == 0:
        x = signs * bounds
    elif kind == 1:
        x = signs * bounds * 10.0 ** rng.uniform(0.0, 3.0, columns)
    elif kind == 2:
        x = np.where(np.arange(columns) == rng.integers(columns), signs * bounds, 0.0)
    else:
        x = rng.normal(size=columns) * bounds
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
