"""Small data for audits, of every kind that the engine treats differently."""

import numpy as np

from dplasso.audit.facts import PRESENCE, SOFTMAX
from dplasso.audit.reference_rows import column_bounds
from dplasso.audit.selection.facts import SelectionFacts
from dplasso.audit.synthetic import Neighbours, labels_apart, random_labels
from dplasso.base.arrays import Floats

MOST_ROWS = 4000
_TILT = 0.3  # nats by which rows against the canary win: its margin stays low, its gradient high
_BEYOND = 8.0  # times the bound: a fit must clip such entries
_UNITS = 100  # most units of rivals per column


def mixed_rows(
    columns: int, nats: float, facts: SelectionFacts, rng: np.random.Generator
) -> tuple[Floats, Floats]:
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
    return X * column_bounds(columns, facts), y


def canary_rows(columns: int, facts: SelectionFacts) -> Neighbours:
    """Rows that hold a canary's gradient near its bound, with the canary last, and without it.

    Each column has rows of its own that pull slightly against the canary: most steps lower the
    canary's margin, so that its gradient is large, but all outcomes stay likely, so that its effect
    is visible. Labels of these rows balance, or the intercept would win every round. Where rows are
    replaced, the same row with another label takes the canary's place.
    """
    bounds, kinds = column_bounds(columns, facts), max(facts.classes, 2)
    signs = np.where(np.arange(columns) % 2 == 0, 1.0, -1.0)
    own, others = labels_apart(facts)
    pull = facts.theta * facts.held_bound * _pull_of_unit(kinds, facts)
    units = int(min(max(round(_TILT / pull), 1), _UNITS))
    blocks, labels = [], []
    for j in range(columns):
        block = np.zeros((kinds * units, columns))
        block[:, j] = signs[j] * bounds[j]
        # A sign reverses a row; where only presence counts, the reversed entries are left out.
        block[:units, j] *= 0.0 if facts.rows == PRESENCE else -1.0
        blocks.append(block)
        labels.append(np.repeat([own, *others], units))
    canary = _BEYOND * signs * bounds
    X, y = np.concatenate(blocks), np.concatenate(labels)
    present = np.vstack([X, canary]), np.append(y, own)
    if facts.neighboring == "replace_one":
        return Neighbours(present, (present[0], np.append(y, others[0])))
    return Neighbours(present, (X, y))


def _pull_of_unit(kinds: int, facts: SelectionFacts) -> float:
    """Contribution of one row of every kind to a score of the canary's class, at margins of 0."""
    ways = 1.0 if facts.rows == PRESENCE else 2.0
    if not facts.classes:
        return ways * min(facts.y_bound, facts.residual_bound)
    if facts.slope is not None:
        return ways * float(np.abs(facts.slope(np.zeros((1, 1)), np.ones(1))).max())
    return ways * (1.0 - 1.0 / kinds if facts.loss == SOFTMAX else 0.5)


def rows_with_nonzeros(columns: int, counted: int, facts: SelectionFacts) -> tuple[Floats, Floats]:
    """Rows on which the LASSO has ``counted`` nonzero columns: none, or all of them.

    Every column has rows of its own, equal for all columns, so that no other column can replace it;
    for none, rows are empty.
    """
    kinds = max(facts.classes, 2)
    X = np.kron(np.eye(columns), np.ones((kinds, 1))) * column_bounds(columns, facts)
    own, others = labels_apart(facts)
    X[1::kinds] *= -1.0
    y = np.tile([own, *others], columns)
    return (X if counted else np.zeros_like(X)), y
