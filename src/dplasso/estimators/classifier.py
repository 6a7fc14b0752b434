"""The private sparse classifier."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from dplasso.base import checks
from dplasso.base.arrays import Floats, Labels
from dplasso.base.wording import ParameterError
from dplasso.cluster import Cluster
from dplasso.estimators.base import LabelFacts, PrivateLasso
from dplasso.estimators.declared import declared, is_of_rows
from dplasso.estimators.scores import ScoredClassifier, tells_probabilities
from dplasso.estimators.seeding import Seed
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


class PrivateLassoClassifier(ScoredClassifier, PrivateLasso):
    """Sparse logistic regression (softmax for more than two classes) with differential privacy.

    By default a public rule chooses the solver that suits the shape of the data (``solver``).
    ``solver="frank_wolfe"`` solves the LASSO by private Frank-Wolfe over ``||coef||_1 <= radius``.
    Each of its rounds releases one signed coordinate, so T rounds give at most T nonzero
    coefficients.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of one fit. ``math.inf`` fits without privacy: ``solver="auto"`` then takes
        "frank_wolfe" and runs it until it has converged, and a solver that is named runs without
        noise.
    delta : float, default=1e-6
        Delta of the (epsilon, delta) guarantee of one fit.
    radius : float or "auto", default="auto"
        Bound on the 1-norm of the coefficients, intercept included, in units of ``x_bound``. If
        columns have different bounds, each coefficient is multiplied by its bound over the largest
        bound. If columns have ranges, it bounds the weights of the columns scaled by them. "auto"
        computes it from ``epsilon``, ``delta`` and the numbers of rows, columns and classes; it
        bounds the coefficients before the correction of probabilities.
    max_iter : int or "auto", default="auto"
        Number of rounds of Frank-Wolfe. "auto" computes it from the same public facts.
    loss : str, default="logistic"
        "logistic" (softmax for more than two classes), or another name in
        `dplasso.losses.CLASS_LOSSES`.
    x_bound : float, sequence, mapping, "private" or None, default=None
        Public bound on the absolute value of entries: one number, one per column, or a mapping from
        feature names. A pair (low, high) instead of a number is the range of a column, which is
        centred and scaled by it, except for an indicator, (0, 1). Of more than 1,000 columns, those
        without a pair are then wide: they are taken for words of a text or hashed categories, such
        as 50,000 words beside a column ``"age": (18, 100)``. Larger entries are clipped; a bound
        that no entry reaches wastes budget.
        "private" first releases one bound for all columns, a power of sqrt(2) from 2^-20 to 2^20.
        It is low on purpose: the median size of a row's entries is above it in about nine rows of
        ten, so that most entries are clipped. This pays because noise grows with the bound. For the
        words of reuters21578, in rows of length 1, the bound is 0.044, and Frank-Wolfe is then as
        accurate as with the best of all bounds (``benchmarks/private_bound.py``). None means 1 and
        warns, except under "frank_wolfe" with an automatic ``radius``, where it means "private".
    bound_share : float, default=0.05
        Share of the budget, in rho, that is spent on a released bound.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is one more coordinate.
    classes : sequence or None, default=None
        All possible labels, as a public fact. None reads them from ``y``, which is not private and
        warns.
    n_rows : int or None, default=None
        Number of rows that the rules use, as a public fact. None uses the real number, which is not
        private and warns, unless ``neighboring="replace_one"``. Strict mode rejects it.
    n_people : int or None, default=None
        Number of people that the rules use, as a public fact, if ``fit`` gets ``groups``. None
        uses the real number, as for ``n_rows``.
    rows_per_person : int, default=1
        How many rows a person counts as, at most, if ``fit`` gets ``groups``. Each row of a person
        with more rows counts less. The noise grows with this number, so 1 is best unless the rows
        of a person differ much (:doc:`/explanation/people`). If it is 1 and the
        schema of the rows declares another number (``rows.described()``), that one counts.
    person : str or None, default=None
        What identifies a person, such as "patient_id", in the words of the privacy statement and
        of the ledger.
    class_weight : mapping or None, default=None
        How much rows of each class count: a number above 0 and up to 1 for every class, as a public
        fact. None counts all rows fully. Margins and probabilities are those of weighted rows.
    feature_names : sequence of str or None, default=None
        Names of the columns of a data frame, as a public fact. None takes the names from ``X``,
        which the privacy statement reports. Strict mode rejects it.
    solver : {"auto", "table", "gradient", "frank_wolfe"}, default="auto"
        "table" standardises columns and is meant for few of them. "gradient" scales rows to length
        1 and is meant for text; it keeps as many coefficients as ``n_nonzero`` says, and all with
        None. "frank_wolfe" is sparse, with at most one nonzero per round. "auto" decides by public
        facts: "frank_wolfe" without privacy, or if ``radius``, ``max_iter``, ``selection``,
        ``fit_intercept=False`` or a `Sparsifier` is given; otherwise "table" for up to 200 columns
        (1,000 for more than two classes) unless rows are few, and "gradient" for more. It
        spends half of the budget on selecting columns first (``solver_`` is then "select") if
        ``n_nonzero`` is at most 4 and there are more than 1,000 columns, two classes and enough
        rows. ``privacy_`` names the choice and the reason.
    row_map : {"auto", "as_is", "presence", "sqrt", "blend"}, default="auto"
        Public map of the entries, which also applies to rows to predict. "presence" is 1 for every
        entry that is not 0, "sqrt" the root of an entry with its sign, and "blend" half way from an
        entry to the bound. "auto" is "as_is" for up to 1,000 columns, and for more under
        "gradient", whether ``X`` is sparse or dense, "sqrt" if rows are many for the noise or
        ``x_bound`` is declared and not 1, and "presence" otherwise; under other solvers it is
        "as_is". "gradient" then scales rows to length 1, and ``coef_`` applies to the
        scaled rows.
    n_nonzero : int, "auto", Sparsifier or None, default="auto"
        Number of coefficients to keep, as a public fact. ``solver="auto"`` chooses a solver that
        suits it. "auto" computes it from ``epsilon``, ``delta`` and the numbers of rows, columns
        and classes: a descent for two classes or numbers on more than 1,000 columns keeps a part
        of them, and other fits keep all. None keeps all. A `Sparsifier` spends part of the
        budget on a private count instead.
    selection : str, default="lazy"
        Selection rule of Frank-Wolfe rounds.
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
        Neighbouring data sets differ by one added or removed row, or by one replaced row; by all
        rows of a person, if ``fit`` gets ``groups``.
    accountant : Accountant or None, default=None
        Accountant that is charged before the first draw, such as a `dplasso.Budget`.
    random_state : int, Generator, RandomState, RandomBits or None, default=None
        None uses secure randomness. A seed is for tests and warns once. A seed that a scikit-learn
        ensemble sets on its members is ignored unless the estimator already had one.
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
        Which processes hold the rows of `dplasso.Shards`: this one, or processes of Ray, which a
        `dplasso.Cluster` describes. The result does not depend on it.

    Attributes
    ----------
    coef_ : ndarray or csr_array of shape (n_outputs, n_features)
        Coefficients, with one output for two classes and one per class otherwise.
    intercept_ : ndarray of shape (n_outputs,)
        Intercepts.
    classes_ : ndarray
        Class labels in increasing order.
    n_iter_ : int
        Rounds or steps of the fit.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : sequence of str
        Names of the columns, if they are known.
    vertices_ : ndarray of int
        Released coordinates, one row per round: the column (``n_features_in_`` is the intercept),
        +1 or -1 for the direction in which the coefficient moves, and the class if there are more
        than two. A fit that selects columns first has those columns and signs; a descent has none.
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
    A fit is (``epsilon``, ``delta``)-DP for neighbours that differ as ``neighboring`` says, given
    the public facts listed in ``privacy_``. A Frank-Wolfe fit consists of ``max_iter`` adaptive
    selections (`dplasso.frank_wolfe`) and, with a `Sparsifier`, one count; costs add in zCDP. With
    any solver, 5 % of the budget corrects a scale and intercepts, so that `predict_proba` is
    calibrated; ``coef_`` and ``intercept_`` are the corrected ones.

    Examples
    --------
    >>> import numpy as np
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
        n_people: int | None = None,
        rows_per_person: int = 1,
        person: str | None = None,
        class_weight: Mapping[Any, float] | None = None,
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

    def predict(self, X: object) -> Labels:
        """Predict the most likely class of every row.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Rows x columns.

        Returns
        -------
        ndarray
            One class per row.
        """
        return self._decided(self._margins(X))

    @available_if(tells_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: object) -> Floats:
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
        margins = self._margins(X)
        return self._link().probabilities(margins)

    @available_if(tells_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: object) -> Floats:
        """Predict log-probabilities, which stay finite where the probabilities underflow.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Rows x columns.

        Returns
        -------
        ndarray of float
            Rows x classes.
        """
        margins = self._margins(X)
        return self._link().log_probabilities(margins)

    def _link(self) -> Probabilities:
        found = self._loss_of(self.classes_)
        assert isinstance(found, Probabilities)
        return found

    def check_parameters(self) -> None:
        """Reject invalid parameters before the data are read."""
        class_loss(self.loss)
        if self.class_weight is not None and not isinstance(self.class_weight, Mapping):
            raise ParameterError(
                "{class_weight} must map every class to a number above 0 and up to 1, got {kind}; "
                "weights that depend on y would not be private",
                kind=type(self.class_weight).__name__,
            )
        super().check_parameters()

    def _checked_labels(self, y: Labels) -> Labels:
        check_gaps(y)
        if declared(self, "classes") is None:
            check_classes(y)
        return y

    def _make_loss(self, y: Labels) -> Loss:
        if declared(self, "classes") is None:
            leaks.report(CLASSES_READ)
        self.classes_ = (
            distinct(y) if declared(self, "classes") is None else self._declared_classes()
        )
        check_enough(self.classes_, declared=False)
        return self._loss_of(self.classes_)

    def _declared_loss(self) -> Loss:
        if declared(self, "classes") is not None:
            return self._loss_of(self._declared_classes())
        if "classes_" in vars(self):
            return self._loss_of(self.classes_)
        raise ParameterError(
            "{classes} are not declared, and a plan cannot read them from y; declare them"
        )

    def _declared_classes(self) -> Labels:
        found = distinct(np.asarray(declared(self, "classes")))
        check_enough(found, declared=True)
        return found

    def _loss_of(self, labels: Labels) -> Loss:
        return loss_of_classes(self.loss, labels.tolist())

    @property
    def _weighs_classes(self) -> bool:
        return declared(self, "class_weight") is not None

    def _class_weights(self) -> Floats | None:
        return None if declared(self, "class_weight") is None else self._weights_of(self.classes_)

    def _weights_of(self, classes: Labels) -> Floats:
        """The declared weights of the classes, in their order."""
        weights, known = dict(declared(self, "class_weight") or {}), classes.tolist()
        if set(weights) != set(known):
            raise ParameterError(
                "{class_weight} must map every class, and nothing else, to a weight; give one per "
                "class"
            )
        found = np.array([checks.bound("class_weight", weights[label]) for label in known])
        if np.any(found > 1.0):
            raise ParameterError(
                "{class_weight} must be above 0 and up to 1; divide all weights by the largest"
            )
        return found

    def _label_facts(self, read: frozenset[str]) -> LabelFacts:
        known = self.classes_ if declared(self, "classes") is None else self._declared_classes()
        source = READ if declared(self, "classes") is None or "classes" in read else "declared"
        facts = {"classes": fact(known.tolist(), source)}
        if self.loss != "logistic":
            facts["loss"] = fact(self.loss, "given")
        if self._weighs_classes:
            weights = zip(known.tolist(), self._weights_of(known), strict=True)
            source = "declared" if is_of_rows(self, "class_weight") else "given"
            facts["class_weight"] = fact([f"{label}: {own:g}" for label, own in weights], source)
        return LabelFacts({}, facts)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # With a few dozen rows and a modest epsilon the noise exceeds the signal.
        tags.classifier_tags.poor_score = not (
            isinstance(self.epsilon, float | int) and self.epsilon >= ENOUGH_FOR_TOYS
        )
        return tags


# At this epsilon even scikit-learn's test sets of a few dozen rows can be learned.
ENOUGH_FOR_TOYS = 1000.0
