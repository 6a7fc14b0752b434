"""Rows to train and to test on, with what is declared of them.

The split of sparse sets is the same for all seeds, as it was when their rivals were tuned. Tables
have a fresh one for every seed.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from harness import datasets, newsgroups, tables
from harness.cases import CASES, Case
from harness.cases import split as halves
from rivals.problem import Problem
from rivals_tables.problem import TableProblem, split
from sklearn.datasets import load_svmlight_file

from comparison.sets import FILES, SETS

GROUP_DELTA = 1e-6  # the estimator's own default; 1 / n^2 for all other sets


class Split(NamedTuple):
    """Training rows as they are, their labels, test rows and theirs.

    Classes are whole numbers below ``n_classes``, which is 0 where numbers are predicted.
    ``declared`` has the public facts besides these that a fit is told.
    """

    train: Any
    labels: np.ndarray
    test: Any
    truth: np.ndarray
    n_classes: int
    delta: float
    declared: dict[str, Any]


def load(name: str, seed: int) -> Split | None:
    """The split of a set for a seed; None where the set is not at hand."""
    if SETS[name].kind != "table":
        return _fixed(name)
    table = _table(name)
    if table is None:
        return None
    return of_table(table, *table.halves(seed))


def of_table(table: tables.Table, train: np.ndarray, test: np.ndarray) -> Split:
    """The rows of a table at these places, and its ranges."""
    declared: dict[str, Any] = {"x_bound": table.ranges}
    if not table.n_classes:
        declared["y_bound"] = table.y_bound
    rows = (table.X[train], table.y[train], table.X[test], table.y[test])
    return Split(*rows, table.n_classes, float(len(train)) ** -2.0, declared)


def problem(name: str) -> Problem | TableProblem | None:
    """What rivals are given: a table has the split of seed 0, and can be asked for others."""
    if SETS[name].kind == "table":
        table = _table(name)
        return None if table is None else split(table, 0)
    return _problem(name)


def at_hand(name: str) -> bool:
    """Whether the files of a set are there."""
    kind, folder = SETS[name].kind, datasets.folder()
    if kind == "table":
        return (folder / "tables" / f"{tables.MIXED.get(name, name)}.csv.gz").is_file()
    if kind == "groups":
        return (folder / newsgroups.TEXT).is_file()
    if name in FILES:
        return _file(name) is not None
    return name == "zipf" or (folder / name / "X.npz").is_file()


@lru_cache(maxsize=2)
def _table(name: str) -> tables.Table | None:
    return tables.load(name)


@lru_cache(maxsize=1)
def _fixed(name: str) -> Split | None:
    if SETS[name].kind == "groups":
        return _groups()
    found = halves(CASES.get(name, Case(name)), _from_file(name))
    if found is None:
        return None
    train, labels, test, truth = found
    rows = (sp.csc_array(train), labels, test, truth)
    return Split(*rows, 2, float(len(labels)) ** -2.0, SETS[name].facts)


def _groups() -> Split | None:
    found = newsgroups.load()
    if found is None:
        return None
    X, groups, names = found
    order = np.random.default_rng(0).permutation(len(groups))
    train, test = np.split(order, [int(0.8 * len(order))])
    rows = (sp.csc_array(X[train]), groups[train], X[test], groups[test])
    return Split(*rows, len(names), GROUP_DELTA, {})


@lru_cache(maxsize=1)
def _problem(name: str) -> Problem | None:
    found = _fixed(name)
    if found is None:
        return None
    return Problem(
        name,
        *(found.train, found.labels, found.test, found.truth),
        SETS[name].measure,
        n_classes=found.n_classes,
        delta=found.delta,
    )


def _from_file(name: str) -> tuple[Any, np.ndarray] | None:
    """Rows and labels of a LIBSVM file in the data folder."""
    path = _file(name) if name in FILES else None
    if path is None:
        return None
    X, y = load_svmlight_file(str(path))
    return X, (y > 0).astype(np.float64)


def _file(name: str) -> Path | None:
    stem = datasets.folder() / FILES[name]
    return next((place for place in (stem, Path(f"{stem}.bz2")) if place.is_file()), None)
