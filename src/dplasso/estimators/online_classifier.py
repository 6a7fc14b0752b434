"""The private online classifier."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils.metaestimators import available_if

from dplasso.base.arrays import Floats
from dplasso.domains import Domain
from dplasso.estimators.online_base import PrivateOnline
from dplasso.estimators.online_rules import outputs_for
from dplasso.estimators.scores import ScoredClassifier, tells_probabilities
from dplasso.estimators.validation import (
    CLASSES_READ,
    check_classes,
    check_enough,
    check_gaps,
    distinct,
)
from dplasso.losses import Loss, class_loss
from dplasso.losses.labels import positions
from dplasso.privacy import leaks
from dplasso.privacy.accountant import Accountant
from dplasso.privacy.calibration import Neighboring
from dplasso.privacy.statement import READ, fact
from dplasso.streams.settings import Calibration, Construction, NoiseLaw


class PrivateOnlineClassifier(ScoredClassifier, PrivateOnline):
    """Linear classification of a stream: new weights leave after every row, with privacy.

    Follows the approximate leader over a private running sum of clipped gradients (docs/online.md).
    More than two classes are learned one against the rest, in one sum: a row's gradients for all of
    them are clipped together.

    Parameters
    ----------
    epsilon, delta : the budget of a row. ``epsilon=math.inf`` is the same without privacy; with
        ``noise="gamma"`` there is no delta, whatever this one is.
    window : rows that are protected, the last so many; older ones have EXPIRED, and weights may
        show them. None protects every row for good.
    n_rows : without a window, the most rows there will be: less noise than for an endless stream.
    batch : rows a release: 1 is a release a row. More are faster, and have less noise in a window
        of the same rows; rows that do not fill a batch wait for the next call. "call" is a release
        a call of `partial_fit`, of all its rows: noise is then that of a release a row, as a call
        may have one.
    loss : "logistic", or another name of `dplasso.losses.CLASS_LOSSES`.
    domain : the set of weights: "l2", "l1", "simplex", "box", or a `dplasso.domains.Domain` of as
        many dimensions as outputs x columns, each output's intercept after its columns.
    radius : its size, or "auto".
    regularisation : L2 term of every row's loss, or "auto".
    start_rows : how many rows the start weighs like while noise is large, or "auto".
    clip : bound on the length of a row's gradient, or "auto": 1, which rows of length 1 keep.
    learner : "projection", or "oracle" for local linear steps, which need no projection.
    construction : of the noise, "auto", "buffered", "band", "regenerated_band", "tree" or
        "window_tree": see `dplasso.streams.running_sum`.
    noise : "gaussian", or "gamma" for privacy without a delta, which takes a tree and far more.
    calibration : "tight", or "paper" for the noise of the window tree as published, which is many
        times what the budget asks for.
    rows : "unit" scales every row to length 1, also rows to predict, together with its intercept;
        "as_is" does not.
    fit_intercept : whether to learn one.
    classes : the labels there can be; or pass them to `partial_fit`. Left out, they are read from
        ``y``, which is not private and warns; of `learn_one`, they are then False and True.
    n_features : number of columns. For rows by name it must be declared: names are hashed to them.
    feature_names : names of the columns: those of a frame as a public fact, or of rows by name,
        other names being left out.
    neighboring : "add_remove" (a row, or nothing in its place) or "replace_one".
    accountant : who is charged once, before the first draw, such as a `dplasso.Budget`.
    random_state : None for secure randomness. A seed is for tests, and warns once. One that an
        ensemble of scikit-learn sets on its members does not count, unless there was one before.

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_, feature_names_in_ : as in scikit-learn; of rows
        scaled as ``rows`` says.
    rows_seen_ : rows so far.
    privacy_ : what is promised now, a dict; ``print(model.privacy_)`` for a paragraph.

    Formal guarantees
    -----------------
    All weights so far, together, are (``epsilon``, ``delta``)-DP for each of the last ``window``
    rows, or for every row without one: see ``privacy_`` and `dplasso.streams.RunningSum`. What
    is predicted of a row by weights released before it is a function of those and the row.

    Examples
    --------
    >>> from dplasso import PrivateOnlineClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 5))
    >>> model = PrivateOnlineClassifier(epsilon=1.0, window=1000, classes=[False, True])
    >>> right = model.predict_then_learn(X, X[:, 2] > 0) == (X[:, 2] > 0)
    >>> bool(right[-1000:].mean() > 0.9), model.privacy_["rows_expired"]
    (True, 19000)
    """

    classes_: NDArray[Any]

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        window: int | None = None,
        n_rows: int | None = None,
        batch: int | str = 1,
        loss: str = "logistic",
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
        classes: Sequence[Any] | None = None,
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
        self.classes = classes
        self.n_features = n_features
        self.feature_names = feature_names
        self.neighboring = neighboring
        self.accountant = accountant
        self.random_state = random_state

    def partial_fit(self, X: Any, y: Any, classes: Sequence[Any] | None = None) -> Self:
        """Learn from rows in order, as they go on; ``classes`` as in scikit-learn, at first.

        Formal guarantees
        -----------------
        That of the class, over all calls. The accountant is charged by the first call.
        """
        if classes is not None:
            self._declare(classes, "declared")
        self._learn_rows(X, y)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Margins of rows: one per row for two classes, else one per row and class."""
        margins = self._margins(X)
        return margins[:, 0] if len(self.classes_) == 2 else margins

    @available_if(tells_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes, in the order of ``classes_``."""
        return probabilities(self._margins(X))

    @available_if(tells_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        """Probabilities of the classes of one row of features by name, as in river."""
        chances = probabilities(self._margins_one(x))[0]
        return dict(zip(self.classes_.tolist(), chances.tolist(), strict=True))

    def check_parameters(self) -> None:
        """Reject parameters that cannot be used, before any row is seen."""
        super().check_parameters()
        if self.classes is not None:
            check_enough(distinct(self.classes), declared=True)

    def _declare_usual(self) -> None:
        if "classes_" not in vars(self):
            known = [False, True] if self.classes is None else self.classes
            self._declare(known, "False and True by default")

    def _checked(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        X, labels = super()._checked(X, y)
        check_gaps(labels)
        if "classes_" not in vars(self):
            if self.classes is None:
                check_classes(labels)
                leaks.report(CLASSES_READ)
            self._declare(
                labels if self.classes is None else self.classes,
                READ if self.classes is None else "declared",
            )
        return X, labels

    def _declare(self, classes: Any, source: str) -> None:
        if self.classes is not None:
            source = "declared"
        found = distinct(classes)
        if "classes_" in vars(self) and not np.array_equal(found, self.classes_):
            raise ValueError("classes must be those of the first call; leave them out, or fit anew")
        check_enough(found, declared=source != READ)
        self.classes_, self.classes_source_ = found, source

    def encode(self, y: NDArray[Any]) -> Floats:
        return positions(y, self.classes_.tolist())

    def _make_loss(self) -> Loss:
        return class_loss(self.loss).two_classes()

    def _outputs(self) -> int:
        return outputs_for(self.classes_)

    def decide(self, margins: Floats) -> NDArray[Any]:
        one = margins.shape[1] == 1
        places = (margins[:, 0] > 0).astype(np.intp) if one else margins.argmax(axis=1)
        chosen: NDArray[Any] = self.classes_[places]
        return chosen

    def _own_facts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {}, {"classes": fact(self.classes_.tolist(), self.classes_source_)}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # With a few dozen rows there is more noise than signal, and one look at each.
        tags.classifier_tags.poor_score = True
        return tags


def probabilities(margins: Floats) -> Floats:
    """Of two classes those of logistic loss; of more, one against the rest, made to add up to 1."""
    chances: Floats = expit(margins)
    if margins.shape[1] == 1:
        return np.concatenate([1.0 - chances, chances], axis=1)
    chances = np.maximum(chances, math.ulp(0.0))
    together: Floats = chances / chances.sum(axis=1, keepdims=True)
    return together
