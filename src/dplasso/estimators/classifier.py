"""The private sparse classifier."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from dplasso.base.arrays import Floats, Labels
from dplasso.base.wording import ParameterError
from dplasso.estimators.base import LabelFacts, PrivateLasso, reject
from dplasso.estimators.scores import ScoredClassifier, tells_probabilities
from dplasso.estimators.seeding import Seed
from dplasso.estimators.to_sklearn import hand_over
from dplasso.estimators.validation import (
    CLASSES_READ,
    check_classes,
    check_enough,
    check_gaps,
    distinct,
)
from dplasso.fitting.request import Auto
from dplasso.fitting.sparsifier import Sparsifier
from dplasso.losses import Loss, class_loss, loss_of_classes
from dplasso.losses.base import Probabilities
from dplasso.privacy import leaks
from dplasso.privacy.accountant import Accountant
from dplasso.privacy.calibration import Neighboring
from dplasso.privacy.statement import READ, fact

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC


class PrivateLassoClassifier(ScoredClassifier, PrivateLasso):
    """Sparse logistic regression (softmax for more than two classes) with differential privacy.

    Private Frank-Wolfe over ``||coef||_1 <= radius``: a round releases one signed coordinate, so
    that a fit of T rounds has at most T nonzero coefficients.

    Parameters
    ----------
    epsilon, delta : the budget of one fit. ``epsilon=math.inf`` is the same solver without privacy.
    radius : bound on the 1-norm of the coefficients (intercept included, in units of ``x_bound``),
        or "auto": a rule that uses ``epsilon``, ``delta`` and the number of rows only. Where
        columns have bounds of their own, a coefficient counts times its bound over the largest.
    max_iter : number of rounds, or "auto": a rule of the same kind.
    loss : "logistic" (softmax for more than two classes), or another name of
        `dplasso.losses.CLASS_LOSSES`.
    x_bound : public bound on the size of entries: one number, one per column, or a mapping from
        feature names; 1 where it is left out, which warns. Larger entries are clipped; what is
        never that large wastes budget. "private" releases one first: about the median size of a
        row's entries that nine rows in ten exceed, among public candidates, the powers of sqrt(2)
        from 2^-20 to 2^20.
    bound_share : share of the budget, in rho, for ``x_bound="private"``.
    fit_intercept : whether to fit an intercept; it is one more coordinate.
    classes : the labels there can be. Left out, they are read from ``y``, which is not private and
        warns.
    n_rows : the number of rows as a public fact, for the rules. Left out, the real number is used,
        which is not private and warns, unless rows are replaced; strict mode refuses.
    feature_names : the names of the columns of a frame as a public fact. Left out, they are those
        of ``X`` and the statement says so; strict mode refuses.
    solver : "frank_wolfe" (sparse: at most one nonzero per round), "gradient" (more accurate;
        dense, or with ``n_nonzero`` coefficients), or "auto": "gradient" with privacy; for
        ``n_nonzero`` up to 4 of more than 1,000 columns, two classes and rows enough, half of the
        budget selects the columns first (``solver_`` is then "select").
    rows : a public map of the entries, also of rows to predict: "as_is", "presence" (1 where an
        entry is not 0), "sqrt", "blend" (half way from an entry to the bound). "auto" is "as_is",
        but "presence" for more than 1,000 columns under "gradient", whether X is sparse or dense:
        pass "as_is" for that many columns of numbers. Under "gradient", rows are then scaled to
        length 1, and ``coef_`` is for such rows.
    n_nonzero : keep only so many coefficients, a public number; "auto" makes the most of them.
    sparsify : the same; or a `Sparsifier`, which spends part of the budget on a private count.
    selection : "lazy", or another rule of the engine.
    neighboring : "add_remove" (one row more or less) or "replace_one".
    accountant : who is charged before the first draw, such as a `dplasso.Budget`.
    random_state : None for secure randomness. A seed is for tests, and warns once. One that an
        ensemble of scikit-learn sets on its members does not count, unless there was one before.
    n_jobs : threads; None or -1 for all cores. The result does not depend on it.
    verbose : above 0, a progress bar where standard error is a terminal.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, n_features_in_, feature_names_in_ : as in scikit-learn.
    vertices_ : what was released, one row per round: column (``n_features_in_`` is the intercept),
        +1 where the coefficient moves up or -1, and the class where there are more than two. Of a
        fit that selects columns first, those columns and signs; of a descent, none.
    solver_, rows_ : the solver and the map of rows that were used.
    fitted_ : what the fit came to, a `dplasso.fitting.fitted.Fitted`: sparse weights, and how new
        rows are mapped.
    privacy_ : what is promised, a dict; ``print(model.privacy_)`` for a paragraph.

    Formal guarantees
    -----------------
    See ``privacy_`` of a fit: (``epsilon``, ``delta``)-DP for neighbours that differ as
    ``neighboring`` says, given the public facts listed there. One fit is ``max_iter`` adaptive
    selections (`dplasso.frank_wolfe`) and, with a `Sparsifier`, one count; costs add in zCDP.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from dplasso import PrivateLassoClassifier
    >>> X = sp.random_array((2000, 100_000), density=1e-3, rng=np.random.default_rng(0))
    >>> y = np.arange(2000) % 2
    >>> public = {"classes": [0, 1], "n_rows": 2000, "x_bound": 1.0}
    >>> model = PrivateLassoClassifier(epsilon=1.0, **public).fit(X, y)
    >>> model.coef_.shape, model.privacy_["epsilon"]
    ((1, 100000), 1.0)
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        radius: float | Auto = "auto",
        max_iter: int | Auto = "auto",
        loss: str = "logistic",
        x_bound: float | Sequence[float] | Mapping[str, float] | str | None = None,
        bound_share: float = 0.05,
        fit_intercept: bool = True,
        classes: Sequence[object] | None = None,
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
        self.loss = loss
        self.x_bound = x_bound
        self.bound_share = bound_share
        self.fit_intercept = fit_intercept
        self.classes = classes
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

    def decision_function(self, X: object) -> Floats:
        """Margins of rows: one per row for two classes, else one per row and class."""
        margins = self._margins(X)
        return margins[:, 0] if len(self.classes_) == 2 else margins

    def predict(self, X: object) -> Labels:
        """The most likely class of every row."""
        margins = self.decision_function(X)
        places = (margins > 0).astype(np.intp) if margins.ndim == 1 else margins.argmax(axis=1)
        chosen: Labels = self.classes_[places]
        return chosen

    @available_if(tells_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: object) -> Floats:
        """Probabilities of the classes, in the order of ``classes_``."""
        margins = self._margins(X)
        return self._link().probabilities(margins)

    @available_if(tells_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: object) -> Floats:
        """Logarithms of the probabilities, finite where those underflow."""
        margins = self._margins(X)
        return self._link().log_probabilities(margins)

    def _link(self) -> Probabilities:
        found = self._loss_of(self.classes_)
        assert isinstance(found, Probabilities)
        return found

    def to_sklearn(self) -> "LogisticRegression | LinearSVC":
        """A plain fitted scikit-learn classifier with the same predictions.

        Returns
        -------
        LogisticRegression or LinearSVC
            The former where the loss has probabilities.
        """
        # A tenth of a second to import.
        if class_loss(self.loss).has_probabilities:
            from sklearn.linear_model import LogisticRegression as Plain
        else:
            from sklearn.svm import LinearSVC as Plain

        plain = hand_over(self, Plain())
        plain.classes_ = self.classes_
        plain.n_iter_ = np.array([self.n_iter_], dtype=np.int32)
        return plain

    def check_parameters(self) -> None:
        """Reject what can be rejected before the data are looked at."""
        class_loss(self.loss)
        super().check_parameters()

    def _checked_labels(self, y: Labels) -> Labels:
        check_gaps(y)
        if self.classes is None:
            check_classes(y)
        return y

    def _make_loss(self, y: Labels) -> Loss:
        if self.classes is None:
            leaks.report(CLASSES_READ)
        self.classes_ = distinct(y) if self.classes is None else self._declared_classes()
        check_enough(self.classes_, declared=False)
        return self._loss_of(self.classes_)

    def _declared_loss(self) -> Loss:
        if self.classes is None:
            raise ParameterError(
                "{classes} are not declared, and a plan cannot read them from y; declare them"
            )
        return self._loss_of(self._declared_classes())

    def _declared_classes(self) -> Labels:
        found = distinct(np.asarray(self.classes))
        check_enough(found, declared=True)
        return found

    def _loss_of(self, labels: Labels) -> Loss:
        return loss_of_classes(self.loss, labels.tolist())

    def _label_facts(self, read: frozenset[str]) -> LabelFacts:
        known = self.classes_ if self.classes is None else self._declared_classes()
        source = READ if self.classes is None or "classes" in read else "declared"
        facts = {"classes": fact(known.tolist(), source)}
        if self.loss != "logistic":
            facts["loss"] = fact(self.loss, "given")
        return LabelFacts({}, facts)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # With a few dozen rows and a modest epsilon there is more noise than signal.
        tags.classifier_tags.poor_score = not (
            isinstance(self.epsilon, float | int) and self.epsilon >= ENOUGH_FOR_TOYS
        )
        return tags


# At this epsilon even scikit-learn's test sets of a few dozen rows can be learned.
ENOUGH_FOR_TOYS = 1000.0
