"""The private online regressor."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from numpy.typing import NDArray

from dplasso.base import checks
from dplasso.base.arrays import Floats
from dplasso.domains import Domain
from dplasso.estimators.base import source_of
from dplasso.estimators.online_base import PrivateOnline
from dplasso.estimators.parameters import reject
from dplasso.estimators.scores import ScoredRegressor
from dplasso.estimators.undeclared import Y_BOUND, bound_or_one, report_bounds
from dplasso.estimators.validation import checked_numbers
from dplasso.losses import SquaredLoss
from dplasso.privacy.accountant import Accountant
from dplasso.privacy.calibration import Neighboring
from dplasso.privacy.statement import fact
from dplasso.streams.settings import Calibration, Construction, NoiseLaw


class PrivateOnlineRegressor(ScoredRegressor, PrivateOnline):
    """Private linear regression of a stream, which releases new weights after every row.

    The loss is squared while the error of a prediction is at most ``y_bound``, and linear beyond
    (Huber's loss).

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget per row. ``math.inf`` runs the same learner without privacy.
    delta : float, default=1e-6
        Delta of the guarantee. With ``noise="gamma"`` it is not used and the guarantee has none.
    window : int or None, default=None
        Number of most recent rows that are protected. Older rows have EXPIRED, and weights may
        reveal them. None protects every row forever.
    n_rows : int or None, default=None
        Without a window, the largest number of rows that the stream will have.
    batch : int or "call", default=1
        Rows per release; see `PrivateOnlineClassifier`.
    loss : {"squared"}, default="squared"
        Name of the loss.
    y_bound : float or None, default=None
        Public bound on the absolute value of labels. Larger labels are clipped. None means 1 and
        warns.
    domain : {"l2", "l1", "simplex", "box"} or Domain, default="l2"
        Set of weights; see `PrivateOnlineClassifier`.
    radius : float or "auto", default="auto"
        Size of the domain.
    regularisation : float or "auto", default="auto"
        L2 term in the loss of every row.
    start_rows : float or "auto", default="auto"
        Number of rows that the starting point weighs as much as, while the noise is large.
    clip : float or "auto", default="auto"
        Bound on the length of a row's gradient. "auto" is ``y_bound``.
    half_life : float or None, default=None
        Number of rows after which a row counts half. None lets no row fade. It costs no privacy,
        and rows stay protected as long as without.
    learner : {"projection", "oracle"}, default="projection"
        "oracle" takes local linear steps, which need no projection.
    construction : str, default="auto"
        Construction of the noise; see `PrivateOnlineClassifier`.
    noise : {"gaussian", "gamma"}, default="gaussian"
        "gamma" gives privacy without a delta. It requires a tree and far more noise.
    calibration : {"tight", "paper"}, default="tight"
        "paper" is the noise of the window tree as published, many times what the budget requires.
    row_map : {"unit", "as_is"}, default="unit"
        "unit" scales every row, together with its intercept, to length 1, also rows to predict.
    fit_intercept : bool, default=True
        Whether to learn an intercept.
    n_features : int or None, default=None
        Number of columns. Rows by name require it unless ``feature_names`` is given: names are
        hashed to columns.
    feature_names : sequence of str or None, default=None
        Names of the columns; see `PrivateOnlineClassifier`.
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
        Neighbouring streams differ by a row that is absent, with nothing in its place, or by a row
        that is replaced.
    accountant : Accountant or None, default=None
        Accountant that is charged once, before the first draw, such as a `dplasso.Budget`.
    random_state : int, Generator, RandomState, RandomBits or None, default=None
        None uses secure randomness; see `PrivateOnlineClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Coefficients of rows that are scaled as ``row_map`` says.
    intercept_ : ndarray of shape (1,)
        Intercept.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, if they are known.
    rows_seen_ : int
        Number of rows so far.
    privacy_ : OnlineStatement
        Current privacy statement, a dict; ``print(model.privacy_)`` shows it as a paragraph.

    Formal guarantees
    -----------------
    The guarantees are those of `PrivateOnlineClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from dplasso import PrivateOnlineRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 3))
    >>> X /= np.linalg.norm(X, axis=1, keepdims=True)
    >>> model = PrivateOnlineRegressor(epsilon=1.0, window=1000, y_bound=2.0).fit(X, 2.0 * X[:, 1])
    >>> int(abs(model.coef_).argmax())
    1
    """

    _kind = "Regressor"

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        window: int | None = None,
        n_rows: int | None = None,
        batch: int | str = 1,
        loss: str = "squared",
        y_bound: float | None = None,
        domain: str | Domain = "l2",
        radius: float | str = "auto",
        regularisation: float | str = "auto",
        start_rows: float | str = "auto",
        clip: float | str = "auto",
        half_life: float | None = None,
        learner: str = "projection",
        construction: Construction = "auto",
        noise: NoiseLaw = "gaussian",
        calibration: Calibration = "tight",
        row_map: str = "unit",
        fit_intercept: bool = True,
        n_features: int | None = None,
        feature_names: Sequence[str] | None = None,
        neighboring: Neighboring = "add_remove",
        accountant: Accountant | None = None,
        random_state: Any = None,
        **others: object,
    ) -> None:
        self._store(locals())

    def partial_fit(self, X: Any, y: Any, **rejected: Any) -> Self:
        """Continue to learn from rows, in order.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Rows x columns.
        y : array
            One label per row.
        **rejected : object
            Other arguments of ``partial_fit`` in scikit-learn are rejected.

        Returns
        -------
        self

        Formal guarantees
        -----------------
        The guarantee of the class holds over all calls. The first call charges the accountant.
        """
        reject(rejected, "partial_fit")
        if not self._learn_one_row(X, y):
            self._learn_rows(X, y)
        return self

    def _checked(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        X, labels = super()._checked(X, y)
        return X, checked_numbers(labels)

    def check_parameters(self) -> None:
        """Reject invalid parameters before any row is read."""
        super().check_parameters()
        if self.y_bound is None:
            report_bounds([Y_BOUND], private=not math.isinf(self.epsilon))

    def encode(self, y: NDArray[Any]) -> Floats:
        bound = self._stream_bound()
        return SquaredLoss(bound, bound).encode(y)

    def _encode_one(self, y: Any) -> float:
        if type(y) is not float or not math.isfinite(y):
            return super()._encode_one(y)
        bound = self._stream_bound()
        return min(max(y, -bound), bound)

    def _stream_bound(self) -> float:
        """The bound that labels are clipped to: that which the stream began with.

        Another one, set since then, concerns the next stream. A stream that continues clips the
        labels of its journal to the bound that it began with: they must be those that were learned.
        """
        declared = self._began_with("y_bound")
        return 1.0 if declared is None else float(declared)

    def predict_one(self, x: Mapping[Any, Any]) -> Any:
        """Predict one row of features by name, as in river.

        Parameters
        ----------
        x : mapping
            Values of features by name.

        Returns
        -------
        float
        """
        return self._margin_one(x)

    def _make_loss(self) -> SquaredLoss:
        checks.choice("loss", self.loss, ("squared",))
        return SquaredLoss(self._margin_unit(), self._margin_unit())

    def _margin_unit(self) -> float:
        bound: float = bound_or_one(self, "y_bound")
        return bound

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"n_features": 64, "random_state": 0, "y_bound": 100.0}

    def _outputs(self) -> int:
        return 1

    def decide(self, margins: Floats) -> NDArray[Any]:
        return margins[:, 0]

    def _own_facts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        source = source_of(self._began_with("y_bound"))
        return {"y_bound": fact(self._stream_bound(), source)}, {}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Labels beyond y_bound are clipped, and every row is read once.
        tags.regressor_tags.poor_score = True
        return tags
