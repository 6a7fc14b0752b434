"""Convert models to plain scikit-learn models, which work without this package."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dplasso.base import memory
from dplasso.base.wording import ParameterError, Setting
from dplasso.estimators.base import PrivateLasso

Plain = TypeVar("Plain", bound=BaseEstimator)


def hand_over(model: PrivateLasso, plain: Plain) -> Plain:
    """Copy the fitted coefficients of ``model`` to a scikit-learn estimator."""
    check_is_fitted(model, "fitted_")
    if not model.fitted_.reader.plain:
        raise ParameterError(
            "this model maps rows before it weighs them, which a plain linear model does not; keep "
            "it as it is, or fit with {solver} and {row_map}",
            solver=Setting("solver", "frank_wolfe"),
            row_map=Setting("row_map", "as_is"),
        )
    names = getattr(model, "feature_names_in_", None)
    memory.check(
        _bytes_written_out(model, names),
        "writing out all coefficients and names of features",
        "keep the model as it is, or call sparsify() on one without names",
    )
    plain.coef_ = model.coef_.copy()
    plain.intercept_ = model.intercept_.copy()
    plain.n_features_in_ = model.n_features_in_
    if names is not None:
        plain.feature_names_in_ = np.asarray(names)
    return plain


def _bytes_written_out(model: PrivateLasso, names: Sequence[str] | None) -> int:
    """Additional memory in bytes: two dense copies of the coefficients, and the names."""
    outputs, columns = model.fitted_.weights.shape
    dense = 0 if model.sparsified_ else 2 * 8 * outputs * columns
    return dense + (0 if names is None or isinstance(names, np.ndarray) else 80 * columns)
