"""Mixins of scikit-learn whose score errors quote neither labels nor numbers of rows."""

from typing import Protocol

from sklearn.base import ClassifierMixin, RegressorMixin

from dplasso.estimators.validation import scored
from dplasso.losses import class_loss


class HasLoss(Protocol):
    """A classifier that names its loss."""

    loss: str


def tells_probabilities(model: HasLoss) -> bool:
    """Whether the loss of a classifier has probabilities; for scikit-learn's ``available_if``."""
    try:
        has_them = class_loss(model.loss).has_probabilities
    except ValueError as error:  # `hasattr` catches only AttributeError
        raise AttributeError(str(error)) from error
    if not has_them:
        raise AttributeError(
            f"loss={model.loss!r} has no probabilities; use decision_function, or fit with "
            "loss='logistic'"
        )
    return True


class ScoredClassifier(ClassifierMixin):  # type: ignore[misc]  # scikit-learn is untyped
    """A classifier with accuracy as its score."""

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
        """Mean accuracy on rows and labels. NOT private."""
        from sklearn.metrics import accuracy_score  # imported only to score rows

        return scored(accuracy_score, y, self.predict(X), sample_weight)


class ScoredRegressor(RegressorMixin):  # type: ignore[misc]  # scikit-learn is untyped
    """A regressor with R^2 as its score."""

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
        """R^2, the share of the variance of labels that predictions explain. NOT private."""
        from sklearn.metrics import r2_score  # imported only to score rows

        return scored(r2_score, y, self.predict(X), sample_weight)
