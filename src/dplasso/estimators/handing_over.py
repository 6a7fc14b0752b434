"""Models that work without this package."""

from typing import Any

from sklearn.utils.validation import check_is_fitted


def hand_over(model: Any, plain: Any) -> Any:
    """Give a scikit-learn estimator the fitted coefficients of ``model``."""
    check_is_fitted(model, "_weights")
    if model.solver_ != "frank_wolfe" or model.rows_ != "as_is":
        raise ValueError(
            "this model maps rows before it weighs them, which a plain linear model does not; keep "
            "it as it is, or fit with solver='frank_wolfe' and rows='as_is'"
        )
    plain.coef_ = model.coef_.copy()
    plain.intercept_ = model.intercept_.copy()
    plain.n_features_in_ = model.n_features_in_
    if hasattr(model, "feature_names_in_"):
        plain.feature_names_in_ = model.feature_names_in_
    return plain
