"""The private sparse linear regressor."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from dplasso.base import checks
from dplasso.base.arrays import Floats, Labels
from dplasso.cluster import Cluster
from dplasso.estimators.base import LabelFacts, PrivateLasso, source_of
from dplasso.estimators.declared import declared
from dplasso.estimators.scores import ScoredRegressor
from dplasso.estimators.seeding import Seed
from dplasso.estimators.undeclared import bound_or_one
from dplasso.estimators.validation import checked_numbers
from dplasso.fitting.request import Auto
from dplasso.fitting.sparsifier import Sparsifier
from dplasso.losses import Loss, SquaredLoss
from dplasso.losses.labels import LabelRange
from dplasso.privacy.accountant import Accountant
from dplasso.privacy.calibration import Neighboring
from dplasso.privacy.statement import fact, jsonable

if TYPE_CHECKING:
    from dplasso.estimators.export.portable import Portable


class PrivateLassoRegressor(ScoredRegressor, PrivateLasso):
    """Sparse linear regression with differential privacy.

    By default a public rule chooses the solver that suits the shape of the data (``solver``).
    Predictions are clipped to ``y_bound``, as labels are.

    The loss is squared up to ``residual_bound`` and linear beyond it (Huber's loss), so the
    influence of one row does not grow with the radius.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of one fit. ``math.inf`` fits without privacy: ``solver="auto"`` then takes
        "frank_wolfe" and runs it until it has converged, and a solver that is named runs without
        noise.
    delta : float, default=1e-6
        Delta of the (epsilon, delta) guarantee of one fit.
    radius : float or "auto", default="auto"
        Bound on the 1-norm of the coefficients; see `PrivateLassoClassifier`.
    max_iter : int or "auto", default="auto"
        Number of rounds; see `PrivateLassoClassifier`.
    x_bound : float, sequence of float, mapping, "private" or None, default=None
        Public bound on the absolute value of entries; see `PrivateLassoClassifier`.
    bound_share : float, default=0.05
        Share of the budget, in rho, that is spent on a released bound.
    y_bound : float, pair of float or None, default=None
        Public bound on the absolute value of labels, or their low and high end, such as
        ``(0, 500_000)``. Labels beyond it are clipped, with or without privacy. The narrower the
        range, the less noise is needed. None means 1 and warns.
    residual_bound : float or "auto", default="auto"
        Residual beyond which the loss is linear. "auto" is half of the range of labels with
        privacy, and infinity (plain squared loss) without.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is one more coordinate.
    n_rows : int or None, default=None
        Public number of rows for the rules; see `PrivateLassoClassifier`.
    n_people : int or None, default=None
        Public number of people for the rules; see `PrivateLassoClassifier`.
    rows_per_person : int, default=1
        Most rows that one person counts as; see `PrivateLassoClassifier`.
    person : str or None, default=None
        What identifies a person; see `PrivateLassoClassifier`.
    feature_names : sequence of str or None, default=None
        Public names of the columns of a data frame; see `PrivateLassoClassifier`.
    solver : {"auto", "table", "gradient", "frank_wolfe"}, default="auto"
        Solver; see `PrivateLassoClassifier`. "auto" means "table" for up to 1,000 columns.
    row_map : {"auto", "as_is", "presence", "sqrt", "blend"}, default="auto"
        Public map of the entries; see `PrivateLassoClassifier`.
    n_nonzero : int, "auto", Sparsifier or None, default="auto"
        Number of coefficients to keep, as a public fact; see `PrivateLassoClassifier`.
    selection : str, default="lazy"
        Selection rule of Frank-Wolfe rounds.
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
        Neighbouring data sets differ by one added or removed row, or by one replaced row; by all
        rows of a person, if ``fit`` gets ``groups``.
    accountant : Accountant or None, default=None
        Accountant that is charged before the first draw, such as a `dplasso.Budget`.
    random_state : int, Generator, RandomState, RandomBits or None, default=None
        None uses secure randomness; see `PrivateLassoClassifier`.
    n_jobs : int or None, default=None
        Number of threads; None or -1 uses all cores. The result does not depend on it.
    device : {"cpu", "cuda"}, default="cpu"
        "cuda" runs the steps of "gradient" and "table", and Frank-Wolfe with
        ``selection="noisy_max"``, on an NVIDIA card (extra ``gpu``). The model is the same, to the
        last bit. The choice of ``solver="auto"`` does not depend on it; a warning says if that
        solver runs on the processor.
    verbose : int, default=0
        Above 0, shows a progress bar if standard error is a terminal.
    backend : {"local", "ray"} or Cluster, default="local"
        Where rows in files are held that ``fit`` gets as `dplasso.Shards`: in this process, or by
        processes of Ray, which a `dplasso.Cluster` says more about. The result does not depend on
        it.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,), or csr_array of shape (1, n_features)
        Coefficients; sparse after `sparsify`.
    intercept_ : ndarray of shape (1,)
        Intercept.
    n_iter_ : int
        Rounds or steps of the fit.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : sequence of str
        Names of the columns, if they are known.
    vertices_ : ndarray of int
        Released coordinates; see `PrivateLassoClassifier`.
    declared_ : dict
        Public facts that were declared with the rows (``rows.described()`` of rows with a schema)
        and that the fit used, because the parameters of these names are left out; if there are any.
    x_bound_ : array of float
        Bounds with which the rows were read, if ``x_bound`` is None and the rows have some.
    solver_ : str
        Solver that was used.
    row_map_ : str
        Row map that was used.
    fitted_ : Fitted
        Sparse weights, and how new rows are mapped; see `dplasso.fitting.fitted.Fitted`.
    privacy_ : PrivacyStatement
        Privacy statement, a dict; ``print(model.privacy_)`` shows it as a paragraph.

    Formal guarantees
    -----------------
    The guarantees are those of `PrivateLassoClassifier`. The gradient of a row is at most the
    residual bound.

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
        y_bound: float | tuple[float, float] | None = None,
        residual_bound: float | Auto = "auto",
        fit_intercept: bool = True,
        n_rows: int | None = None,
        n_people: int | None = None,
        rows_per_person: int = 1,
        person: str | None = None,
        feature_names: Sequence[str] | None = None,
        solver: str = "auto",
        row_map: str = "auto",
        n_nonzero: int | Sparsifier | Auto | None = "auto",
        selection: str = "lazy",
        neighboring: Neighboring = "add_remove",
        accountant: Accountant | None = None,
        random_state: Seed = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        verbose: int = 0,
        backend: str | Cluster = "local",
        **others: object,
    ) -> None:
        self._store(locals())

    def predict(self, X: object) -> Floats:
        """Predict the expected label of every row, clipped as labels are to ``y_bound``.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Rows x columns.

        Returns
        -------
        ndarray of float
            One number per row.
        """
        low, high = self._label_range
        return np.clip(self._margins(X)[:, 0], low, high)

    @property
    def coef_(self) -> Floats | sp.csr_array:
        """Coefficients: one per column, dense, or 1 x columns and sparse after `sparsify`."""
        coefficients = super().coef_
        return coefficients if self.sparsified_ else coefficients[0]

    def _portable(self) -> "Portable":
        return replace(super()._portable(), label_range=self._label_range)

    def _checked_labels(self, y: Labels) -> Labels:
        return checked_numbers(y)

    def _make_loss(self, y: Labels) -> Loss:
        return self._declared_loss()

    def _declared_loss(self) -> Loss:
        return SquaredLoss(self._label_range, self._residual_bound())

    @property
    def _label_range(self) -> LabelRange:
        return LabelRange.of(bound_or_one(self, "y_bound"))

    def _margin_unit(self) -> float:
        # Labels have their own scale, and squared loss has four times the curvature.
        return self._label_range.reach / 4.0

    def _residual_bound(self) -> float:
        if self.residual_bound == "auto":
            return math.inf if math.isinf(self.epsilon) else self._label_range.reach
        return checks.target("residual_bound", self.residual_bound)

    def _label_facts(self, read: frozenset[str]) -> LabelFacts:
        source = "public rule" if self.residual_bound == "auto" else "declared"
        labels = self._label_range
        given = declared(self, "y_bound")
        y_bound: Any = list(labels) if np.ndim(given) else labels.reach
        bounds = {
            "y_bound": fact(y_bound, source_of(given)),
            "residual_bound": fact(jsonable(self._residual_bound()), source),
        }
        return LabelFacts(bounds, {})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Labels beyond y_bound are clipped, and toy sets have too few rows for a modest epsilon.
        tags.regressor_tags.poor_score = True
        return tags
