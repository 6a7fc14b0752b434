"""Small data for audits, of every kind that the engine treats differently."""

import numpy as np

from dplasso.audit.reference import PRESENCE, Table, entries_of
from dplasso.audit.selection.reference import SelectionFacts, gradients
from dplasso.audit.synthetic import (
    Neighbours,
    canary,
    gathered,
    joined,
    labels_apart,
    random_labels,
)

MOST_ROWS = 4000
_TILT = 0.3  # nats by which rows against the canary win: its margin stays low, its gradient high
_BEYOND = 8.0  # times the bound: a fit must clip such entries
_UNITS = 100  # most units of rivals per column


def mixed_rows(columns: int, nats: float, facts: SelectionFacts, rng: np.random.Generator) -> Table:
    """Columns from nearly empty to full, an empty one, two equal ones, and some informative ones.

    All rows together can change a log-weight by about ``nats``: with more nats, the engine has
    light, heavy and dense columns; with fewer, every outcome stays possible in practice.
    """
    row = facts.theta * facts.held_bound * facts.gradient_bound
    rows = int(min(max(nats / row, 12.0), MOST_ROWS))
    y = random_labels(rows, facts, rng)
    density = np.geomspace(min(1.0, 2.0 / rows), 1.0, columns)
    signs = np.where(rng.random((rows, columns)) < 0.5, 1.0, -1.0)
    telling = rng.random((rows, columns)) < 0.3
    towards = np.where(y > y.mean(), 1.0, -1.0)[:, None] * (-1.0) ** np.arange(columns)
    X = np.where(telling, towards, signs) * rng.uniform(0.1, 1.3, (rows, columns))
    X *= rng.random((rows, columns)) < density
    X[:, 2 % columns] = 0.0
    X[:, -2 % columns] = X[:, -1]
    return gathered(Table(entries_of(X, facts), y), facts, rng)


def canary_rows(columns: int, facts: SelectionFacts) -> Neighbours:
    """Rows that hold a canary's gradient near its bound, with the canary last, and without it.

    Each column has rows of its own that pull slightly against the canary: most steps lower the
    canary's margin, so that its gradient is large, but all outcomes stay likely, so that its effect
    is visible. Labels of these rows balance, or the intercept would win every round. Where rows are
    replaced, the same row with another label takes the canary's place.
    """
    kinds = max(facts.classes, 2)
    signs = np.where(np.arange(columns) % 2 == 0, 1.0, -1.0)
    own, others = labels_apart(facts)
    pull = facts.theta * facts.held_bound * _pull_of_unit(own, facts)
    units = int(min(max(round(_TILT / pull), 1), _UNITS))
    # A sign reverses a row; where only presence counts, the reversed entries are left out.
    block = np.ones((kinds * units, 1))
    block[:units] = 0.0 if facts.row_map == PRESENCE else -1.0
    # Adding 0 removes negative zeros.
    X = entries_of(np.asarray(np.kron(np.diag(signs), block) + 0.0, np.float64), facts)
    crowd = Table(X, np.tile(np.repeat([own, *others], units), columns))
    row = entries_of(_BEYOND * signs, facts)
    present, rival = (
        joined(crowd, len(X), canary(row, label, facts)) for label in (own, others[0])
    )
    return present, rival if facts.neighboring == "replace_one" else crowd


def _pull_of_unit(own: float, facts: SelectionFacts) -> float:
    """Contribution of one row of every kind to a score of the canary's class, at margins of 0."""
    ways = 1.0 if facts.row_map == PRESENCE else 2.0
    gradient = gradients(np.zeros((1, 1, facts.outputs)), np.array([own]), facts)
    return ways * float(np.abs(gradient).max())


def rows_with_nonzeros(columns: int, counted: int, facts: SelectionFacts) -> Table:
    """Rows on which the LASSO has ``counted`` nonzero columns: none, or all of them.

    Every column has rows of its own, equal for all columns, so that no other column can replace it;
    for none, rows are empty.
    """
    kinds = max(facts.classes, 2)
    X = np.asarray(np.kron(np.eye(columns), np.ones((kinds, 1))), np.float64)
    own, others = labels_apart(facts)
    X[1::kinds] *= -1.0
    y = np.tile([own, *others], columns)
    return Table(entries_of(X if counted else np.zeros_like(X), facts), y)
