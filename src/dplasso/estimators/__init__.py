"""The scikit-learn estimators: they fit, predict, and state the privacy guarantee."""

from dplasso.estimators.classifier import PrivateLassoClassifier
from dplasso.estimators.online_classifier import PrivateOnlineClassifier
from dplasso.estimators.online_regressor import PrivateOnlineRegressor
from dplasso.estimators.public_scaler import PublicScaler
from dplasso.estimators.regressor import PrivateLassoRegressor
from dplasso.estimators.saving import load
from dplasso.estimators.table_encoder import TableEncoder
from dplasso.fitting.sparsifier import Sparsifier

__all__ = [
    "PrivateLassoClassifier",
    "PrivateLassoRegressor",
    "PrivateOnlineClassifier",
    "PrivateOnlineRegressor",
    "PublicScaler",
    "Sparsifier",
    "TableEncoder",
    "load",
]
