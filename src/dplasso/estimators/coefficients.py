"""Attributes of a fitted linear model, and how it computes the margins of new rows."""

import copy
import math
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dplasso.base import memory
from dplasso.base.arrays import Floats, Ints
from dplasso.base.memory import TooLargeError
from dplasso.data.described import DescribedRows
from dplasso.data.used_columns import has_unused
from dplasso.estimators.frames import encoded_like, is_of_table
from dplasso.estimators.parameters import FormerAttribute
from dplasso.estimators.validation import Rows, checked_rows
from dplasso.fitting.fitted import Fitted


class TooWideError(TooLargeError, AttributeError):
    """Raised if the dense coefficients do not fit in memory.

    It is an AttributeError, so that `hasattr`, notebooks and `dir` skip ``coef_`` and show the
    rest.
    """


class FittedCoefficients(BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Attributes of a fitted model, all of which are read from ``fitted_``."""

    fitted_: Fitted
    sparsified_: bool
    _dense: Floats | None

    def restore(self, fitted: Fitted, *, sparsified: bool = False) -> Self:
        """Set the result of a fit, which was made just now or read from a file."""
        self.fitted_, self.sparsified_, self._dense = fitted, sparsified, None
        return self

    def _found(self) -> Fitted:
        check_is_fitted(self, "fitted_")
        return self.fitted_

    @property
    def coef_(self) -> Floats | sp.csr_array:
        """Coefficients: outputs x columns, dense, or sparse after `sparsify`."""
        weights = self._found().weights
        if self.sparsified_:
            return weights
        if self._dense is None:
            _check_dense(weights)
            self._dense = weights.toarray()
        return self._dense

    @property
    def intercept_(self) -> Floats:
        """One intercept per output."""
        return self._found().intercepts

    @property
    def vertices_(self) -> Ints:
        """Coordinates that were released one by one."""
        return self._found().released

    @property
    def n_iter_(self) -> int:
        """Number of rounds or steps of the fit."""
        return self._found().steps

    @property
    def solver_(self) -> str:
        """The solver that was used."""
        return self._found().solver

    @property
    def row_map_(self) -> str:
        """The row map that was used."""
        return self._found().reader.row_map

    rows_ = FormerAttribute("row_map_")

    def sparsify(self) -> Self:
        """Make ``coef_`` sparse, as in scikit-learn.

        Returns
        -------
        self
        """
        check_is_fitted(self, "fitted_")
        self.sparsified_, self._dense = True, None
        return self

    def densify(self) -> Self:
        """Make ``coef_`` dense again, as in scikit-learn.

        Returns
        -------
        self
        """
        check_is_fitted(self, "fitted_")
        self.sparsified_ = False
        return self

    def _margins(self, X: object) -> Floats:
        """Margins of new rows, rows x outputs."""
        fitted = self._found()
        with np.errstate(all="ignore"):  # else numpy may raise or warn depending on the rows
            rows = self.rows_to_predict(X)
            return fitted.margins(rows, few=has_unused(rows))

    def rows_to_predict(self, X: object) -> Rows:
        """Check new rows, and place their columns: rows x columns of the model, as numbers."""
        if isinstance(X, DescribedRows):  # whose reader has already placed the columns
            return checked_rows(without_names(self), X.X, reset=False)
        recipe = vars(self).get("table_plan_", {})
        if is_of_table(X, recipe, vars(self).get("feature_names_in_")):
            return checked_rows(without_names(self), encoded_like(recipe, X), reset=False)
        return checked_rows(self, X, reset=False)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fitted_")


def without_names(model: Any) -> Any:
    """Copy the model without feature names, for rows whose reader has already placed columns."""
    plain = copy.copy(model)
    vars(plain).pop("feature_names_in_", None)
    return plain


def _check_dense(weights: sp.csr_array) -> None:
    needed = math.prod(weights.shape) * weights.dtype.itemsize
    try:
        memory.check(needed, "coef_ as a dense array", "call sparsify(), which keeps it sparse")
    except TooLargeError as error:
        raise TooWideError(str(error)) from None
