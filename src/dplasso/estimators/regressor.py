"""The private sparse linear regressor."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import scipy.sparse as sp

from dplasso.base import checks
from dplasso.base.arrays import Floats, Labels
from dplasso.estimators.base import LabelFacts, PrivateLasso, reject, source_of
from dplasso.estimators.scores import ScoredRegressor
from dplasso.estimators.seeding import Seed
from dplasso.estimators.to_sklearn import hand_over
from dplasso.estimators.undeclared import bound_or_one
from dplasso.estimators.validation import checked_numbers
from dplasso.fitting.request import Auto
from dplasso.fitting.sparsifier import Sparsifier
from dplasso.losses import Loss, SquaredLoss
from dplasso.privacy.accountant import Accountant
from dplasso.privacy.calibration import Neighboring
from dplasso.privacy.statement import fact, jsonable

if TYPE_CHECKING:
    from sklearn.linear_model import LinearRegression


class PrivateLassoRegressor(ScoredRegressor, PrivateLasso):
    """Sparse linear regression with differential privacy.

    Squared loss inside ``residual_bound``, linear beyond it (Huber's loss): what one row can do
    does not grow with the radius.

    Parameters
    ----------
    y_bound : public bound on the size of labels; larger ones are clipped, with privacy and
        without. 1 where it is left out, which warns.
    residual_bound : where the loss turns linear; "auto" is ``y_bound`` with privacy, and infinity
        (plain squared loss) without.

    The others are those of `PrivateLassoClassifier`.

    Attributes
    ----------
    coef_, intercept_, n_iter_, n_features_in_, feature_names_in_ : as in scikit-learn.
    vertices_, privacy_ : as for `PrivateLassoClassifier`.

    Formal guarantees
    -----------------
    As for `PrivateLassoClassifier`; a row's gradient is at most the residual bound.

    Examples
    --------
    >>> import numpy as np
    >>> from dplasso import PrivateLassoRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (5000, 10))
    >>> y = 2.0 * X[:, 3] + 0.1 * rng.normal(size=5000)
    >>> public = {"n_rows": 5000, "x_bound": 1.0, "y_bound": 2.5}
    >>> model = PrivateLassoRegressor(epsilon=3.0, **public).fit(X, y)
    >>> int(abs(model.coef_).argmax())
    3
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        radius: float | Auto = "auto",
        max_iter: int | Auto = "auto",
        x_bound: float | Sequence[float] | Mapping[str, float] | str | None = None,
        bound_share: float = 0.05,
        y_bound: float | None = None,
        residual_bound: float | Auto = "auto",
        fit_intercept: bool = True,
        n_rows: int | None = None,
        feature_names: Sequence[str] | None = None,
        solver: str = "frank_wolfe",
        rows: str = "auto",
        n_nonzero: int | None = None,
        sparsify: int | Sparsifier | None = None,
        selection: str = "lazy",
        neighboring: Neighboring = "add_remove",
        accountant: Accountant | None = None,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        **rejected: object,
    ) -> None:
        reject(rejected, type(self).__name__)
        self.epsilon = epsilon
        self.delta = delta
        self.radius = radius
        self.max_iter = max_iter
        self.x_bound = x_bound
        self.bound_share = bound_share
        self.y_bound = y_bound
        self.residual_bound = residual_bound
        self.fit_intercept = fit_intercept
        self.n_rows = n_rows
        self.feature_names = feature_names
        self.solver = solver
        self.rows = rows
        self.n_nonzero = n_nonzero
        self.sparsify = sparsify
        self.selection = selection
        self.neighboring = neighboring
        self.accountant = accountant
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def predict(self, X: object) -> Floats:
        """The expected label of every row."""
        return self._margins(X)[:, 0]

    @property
    def coef_(self) -> Floats | sp.csr_array:
        """Coefficients: one per column, dense, or 1 x columns and sparse after `sparsify`."""
        coefficients = super().coef_
        return coefficients if self.sparsified_ else coefficients[0]

    def to_sklearn(self) -> "LinearRegression":
        """A plain fitted ``LinearRegression`` with the same predictions."""
        from sklearn.linear_model import LinearRegression  # a tenth of a second to import

        plain = hand_over(self, LinearRegression())
        plain.coef_ = self.fitted_.weights.toarray()[0]
        plain.intercept_ = float(self.intercept_[0])
        return plain

    def _checked_labels(self, y: Labels) -> Labels:
        return checked_numbers(y)

    def _make_loss(self, y: Labels) -> Loss:
        return self._declared_loss()

    def _declared_loss(self) -> Loss:
        return SquaredLoss(self._y_bound, self._residual_bound())

    @property
    def _y_bound(self) -> float:
        bound: float = bound_or_one(self, "y_bound")
        return bound

    def _margin_unit(self) -> float:
        # Labels have a scale of their own, and squared loss four times the curvature.
        return self._y_bound / 4.0

    def _residual_bound(self) -> float:
        if self.residual_bound == "auto":
            return math.inf if math.isinf(self.epsilon) else self._y_bound
        return checks.target("residual_bound", self.residual_bound)

    def _label_facts(self, read: frozenset[str]) -> LabelFacts:
        source = "public rule" if self.residual_bound == "auto" else "declared"
        bounds = {
            "y_bound": fact(self._y_bound, source_of(self.y_bound)),
            "residual_bound": fact(jsonable(self._residual_bound()), source),
        }
        return LabelFacts(bounds, {})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Labels beyond y_bound are clipped, and toy sets have too few rows for a modest epsilon.
        tags.regressor_tags.poor_score = True
        return tags
