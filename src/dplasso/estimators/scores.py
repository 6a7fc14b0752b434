"""Mixins of scikit-learn whose score errors quote neither labels nor numbers of rows."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from dplasso.base.arrays import Floats, Labels
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
    """A classifier of margins, with accuracy as its score."""

    classes_: Labels
    _margins: Callable[[object], Floats]  # of rows: rows x outputs

    def decision_function(self, X: object) -> Floats:
        """Compute margins: one per row for two classes, otherwise one per row and class.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Rows x columns.

        Returns
        -------
        ndarray of float
            One number per row, or rows x classes.
        """
        margins = self._margins(X)
        return margins[:, 0] if len(self.classes_) == 2 else margins

    def _decided(self, margins: Floats) -> Labels:
        """The most likely class of every row; ``margins`` is rows x outputs."""
        one = margins.shape[1] == 1
        places = (margins[:, 0] > 0).astype(np.intp) if one else margins.argmax(axis=1)
        chosen: Labels = self.classes_[places]
        return chosen

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
        """Compute the mean accuracy on rows and labels. NOT private.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Rows x columns.
        y : array
            One label per row.
        sample_weight : array or None, default=None
            One weight per row.

        Returns
        -------
        float
        """
        from sklearn.metrics import accuracy_score  # imported only to score rows

        return scored(accuracy_score, y, self.predict(X), sample_weight)


class ScoredRegressor(RegressorMixin):  # type: ignore[misc]  # scikit-learn is untyped
    """A regressor with R^2 as its score."""

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
        """Compute R^2, the share of the labels' variance that is explained. NOT private.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Rows x columns.
        y : array
            One label per row.
        sample_weight : array or None, default=None
            One weight per row.

        Returns
        -------
        float
        """
        from sklearn.metrics import r2_score  # imported only to score rows

        return scored(r2_score, y, self.predict(X), sample_weight)
