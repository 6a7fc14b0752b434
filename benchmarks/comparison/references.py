"""What the methods lie between: the trivial answer, and a linear model without privacy."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from harness import measures
from rivals.problem import MAPS
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.preprocessing import StandardScaler

from comparison.splits import Split

TRIVIAL, NOT_PRIVATE = "trivial", "non-private"
REFERENCES = (TRIVIAL, NOT_PRIVATE)
NO_EPSILON = math.inf  # they do not depend on epsilon
NARROW = 1000  # columns, up to which they are standardised
STRENGTHS = (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0)  # C of scikit-learn
OF_MANY_CLASSES = 10.0  # not chosen: a fit may take minutes
HELD_OUT = 0.2  # of the training rows, to choose by


def reference(column: str, split: Split, measure: str) -> dict[str, float]:
    return trivial(split, measure) if column == TRIVIAL else not_private(split, measure)


def trivial(split: Split, measure: str) -> dict[str, float]:
    """The mean of the training rows, or their shares of classes, for every test row."""
    rows = len(split.truth)
    if not split.n_classes:
        return measures.of_numbers(split.truth, np.full(rows, split.labels.mean()))
    counts = np.bincount(split.labels.astype(np.intp), minlength=split.n_classes)
    margins = np.log(np.maximum(counts, 0.5))
    return measures.of_margins(split.truth, np.tile(margins, (rows, 1)), measure)


def not_private(split: Split, measure: str) -> dict[str, float]:
    """A linear model of scikit-learn: least squares, or logistic regression.

    Few columns are cut to their declared ranges and standardised. Rows of many columns have length
    1, as they are or as presence. That and the ridge are chosen by log-loss on a fifth of the
    training rows, for two classes.
    """
    if not split.n_classes:
        [(train, test)] = _forms(split)
        model = LinearRegression().fit(train, split.labels)
        return measures.of_numbers(split.truth, model.predict(test))
    if split.n_classes > 2:
        [(train, test)] = _forms(split)
        model = _logistic(split, OF_MANY_CLASSES).fit(train, split.labels)
        return measures.of_margins(split.truth, model.decision_function(test), measure)
    order = np.random.default_rng(0).permutation(len(split.labels))
    held, rest = np.split(order, [int(HELD_OUT * len(order))])
    best = (math.inf, 0.0, split.train, split.test)
    for train, test in _forms(split):
        for strength in STRENGTHS:
            model = _logistic(split, strength).fit(train[rest], split.labels[rest])
            found = measures.of_margins(
                split.labels[held], model.decision_function(train[held]), "accuracy"
            )
            if found[measures.LOG_LOSS] < best[0]:
                best = (found[measures.LOG_LOSS], strength, train, test)
    _, strength, train, test = best
    model = _logistic(split, strength).fit(train, split.labels)
    return measures.of_margins(split.truth, model.decision_function(test), measure)


def _forms(split: Split) -> Iterator[tuple[Any, Any]]:
    """Training and test rows, in every form that is tried."""
    if split.train.shape[1] <= NARROW:
        train, test = (_within_ranges(rows, split) for rows in (split.train, split.test))
        scaler = StandardScaler(with_mean=not sp.issparse(train)).fit(train)
        yield scaler.transform(train), scaler.transform(test)
        return
    train, test = sp.csr_array(split.train), sp.csr_array(split.test)
    for name, mapped in MAPS.items():
        if name == "presence" or not np.all(train.data == 1.0):  # else all maps are the same
            yield mapped(train), mapped(test)


def _within_ranges(rows: Any, split: Split) -> Any:
    """Entries within the declared ranges of a table; other rows as they are."""
    if sp.issparse(rows):
        return sp.csr_array(rows)
    low, high = np.array(split.declared["x_bound"]).T
    return np.clip(rows, low, high)


def _logistic(split: Split, strength: float) -> LogisticRegression:
    if split.train.shape[1] <= NARROW:
        return LogisticRegression(C=strength, max_iter=1000)
    solver = "liblinear" if split.n_classes == 2 else "lbfgs"
    return LogisticRegression(C=strength, solver=solver, max_iter=300, tol=1e-3)
