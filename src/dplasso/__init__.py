"""Differentially private sparse linear models by private Frank-Wolfe."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dplasso.cluster import Cluster, Shards
    from dplasso.data import ColumnMatrix
    from dplasso.estimators import (
        PrivateLassoClassifier,
        PrivateLassoRegressor,
        PrivateOnlineClassifier,
        PrivateOnlineRegressor,
        PublicScaler,
        Sparsifier,
        TableEncoder,
        load,
    )
    from dplasso.ledger import Budget, BudgetError, LedgerError
    from dplasso.losses import LogisticLoss, SoftmaxLoss, SquaredLoss
    from dplasso.privacy.calibration import calibrate, spent
    from dplasso.privacy.leaks import (
        OnlyNoiseWarning,
        OwnerWarning,
        PrivacyLeakError,
        PrivacyLeakWarning,
        RowCountWarning,
        UndeclaredBoundWarning,
        is_strict,
        set_strict,
    )
    from dplasso.privacy.statement import PrivacyStatement
    from dplasso.reading import Rows, read_rows
    from dplasso.schema import Schema
    from dplasso.search import PrivateScores, PrivateSearch, private_score
    from dplasso.session import DurableStream, StreamSession
    from dplasso.solvers.frank_wolfe import Solution, frank_wolfe

__version__ = "0.1.0"

__all__ = [
    "Budget",
    "BudgetError",
    "Cluster",
    "ColumnMatrix",
    "DurableStream",
    "LedgerError",
    "LogisticLoss",
    "OnlyNoiseWarning",
    "OwnerWarning",
    "PrivacyLeakError",
    "PrivacyLeakWarning",
    "PrivacyStatement",
    "PrivateLassoClassifier",
    "PrivateLassoRegressor",
    "PrivateOnlineClassifier",
    "PrivateOnlineRegressor",
    "PrivateScores",
    "PrivateSearch",
    "PublicScaler",
    "RowCountWarning",
    "Rows",
    "Schema",
    "Shards",
    "SoftmaxLoss",
    "Solution",
    "Sparsifier",
    "SquaredLoss",
    "StreamSession",
    "TableEncoder",
    "UndeclaredBoundWarning",
    "audit",
    "calibrate",
    "frank_wolfe",
    "is_strict",
    "load",
    "private_score",
    "read_rows",
    "set_strict",
    "spent",
]

# Where each stands. The estimators bring scikit-learn, the solvers numba, which take a second to
# import: only when asked for. A process that charges a ledger needs neither.
_HOMES = {
    "dplasso.cluster": ("Cluster", "Shards"),
    "dplasso.data": ("ColumnMatrix",),
    "dplasso.estimators": (
        "PrivateLassoClassifier",
        "PrivateLassoRegressor",
        "PrivateOnlineClassifier",
        "PrivateOnlineRegressor",
        "PublicScaler",
        "Sparsifier",
        "TableEncoder",
        "load",
    ),
    "dplasso.ledger": ("Budget", "BudgetError", "LedgerError"),
    "dplasso.losses": ("LogisticLoss", "SoftmaxLoss", "SquaredLoss"),
    "dplasso.privacy.calibration": ("calibrate", "spent"),
    "dplasso.privacy.leaks": (
        "OnlyNoiseWarning",
        "OwnerWarning",
        "PrivacyLeakError",
        "PrivacyLeakWarning",
        "RowCountWarning",
        "UndeclaredBoundWarning",
        "is_strict",
        "set_strict",
    ),
    "dplasso.privacy.statement": ("PrivacyStatement",),
    "dplasso.reading": ("Rows", "read_rows"),
    "dplasso.schema": ("Schema",),
    "dplasso.search": ("PrivateScores", "PrivateSearch", "private_score"),
    "dplasso.session": ("DurableStream", "StreamSession"),
    "dplasso.solvers": ("Solution", "frank_wolfe"),
}


def __getattr__(name: str) -> Any:
    if name == "audit":
        return import_module("dplasso.audit")
    for home, names in _HOMES.items():
        if name in names:
            globals()[name] = found = getattr(import_module(home), name)
            return found
    raise AttributeError(f"module 'dplasso' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
