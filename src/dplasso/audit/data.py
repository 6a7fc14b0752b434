"""The data that audits make: small, of every kind that the engine treats differently."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso.audit.facts import LOGISTIC, SOFTMAX, Facts

Floats = NDArray[np.float64]

MOST_ROWS = 4000
_TILT = 0.3  # nats by which the canary's rivals outdo it: its margin stays low, its gradient high
_BEYOND = 8.0  # times the bound: entries that a fit must clip
_UNITS = 100  # of rivals a column, at most


def column_bounds(columns: int, facts: Facts) -> Floats:
    """The bound on every column."""
    if facts.bounds is not None:
        return facts.bounds
    return np.full(columns, facts.x_bound)


def random_labels(rows: int, facts: Facts, rng: np.random.Generator) -> Floats:
    """Places of classes; or numbers, some of them beyond their bound."""
    if facts.classes:
        return rng.integers(0, facts.classes, rows).astype(np.float64)
    return rng.uniform(-1.5, 1.5, rows) * facts.y_bound


def mixed_rows(
    columns: int, nats: float, facts: Facts, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Columns from nearly empty to full, an empty one, two equal ones, and some that tell.

    All rows together can move a log-weight by about ``nats``: with more of them, the engine treats
    columns as light, heavy and dense ones, with fewer every outcome keeps its chance.
    """
    row = facts.theta * facts.x_bound * facts.gradient_bound
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


def canary_rows(columns: int, facts: Facts) -> tuple[Floats, Floats, Floats, Floats]:
    """Rows that hold a canary's gradient near its bound, their labels, and canary and rival.

    Each column has rows of its own that pull against the canary, a little harder than chance: most
    steps lower the canary's margin, so that its gradient is large, and yet all outcomes stay
    likely, so that it shows. Labels of these rows balance, or the intercept would win every round.
    The rival is the row that takes the canary's place where rows are replaced.
    """
    bounds, kinds = column_bounds(columns, facts), max(facts.classes, 2)
    signs = np.where(np.arange(columns) % 2 == 0, 1.0, -1.0)
    own, others = _labels_for_canary(kinds, facts)
    pull = facts.theta * facts.x_bound * _pull_of_unit(kinds, facts)
    units = int(min(max(round(_TILT / pull), 1), _UNITS))
    blocks, labels = [], []
    for j in range(columns):
        block = np.zeros((kinds * units, columns))
        block[:, j] = signs[j] * bounds[j]
        block[:units, j] *= -1.0
        blocks.append(block)
        labels.append(np.repeat([own, *others], units))
    canary = _BEYOND * signs * bounds
    X, y = np.concatenate(blocks), np.concatenate(labels)
    return X, y, canary, np.array([own, others[0]])


def _labels_for_canary(kinds: int, facts: Facts) -> tuple[float, list[float]]:
    """The canary's label, and those of rows that pull the other way."""
    if not facts.classes:
        return facts.y_bound, [-facts.y_bound]
    own = 1.0 if facts.loss == LOGISTIC else 0.0
    return own, [float(k) for k in range(kinds) if k != own]


def _pull_of_unit(kinds: int, facts: Facts) -> float:
    """What one row of every kind adds to a score of the canary's class, at margins of 0."""
    if not facts.classes:
        return 2.0 * min(facts.y_bound, facts.residual_bound)
    return 2.0 * (1.0 - 1.0 / kinds) if facts.loss == SOFTMAX else 1.0


def random_row(columns: int, facts: Facts, rng: np.random.Generator) -> tuple[Floats, float]:
    """A row of the kinds that do most: at the bound, far beyond it, with one entry, or any."""
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
    """One of the forms in which people hand rows in."""
    forms = (np.asarray, sp.csr_array, _in_single_precision, _in_halves)
    return forms[rng.integers(len(forms))]


def _in_single_precision(X: Floats) -> Any:
    return sp.csc_array(X.astype(np.float32))


def _in_halves(X: Floats) -> Any:
    """Every entry in two parts, which are to be added up before they are clipped."""
    rows, columns = np.nonzero(X)
    half = X[rows, columns] / 2.0
    places = (np.tile(rows, 2), np.tile(columns, 2))
    return sp.coo_array((np.concatenate([half, half]), places), shape=X.shape)


def rows_with_nonzeros(columns: int, counted: int, facts: Facts) -> tuple[Floats, Floats]:
    """Rows on which the LASSO has ``counted`` nonzero columns: none, or all of them.

    Every column has rows of its own, alike in all columns, and no other column could do its part;
    for none, rows say nothing.
    """
    kinds = max(facts.classes, 2)
    X = np.kron(np.eye(columns), np.ones((kinds, 1))) * column_bounds(columns, facts)
    own, others = _labels_for_canary(kinds, facts)
    X[1::kinds] *= -1.0
    y = np.tile([own, *others], columns)
    return (X if counted else np.zeros_like(X)), y
