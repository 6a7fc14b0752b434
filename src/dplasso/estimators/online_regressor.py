"""The private online regressor."""

import math
from collections.abc import Sequence
from typing import Any, Self

from numpy.typing import NDArray

from dplasso.base.arrays import Floats
from dplasso.domains import Domain
from dplasso.estimators.base import source_of
from dplasso.estimators.online_base import PrivateOnline
from dplasso.estimators.scores import ScoredRegressor
from dplasso.estimators.undeclared import Y_BOUND, bound_or_one, report_bounds
from dplasso.estimators.validation import checked_numbers
from dplasso.losses import SquaredLoss
from dplasso.privacy.accountant import Accountant
from dplasso.privacy.calibration import Neighboring
from dplasso.privacy.statement import fact
from dplasso.streams.settings import Calibration, Construction, NoiseLaw


class PrivateOnlineRegressor(ScoredRegressor, PrivateOnline):
    """Linear regression of a stream: new weights leave after every row, with privacy.

    Squared loss while a prediction is off by ``y_bound`` at most, linear beyond (Huber's loss).

    Parameters
    ----------
    y_bound : public bound on the size of labels; larger ones are clipped. 1 where it is left out,
        which warns.
    clip : bound on the length of a row's gradient, or "auto": ``y_bound``.

    The others are those of `PrivateOnlineClassifier`.

    Attributes
    ----------
    coef_, intercept_, n_features_in_, rows_seen_, privacy_ : as for `PrivateOnlineClassifier`;
        the first two have one row.

    Formal guarantees
    -----------------
    As for `PrivateOnlineClassifier`.

    Examples
    --------
    >>> from dplasso import PrivateOnlineRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 3))
    >>> X /= np.linalg.norm(X, axis=1, keepdims=True)
    >>> model = PrivateOnlineRegressor(epsilon=1.0, window=1000, y_bound=2.0).fit(X, 2.0 * X[:, 1])
    >>> int(abs(model.coef_).argmax())
    1
    """

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
        learner: str = "projection",
        construction: Construction = "auto",
        noise: NoiseLaw = "gaussian",
        calibration: Calibration = "tight",
        rows: str = "unit",
        fit_intercept: bool = True,
        n_features: int | None = None,
        feature_names: Sequence[str] | None = None,
        neighboring: Neighboring = "add_remove",
        accountant: Accountant | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.window = window
        self.n_rows = n_rows
        self.batch = batch
        self.loss = loss
        self.y_bound = y_bound
        self.domain = domain
        self.radius = radius
        self.regularisation = regularisation
        self.start_rows = start_rows
        self.clip = clip
        self.learner = learner
        self.construction = construction
        self.noise = noise
        self.calibration = calibration
        self.rows = rows
        self.fit_intercept = fit_intercept
        self.n_features = n_features
        self.feature_names = feature_names
        self.neighboring = neighboring
        self.accountant = accountant
        self.random_state = random_state

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn from rows in order, as they go on.

        Formal guarantees
        -----------------
        That of the class, over all calls. The accountant is charged by the first call.
        """
        self._learn_rows(X, y)
        return self

    def _checked(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        X, labels = super()._checked(X, y)
        return X, checked_numbers(labels)

    def check_parameters(self) -> None:
        """Reject parameters that cannot be used, before any row is seen."""
        super().check_parameters()
        if self.y_bound is None:
            report_bounds([Y_BOUND], private=not math.isinf(self.epsilon))

    def encode(self, y: NDArray[Any]) -> Floats:
        return self._make_loss().encode(y)

    def _make_loss(self) -> SquaredLoss:
        if self.loss != "squared":
            raise ValueError(f"loss must be 'squared', got {self.loss!r}")
        return SquaredLoss(self._margin_unit(), self._margin_unit())

    def _margin_unit(self) -> float:
        bound: float = bound_or_one(self, "y_bound")
        return bound

    def _outputs(self) -> int:
        return 1

    def decide(self, margins: Floats) -> NDArray[Any]:
        return margins[:, 0]

    def _own_facts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"y_bound": fact(self._margin_unit(), source_of(self.y_bound))}, {}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Labels beyond y_bound are clipped, and every row is looked at once.
        tags.regressor_tags.poor_score = True
        return tags
