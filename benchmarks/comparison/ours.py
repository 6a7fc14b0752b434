"""The estimators of the product, as they come: nothing is tuned on the test rows."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from harness.cases import bounded
from rivals.problem import Problem

import dplasso
from comparison import cases
from dplasso import ColumnMatrix, PrivateLassoClassifier, Sparsifier

# What a private search chooses from; its cost is part of the budget.
SEARCHED = {"rows": ["presence", "sqrt", "as_is"]}
TRIALS = 5.0  # on average
# Bounds on entries as they are, for sets that are otherwise taken as presence.
BOUNDS = {"farm_ads": 100.0, "sms_spam": 100.0}

OURS: dict[str, dict[str, Any]] = {
    "ours": {"solver": "auto"},
    "ours-1000": {"solver": "auto", "n_nonzero": 1000},
    "ours-100": {"solver": "auto", "n_nonzero": 100},
    "ours-30": {"solver": "auto", "n_nonzero": 30},
    "search": {"solver": "auto"},
    "FW": {"solver": "frank_wolfe"},
    "FW-sparsifier": {"solver": "frank_wolfe", "sparsify": Sparsifier()},
}


def why_not(column: str, problem: Problem) -> str | None:
    """Why a column has no figure for a set; None where it has one."""
    if OURS[column].get("n_nonzero", 0) >= problem.n_columns:
        return "no cut"
    if column == "search" and not hasattr(dplasso, "PrivateSearch"):
        return "not here"
    return None


def score(column: str, problem: Problem, epsilon: float, seed: int) -> float:
    """One fit, judged on the test rows."""
    case = cases.case(problem.name)
    x_bound = 1.0 if case.x_bound is None else case.x_bound
    settings: dict[str, Any] = {
        "classes": [0, 1],
        "n_rows": problem.n_rows,
        "x_bound": x_bound,
        **OURS[column],
    }
    if problem.name in cases.NUMERIC:
        settings["rows"] = "as_is"
    if column == "search":
        return _searched(problem, epsilon, seed, settings)
    model = PrivateLassoClassifier(epsilon, problem.delta, random_state=seed, **settings)
    model.fit(_rows(problem, case.x_bound), problem.labels)
    return problem.judge(model.decision_function(bounded(problem.test, case.x_bound)))


@lru_cache(maxsize=1)
def _rows(problem: Problem, x_bound: float | None) -> Any:
    """Training rows for all fits of a set: in the engine's form where that saves time."""
    rows = bounded(problem.train, x_bound)
    if not problem.is_wide:
        return rows
    return ColumnMatrix.of(rows, 1.0 if x_bound is None else x_bound)


def _searched(problem: Problem, epsilon: float, seed: int, settings: dict[str, Any]) -> float:
    x_bound = BOUNDS.get(problem.name, settings["x_bound"])
    settings = {**settings, "x_bound": x_bound}
    search: Callable[..., Any] = dplasso.PrivateSearch  # type: ignore[attr-defined]
    model = search(
        PrivateLassoClassifier(**settings),
        SEARCHED,
        epsilon=epsilon,
        delta=problem.delta,
        trials=TRIALS,
        random_state=seed,
    )
    model.fit(bounded(problem.train, x_bound), problem.labels)
    return problem.judge(model.decision_function(bounded(problem.test, x_bound)))
