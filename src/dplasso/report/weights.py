"""The coefficients of a model of any kind, and which kind it is."""

import math
from typing import Any

import scipy.sparse as sp

from dplasso.estimators import PrivateOnlineClassifier, PrivateOnlineRegressor


def is_online(model: Any) -> bool:
    """Whether the model learns from a stream."""
    return isinstance(model, PrivateOnlineClassifier | PrivateOnlineRegressor)


def is_private(model: Any) -> bool:
    """Whether the model promises any privacy."""
    return math.isfinite(float(model.privacy_["epsilon"]))


def weights_of(model: Any) -> sp.csr_array:
    """Return the coefficients: outputs x columns."""
    return sp.csr_array(model.coef_) if is_online(model) else model.fitted_.weights


def moved(model: Any) -> str:
    """Name what coefficients add up to."""
    return "the margin" if hasattr(model, "classes_") else "the prediction"
