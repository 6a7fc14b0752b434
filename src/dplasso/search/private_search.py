"""`PrivateSearch` chooses settings privately, with one cost for the whole search."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dplasso.base import checks
from dplasso.base.silence import without_sizes
from dplasso.base.wording import ParameterError
from dplasso.estimators.base import PrivateLasso
from dplasso.estimators.charging import bits_of, charge
from dplasso.estimators.parameters import current_names
from dplasso.estimators.seeding import Seed, SeedsByName
from dplasso.mechanisms.trial_count import trial_count
from dplasso.privacy import trials, zcdp
from dplasso.privacy.accountant import Accountant
from dplasso.privacy.events import Selected, TrialLaw, ZeroConcentrated
from dplasso.privacy.statement import PrivacyStatement
from dplasso.privacy.unit import Unit
from dplasso.search.checking import SearchRows, check_parameters, checked_for
from dplasso.search.scoring import Scorer, scorer_for
from dplasso.search.stating import stated
from dplasso.search.trial import Trial, TrialBudget, Trials, split

_UP = 1.0 + 1e-12  # rounds the noise up, so that its cost stays below that of a trial


def _has(name: str) -> Any:
    return available_if(lambda search: hasattr(search.estimator, name))


class PrivateSearch(SeedsByName, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Keep the best of a random number of private fits with settings from a grid.

    Rows are split once, by secret coins, into training and validation rows. A trial draws a setting
    from the grid, fits it to the training rows and scores it, with noise, on the validation rows.
    The number of trials is random and secret; the model with the best score is kept, and all others
    are discarded. The cost grows slowly with the number of trials: at epsilon 1 and 20 trials on
    average, each trial may have epsilon 0.55. (An ordinary ``GridSearchCV`` charges every fit, and
    its scores are not private.)

    Parameters
    ----------
    estimator : PrivateLassoClassifier or PrivateLassoRegressor
        Estimator without an accountant. The budget is that of the search: leave ``epsilon`` and
        ``delta`` out. Its ``random_state`` is not used. The facts it declares hold for all trials;
        its ``n_rows`` is the number of all rows.
    grid : dict of lists, or list of such dicts
        Settings to choose from, as for ``ParameterGrid`` of scikit-learn. The grid is public. Every
        trial draws each setting with the same probability.
    epsilon : float, default=1.0
        Privacy budget of the whole search.
    delta : float, default=1e-6
        Delta of the guarantee of the whole search.
    trials : float, default=20.0
        Average number of trials.
    law : {"logarithmic", "geometric"}, default="logarithmic"
        Distribution of the number of trials. "logarithmic" gives each trial a larger budget,
        "geometric" makes very few trials less often; see :doc:`/explanation/search`.
    validation : float, default=0.2
        Share of the rows that trials are scored on.
    scoring : {"auto", "accuracy", "squared_error", "absolute_error"}, default="auto"
        Score of a trial. Errors of a regressor count up to ``y_bound``, and its score is 1 minus
        their share of that bound.
    score_weights : mapping from class to float, or None, default=None
        Public weights of the classes in the score; 1 / (classes * share of the class) gives
        balanced accuracy. The noise grows with the largest weight.
    accountant : Accountant or None, default=None
        Accountant that is charged once, before the first trial, such as a `dplasso.Budget`.
    random_state : int, Generator, RandomState, RandomBits or None, default=None
        None uses secure randomness. A seed is for tests and warns once. A seed that a scikit-learn
        ensemble sets on its members is ignored unless the search already had one.

    Attributes
    ----------
    best_estimator_ : PrivateLassoClassifier or PrivateLassoRegressor
        The model that was kept. Its ``save`` writes it to a file.
    best_params_ : dict
        The setting of that model.
    best_score_ : float
        Released score of that model, with noise, per expected validation row. It is the largest of
        several scores, and therefore tends to be too high.
    privacy_ : PrivacyStatement
        Privacy statement of the whole search, and of ``best_estimator_``.
    classes_ : ndarray
        Class labels of a classifier.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, if they are known.

    Formal guarantees
    -----------------
    All attributes together are (``epsilon``, ``delta``)-DP for neighbours that differ as the
    estimator's ``neighboring`` says, given the public facts in ``privacy_``. A trial costs the
    larger of its fit and its score (`dplasso.search.trial.Trials`), each rho-zCDP; the best of a
    random number of trials has the cost derived in `dplasso.privacy.trials` (Papernot and Steinke,
    2022). The number of trials is not released: no attribute, warning or progress bar reveals it.
    The running time of `fit` reveals it and is not protected.

    Examples
    --------
    >>> import numpy as np
    >>> from dplasso import PrivateLassoClassifier, PrivateSearch
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (3000, 20))
    >>> y = (X[:, 3] > 0).astype(int)
    >>> model = PrivateLassoClassifier(classes=[0, 1], n_rows=3000, x_bound=1.0)
    >>> grid = {"radius": [0.01, 3.0, 10.0], "max_iter": [5, 20]}
    >>> search = PrivateSearch(model, grid, epsilon=3.0, trials=5).fit(X, y)
    >>> search.privacy_["epsilon"], sorted(search.best_params_)
    (3.0, ['max_iter', 'radius'])
    """

    best_estimator_: Any
    privacy_: PrivacyStatement

    def __init__(
        self,
        estimator: PrivateLasso,
        grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        trials: float = 20.0,
        law: TrialLaw = "logarithmic",
        validation: float = 0.2,
        scoring: str = "auto",
        score_weights: Mapping[Any, float] | None = None,
        accountant: Accountant | None = None,
        random_state: Seed = None,
    ) -> None:
        self.estimator = estimator
        self.grid = grid
        self.epsilon = epsilon
        self.delta = delta
        self.trials = trials
        self.law = law
        self.validation = validation
        self.scoring = scoring
        self.score_weights = score_weights
        self.accountant = accountant
        self.random_state = random_state

    def fit(self, X: Any, y: Any, groups: object = None) -> Self:
        """Split the rows, make trials, and keep the best model.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Rows x columns.
        y : array
            One label per row.
        groups : array or None, default=None
            One identifier of a person per row, to protect people: see `PrivateLassoClassifier.fit`.
            All rows of a person are then training rows, or all are validation rows.

        Returns
        -------
        self

        Formal guarantees
        -----------------
        See the class. The whole search is charged to ``accountant`` after every check and after
        the coins that split the rows, which read no data, and before anything else is drawn.
        """
        with np.errstate(all="ignore"):  # else numpy may raise or warn depending on the rows
            return without_sizes("the search", lambda: self._search(X, y, groups))

    def _search(self, X: Any, y: Any, groups: object) -> Self:
        check_parameters(self)
        stop = trials.stop_for(self.trials, self.law)
        rho = trials.rho_of(self.epsilon, self.delta, stop, self.law)
        model, settings = self._shared_by_trials(rho), self._settings()
        rows = checked_for(model, settings, X, y, 1.0 - self.validation, groups)
        unit = Unit()
        if rows.people is not None:
            unit = Unit.of_people(int(model.rows_per_person), model.person)
        scorer = self._scorer(model, rho, unit)
        bits = bits_of(clone(model).set_params(random_state=self.random_state))
        with bits.exclusive() as stream:
            # The coins read no data. If they leave no row to train on, nothing is charged.
            parts = split(rows.X, rows.y, self.validation, bits, rows.people)
            event = Selected(ZeroConcentrated(rho), stop, self.law)
            of = f" of {type(self.estimator).__name__}"
            receipt = charge(
                self, event, self.delta, self.estimator.neighboring, of, unit=unit.name
            )
            best = Trials(model, settings, scorer, *parts, bits).best_of(
                trial_count(stop, self.law, stream)
            )
        self.n_features_in_ = rows.columns
        if rows.names is not None:
            self.feature_names_in_ = rows.names
        self.best_params_ = best.setting
        self.privacy_ = stated(self, best.model.privacy_, rho, stop, scorer, rows)
        if receipt is not None:
            self.privacy_["ledger"] = receipt._asdict()
        self._keep(best, self._counted(rows))
        return self

    def _shared_by_trials(self, rho: float) -> PrivateLasso:
        """Return the estimator with the budget of a trial and its share of the declared rows."""
        epsilon = zcdp.epsilon_of(rho, self.delta)
        if not epsilon > 0.0:
            raise ParameterError(
                "{epsilon} leaves nothing for a trial at this {delta}, got {value!r}; raise it, or "
                "lower {trials}",
                value=self.epsilon,
            )
        model: PrivateLasso = clone(self.estimator).set_params(
            epsilon=epsilon,
            delta=self.delta,
            accountant=TrialBudget(rho),
            random_state=None,
            verbose=0,
        )
        for name in ("n_rows", "n_people"):
            if getattr(model, name) is not None:
                declared = checks.count(name, getattr(model, name), least=1)
                model.set_params(**{name: max(1, round(declared * (1.0 - self.validation)))})
        return model

    def _settings(self) -> list[dict[str, Any]]:
        """Return the settings of the grid. Former names warn here: in a trial they would count."""
        known = self.estimator.get_params(deep=False)
        return [current_names(setting, known, setting) for setting in ParameterGrid(self.grid)]

    def _scorer(self, model: PrivateLasso, rho: float, unit: Unit | None = None) -> Scorer:
        """Return the scorer, whose noise is set by the cost of a trial."""
        multiplier = math.sqrt(0.5 / rho) * _UP
        return scorer_for(
            model, self.scoring, self.score_weights, multiplier, unit.rows if unit else 1
        )

    def _counted(self, rows: SearchRows) -> int:
        """What all rows count as together: declared numbers, or those of the data."""
        declared = self.estimator.n_rows
        if rows.people is None:
            return rows.counted if declared is None else int(declared)
        if self.estimator.n_people is None:
            return rows.counted
        most = int(self.estimator.rows_per_person) * int(self.estimator.n_people)
        if self.estimator.rows_per_person == 1 or declared is None:
            return most
        return min(most, int(declared))

    def _keep(self, best: Trial, rows: int) -> None:
        kept = best.model.stated_as(self.privacy_)
        self.best_estimator_ = kept.set_params(accountant=None, random_state=self.random_state)
        self.best_score_ = best.score / (rows * self.validation)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict with the model that was kept.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Rows x columns.

        Returns
        -------
        ndarray
            One class, or one number, per row.
        """
        found: NDArray[Any] = self._fitted().predict(X)
        return found

    @_has("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute margins with the classifier that was kept.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Rows x columns.

        Returns
        -------
        ndarray of float
            One number per row, or rows x classes.
        """
        found: NDArray[np.float64] = self._fitted().decision_function(X)
        return found

    @_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probabilities of the classes.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Rows x columns.

        Returns
        -------
        ndarray of float
            Rows x classes.
        """
        found: NDArray[np.float64] = self._fitted().predict_proba(X)
        return found

    @_has("predict_log_proba")  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Rows x columns.

        Returns
        -------
        ndarray of float
            Rows x classes.
        """
        found: NDArray[np.float64] = self._fitted().predict_log_proba(X)
        return found

    def score(self, X: Any, y: Any) -> float:
        """Compute accuracy, or R^2, of the model that was kept. NOT private.

        :doc:`/explanation/search` says why.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Rows x columns.
        y : array
            One label per row.

        Returns
        -------
        float
        """
        return float(self._fitted().score(X, y))

    def _fitted(self) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    @property
    def classes_(self) -> NDArray[Any]:
        """Class labels of the model that was kept."""
        found: NDArray[Any] = self._fitted().classes_
        return found

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.target_tags, tags.input_tags.sparse = inner.target_tags, inner.input_tags.sparse
        return tags
