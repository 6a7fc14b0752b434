"""Differentially private sparse linear models by private Frank-Wolfe."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dplasso.data import ColumnMatrix
from dplasso.losses import LogisticLoss, SoftmaxLoss, SquaredLoss
from dplasso.privacy.calibration import calibrate, spent
from dplasso.privacy.leaks import PrivacyLeakError, PrivacyLeakWarning, is_strict, set_strict
from dplasso.privacy.statement import PrivacyStatement
from dplasso.solvers import Solution, frank_wolfe

if TYPE_CHECKING:
    from dplasso.estimators import PrivateLassoClassifier, PrivateLassoRegressor, Sparsifier, load

__version__ = "0.1.0"

__all__ = [
    "ColumnMatrix",
    "LogisticLoss",
    "PrivacyLeakError",
    "PrivacyLeakWarning",
    "PrivacyStatement",
    "PrivateLassoClassifier",
    "PrivateLassoRegressor",
    "SoftmaxLoss",
    "Solution",
    "Sparsifier",
    "SquaredLoss",
    "audit",
    "calibrate",
    "frank_wolfe",
    "is_strict",
    "load",
    "set_strict",
    "spent",
]

_ESTIMATORS = ("PrivateLassoClassifier", "PrivateLassoRegressor", "Sparsifier", "load")


def __getattr__(name: str) -> Any:
    """Estimators bring scikit-learn, which takes a second to import: only when asked for."""
    if name == "audit":
        return import_module("dplasso.audit")
    if name not in _ESTIMATORS:
        raise AttributeError(f"module 'dplasso' has no attribute {name!r}")
    from dplasso import estimators

    globals()[name] = found = getattr(estimators, name)
    return found


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
