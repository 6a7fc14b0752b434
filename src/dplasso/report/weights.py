"""The coefficients of a model of any kind."""

from typing import Any

import scipy.sparse as sp

from dplasso.estimators import PrivateOnlineClassifier, PrivateOnlineRegressor


def is_online(model: Any) -> bool:
    """Whether the model learns from a stream."""
    return isinstance(model, PrivateOnlineClassifier | PrivateOnlineRegressor)


def weights_of(model: Any) -> sp.csr_array:
    """Return the coefficients: outputs x columns."""
    return sp.csr_array(model.coef_) if is_online(model) else model.fitted_.weights
