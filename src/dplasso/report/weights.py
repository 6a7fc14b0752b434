"""The coefficients of a model, whichever kind it is."""

from typing import Any

import scipy.sparse as sp

from dplasso.estimators import PrivateOnlineClassifier, PrivateOnlineRegressor


def is_online(model: Any) -> bool:
    """Whether it learns from a stream."""
    return isinstance(model, PrivateOnlineClassifier | PrivateOnlineRegressor)


def weights_of(model: Any) -> sp.csr_array:
    """Outputs x columns."""
    return sp.csr_array(model.coef_) if is_online(model) else model.fitted_.weights
