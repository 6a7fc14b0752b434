"""The estimators of the product, as they come: nothing is tuned on the test rows.

Declared facts are public: the number of training rows, the classes or the bound on numbers, the
ranges of the columns of a table, and delta, which is that of the rivals.
"""

import inspect
from typing import Any

import numpy as np
import scipy.sparse as sp
from harness import measures
from harness.cases import bounded

from comparison.sets import Set
from comparison.splits import Split
from dplasso import PrivateLassoClassifier, PrivateLassoRegressor, PrivateSearch, Sparsifier

DEFAULT, ALL, FRANK_WOLFE = "default", "all", "FW"
# What a private search chooses from; its cost is part of the budget.
SEARCHED = {"row_map": ["presence", "sqrt", "as_is"]}
TRIALS = 5.0  # on average
OURS: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    ALL: {"n_nonzero": None},
    FRANK_WOLFE: {"solver": "frank_wolfe"},
    "keep-1000": {"n_nonzero": 1000},
    "keep-100": {"n_nonzero": 100},
    "keep-30": {"n_nonzero": 30},
    "search": {},
    "FW-presence": {"solver": "frank_wolfe"},
    "FW-sparsifier": {"solver": "frank_wolfe", "n_nonzero": Sparsifier()},
}
EVERYWHERE = (DEFAULT, ALL, FRANK_WOLFE)  # the others are for sparse sets


def kept(method: str) -> int:
    """The public number of coefficients that a method keeps; 0 if it has none."""
    found = OURS.get(method, {}).get("n_nonzero", 0)
    return found if isinstance(found, int) else 0


def applies(method: str, one: Set) -> bool:
    """Whether a method has a figure of its own for a set."""
    if method == ALL:
        parameters = inspect.signature(PrivateLassoClassifier).parameters
        return parameters["n_nonzero"].default is not None
    return method in EVERYWHERE or one.kind == "sparse"


def score(method: str, split: Split, measure: str, epsilon: float, seed: int) -> dict[str, Any]:
    """One fit, judged on the test rows."""
    train, test = split.train, split.test
    if method == "FW-presence":
        train, test = bounded(train, None), bounded(test, None)
    model = estimator(method, split, epsilon, seed).fit(train, split.labels)
    if split.n_classes:
        found = measures.of_probabilities(split.truth, model.predict_proba(test), measure)
    else:
        found = measures.of_numbers(split.truth, model.predict(test))
    fitted = getattr(model, "best_estimator_", model)
    weights = fitted.coef_
    nonzeros = weights.count_nonzero() if sp.issparse(weights) else np.count_nonzero(weights)
    return {**found, "nonzeros": int(nonzeros), "solver": fitted.solver_}


def estimator(method: str, split: Split, epsilon: float, seed: int) -> Any:
    """The estimator of a method, not yet fitted."""
    settings: dict[str, Any] = {"n_rows": split.train.shape[0], **split.declared, **OURS[method]}
    if split.n_classes:
        settings["classes"] = list(range(split.n_classes))
    if method == "search":
        return PrivateSearch(
            PrivateLassoClassifier(**{"x_bound": 1.0, **settings}),
            SEARCHED,
            **{"epsilon": epsilon, "delta": split.delta, "trials": TRIALS, "random_state": seed},
        )
    kind = PrivateLassoClassifier if split.n_classes else PrivateLassoRegressor
    return kind(epsilon, split.delta, random_state=seed, n_jobs=1, **settings)
