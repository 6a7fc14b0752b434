"""The private online classifier."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils.metaestimators import available_if

from dplasso.base.arrays import Floats
from dplasso.base.wording import ParameterError
from dplasso.domains import Domain
from dplasso.estimators.online_base import PrivateOnline
from dplasso.estimators.online_rows import PLAIN
from dplasso.estimators.online_rules import outputs_for
from dplasso.estimators.parameters import reject
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
    """Private linear classification of a stream, which releases new weights after every row.

    The learner follows the approximate leader over a private running sum of clipped gradients
    (:doc:`/explanation/online`). More than two classes are learned one against the rest in a single
    sum: the gradients of a row for all classes are clipped together.

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
        Without a window, the largest number of rows that the stream will have. Declaring it needs
        less noise than an endless stream.
    batch : int or "call", default=1
        Rows per release. More rows are faster and need less noise for the same window; rows that do
        not fill a batch wait for the next call. "call" makes one release per call of `partial_fit`,
        from all of its rows. Its noise is that of one release per row, since a call may have just
        one row. The number of rows in each call is then public: choose it without looking at rows.
    loss : str, default="logistic"
        "logistic", or another name in `dplasso.losses.CLASS_LOSSES`.
    domain : {"l2", "l1", "simplex", "box"} or Domain, default="l2"
        Set of weights. A `dplasso.domains.Domain` must have outputs x columns dimensions, where the
        intercept of each output follows its columns.
    radius : float or "auto", default="auto"
        Size of the domain.
    regularisation : float or "auto", default="auto"
        L2 term in the loss of every row.
    start_rows : float or "auto", default="auto"
        Number of rows that the starting point weighs as much as, while the noise is large. With
        "auto", the weights of the latest releases are averaged, too.
    clip : float or "auto", default="auto"
        Bound on the length of a row's gradient. "auto" is 0.5 for logistic loss, the length of a
        row's gradient before anything is learned, and otherwise 1.
    half_life : float or None, default=None
        Number of rows after which a row counts half. None lets no row fade. It costs no privacy,
        and rows are protected for as long as without it.
    learner : {"projection", "oracle"}, default="projection"
        "oracle" takes local linear steps, which need no projection.
    construction : str, default="auto"
        Construction of the noise: "auto", "buffered", "blocks", "band", "regenerated_band", "tree"
        or "window_tree"; see `dplasso.streams.running_sum`. "auto" uses blocks for wide rows.
    noise : {"gaussian", "gamma"}, default="gaussian"
        "gamma" gives privacy without a delta. It requires a tree and far more noise.
    calibration : {"tight", "paper"}, default="tight"
        "paper" is the noise of the window tree as published, many times what the budget requires.
    row_map : {"unit", "as_is"}, default="unit"
        "unit" scales every row, together with its intercept, to length 1, also rows to predict.
    fit_intercept : bool, default=True
        Whether to learn an intercept.
    classes : sequence or None, default=None
        All possible labels, as a public fact; they may also be passed to `partial_fit`. None reads
        them from ``y``, which is not private and warns. For `learn_one`, None means False and True.
    n_features : int or None, default=None
        Number of columns. Rows by name require it unless ``feature_names`` is given: names are
        hashed to columns.
    feature_names : sequence of str or None, default=None
        Names of the columns of a data frame, as a public fact, or of rows by name, whose other
        names are ignored.
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
        Neighbouring streams differ by a row that is absent, with nothing in its place, or by a row
        that is replaced.
    accountant : Accountant or None, default=None
        Accountant that is charged once, before the first draw, such as a `dplasso.Budget`.
    random_state : int, Generator, RandomState, RandomBits or None, default=None
        None uses secure randomness. A seed is for tests and warns once. A seed that a scikit-learn
        ensemble sets on its members is ignored unless the estimator already had one.

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_features)
        Coefficients of rows that are scaled as ``row_map`` says.
    intercept_ : ndarray of shape (n_outputs,)
        Intercepts.
    classes_ : ndarray
        Class labels in increasing order.
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
    All weights released so far, taken together, are (``epsilon``, ``delta``)-DP for each of the
    last ``window`` rows, or for every row if there is no window: see ``privacy_`` and
    `dplasso.streams.RunningSum`. The prediction for a row is a function of the row and of the
    weights that were released before it.

    Examples
    --------
    >>> import numpy as np
    >>> from dplasso import PrivateOnlineClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 5))
    >>> model = PrivateOnlineClassifier(epsilon=1.0, window=1000, classes=[False, True])
    >>> right = model.predict_then_learn(X, X[:, 2] > 0) == (X[:, 2] > 0)
    >>> bool(right[-1000:].mean() > 0.9), model.privacy_["rows_expired"]
    (True, 19000)
    """

    classes_: NDArray[Any]
    _kind = "Classifier"

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
        half_life: float | None = None,
        learner: str = "projection",
        construction: Construction = "auto",
        noise: NoiseLaw = "gaussian",
        calibration: Calibration = "tight",
        row_map: str = "unit",
        fit_intercept: bool = True,
        classes: Sequence[Any] | None = None,
        n_features: int | None = None,
        feature_names: Sequence[str] | None = None,
        neighboring: Neighboring = "add_remove",
        accountant: Accountant | None = None,
        random_state: Any = None,
        **others: object,
    ) -> None:
        self._store(locals())

    def partial_fit(
        self, X: Any, y: Any, classes: Sequence[Any] | None = None, **rejected: Any
    ) -> Self:
        """Continue to learn from rows, in order.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Rows x columns.
        y : array
            One label per row.
        classes : sequence or None, default=None
            All possible labels; needed in the first call only, as in scikit-learn.
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
        if classes is not None:
            self._declare(classes, "declared")
        if not self._learn_one_row(X, y):
            self._learn_rows(X, y)
        return self

    @available_if(tells_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Predict the probabilities of the classes, in the order of ``classes_``.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Rows x columns.

        Returns
        -------
        ndarray of float
            Rows x classes.
        """
        return probabilities(self._margins(X))

    @available_if(tells_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        """Predict the class probabilities of one row of features by name, as in river.

        Parameters
        ----------
        x : mapping
            Values of features by name.

        Returns
        -------
        dict
            The probability of each class.
        """
        chances = probabilities(self._margins_one(x))[0]
        return dict(zip(self.classes_.tolist(), chances.tolist(), strict=True))

    def check_parameters(self) -> None:
        """Reject invalid parameters before any row is read."""
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
            raise ParameterError(
                "{classes} must be those of the first call; leave them out, or fit anew"
            )
        check_enough(found, declared=source != READ)
        self.classes_, self.classes_source_ = found, source

    def encode(self, y: NDArray[Any]) -> Floats:
        return positions(y, self.classes_.tolist())

    def _encode_one(self, y: Any) -> float:
        found = super()._encode_one(y)
        # Of these types, labels that are equal have equal positions, and no others are remembered.
        if type(y) in PLAIN:
            self.stream_.known_labels[y] = found
        return found

    def predict_one(self, x: Mapping[Any, Any]) -> Any:
        """Predict one row of features by name, as in river.

        Parameters
        ----------
        x : mapping
            Values of features by name.

        Returns
        -------
        object
            The most likely class.
        """
        classes = self.__dict__.get("classes_")
        if classes is None:
            self._declare_usual()
            classes = self.classes_
        if len(classes) > 2:
            return self.decide(self._margins_one(x)).tolist()[0]
        return classes.item(1 if self._margin_one(x) > 0.0 else 0)

    @property
    def _multiclass(self) -> bool:
        """Whether the declared classes are more than two, as river asks."""
        return self.classes is not None and len(self.classes) > 2

    def _make_loss(self) -> Loss:
        return class_loss(self.loss).two_classes()

    def _outputs(self) -> int:
        return outputs_for(self.classes_)

    def decide(self, margins: Floats) -> NDArray[Any]:
        return self._decided(margins)

    def _own_facts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {}, {"classes": fact(self.classes_.tolist(), self.classes_source_)}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # With a few dozen rows, each read once, the noise exceeds the signal.
        tags.classifier_tags.poor_score = True
        return tags


def probabilities(margins: Floats) -> Floats:
    """Logistic probabilities of two classes; of more, one against the rest, scaled to sum to 1."""
    chances: Floats = expit(margins)
    if margins.shape[1] == 1:
        return np.concatenate([1.0 - chances, chances], axis=1)
    chances = np.maximum(chances, math.ulp(0.0))
    together: Floats = chances / chances.sum(axis=1, keepdims=True)
    return together
