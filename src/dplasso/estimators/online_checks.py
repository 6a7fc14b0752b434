"""Checks of an online estimator: parameters before rows are read, then rows and labels."""

import math
from typing import Any, get_args

from numpy.typing import NDArray

from dplasso.base import checks
from dplasso.base.wording import Message, ParameterError
from dplasso.domains import Domain
from dplasso.estimators import online_rules as rules
from dplasso.estimators.charging import check_accountant
from dplasso.estimators.online_rows import ROW_MAPS
from dplasso.estimators.validation import check_lengths, checked_rows, checked_target
from dplasso.privacy import leaks
from dplasso.privacy.calibration import Neighboring
from dplasso.streams.settings import Calibration, Construction, NoiseLaw


def check_parameters(model: Any) -> None:
    """Reject invalid parameters before the data are read."""
    checks.target("epsilon", model.epsilon)
    checks.probability("delta", model.delta)
    for name in ("window", "n_rows", "n_features"):
        if getattr(model, name) is not None:
            checks.count(name, getattr(model, name), least=1)
    if isinstance(model.batch, str) and model.batch != rules.CALL:
        raise ParameterError(
            "{batch} must be an integer of at least 1, or 'call', got {value!r}; say how many rows "
            "make a release",
            value=model.batch,
        )
    if model.batch != rules.CALL:
        checks.count("batch", model.batch, least=1)
    choices: dict[str, tuple[str, ...]] = {
        "learner": rules.LEARNERS,
        "row_map": ROW_MAPS,
        "construction": get_args(Construction),
        "noise": get_args(NoiseLaw),
        "calibration": get_args(Calibration),
        "neighboring": get_args(Neighboring),
    }
    if not isinstance(model.domain, Domain):
        choices["domain"] = rules.DOMAINS
    for name, known in choices.items():
        checks.choice(name, getattr(model, name), known)
    names = [] if model.feature_names is None else list(model.feature_names)
    if len(set(names)) != len(names):
        raise ParameterError("{feature_names} must all differ; rename those that do not")
    if model.half_life is not None:
        checks.bound("half_life", model.half_life)
    for name in ("clip", "regularisation"):
        if getattr(model, name) != "auto":
            checks.bound(name, getattr(model, name))
    check_accountant(model)


def checked(model: Any, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
    """Return rows and labels as arrays; report column names that are read and not declared."""
    labels = checked_target(model, y)
    X = checked_rows(model, X, reset="n_features_in_" not in vars(model))
    check_lengths(X, labels)
    if model.n_features is not None and model.n_features != X.shape[1]:
        raise ParameterError(
            "X must have the {columns} columns declared as {n_features}", columns=model.n_features
        )
    found = vars(model).get("feature_names_in_")
    if model.feature_names is None:
        if found is not None and not math.isinf(model.epsilon):
            leaks.report(
                Message("names of features are those of X; pass {feature_names}"), warn=False
            )
    elif found is not None and list(found) != list(model.feature_names):
        raise ParameterError("{feature_names} must be the names of the columns of X, in order")
    elif len(model.feature_names) != X.shape[1]:
        raise ParameterError("{feature_names} must be as many as X has columns")
    return X, labels
