"""Does the noise of a search's scores cover the effect of a row or a person, and is it charged?"""

import math
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dplasso.audit.account import Recorder, epsilon_of_search, rho_of_event
from dplasso.audit.check import Check, Session, Subject, Verdict
from dplasso.audit.descent.recording import Forgery
from dplasso.audit.representation.holders import quietly
from dplasso.base.arrays import Floats, Ints
from dplasso.estimators import PrivateLassoClassifier, PrivateLassoRegressor
from dplasso.privacy.events import Selected
from dplasso.privacy.unit import Unit
from dplasso.search import PrivateSearch
from dplasso.search.scoring import Scorer

_ROWS, _COLUMNS = 120, 4
_Y_BOUND = 1.1
_GRID: dict[str, list[Any]] = {"radius": [1.0, 8.0], "max_iter": [4]}
_PEOPLE = 40  # who have three rows each, and count as two
_SIZES = (1, 2, 3, 5, 97)  # numbers of rows of a person whose effect on a score is measured
_WEIGHTS = {0: 1.0, 1: 5.0, 2: 0.3}  # weights per class, whose largest is not 1


class Search(Check[Subject]):
    """Makes small searches among classifiers and regressors, and recomputes their cost.

    The exact scores of tables with and without one row, for given predictions, may differ by no
    more than the noise of a score allows at the charged rho per trial; so may those of tables in
    which one row is replaced. If people are protected, it is a person with up to 97 rows who comes
    or goes, and no person may have rows that are fitted and others that are scored. Predictions are
    right and wrong, labels exceed their bound, classes have weights. A trial's fit may cost no more
    than that rho, and the best of all trials no more than epsilon. The check is deterministic. It
    finds a score that one row or person changes by more than is charged, people in both parts of a
    split, noise that is too small, and a charge that is missing or too low. Other checks test the
    fits.
    """

    name = "search"
    once = True

    def run(self, session: Session[Subject]) -> Iterator[Verdict]:
        found = [_shares(search, session.rng) for search in _searches()]
        yield from self.worst(session, found, len(found))


def _searches() -> Iterator[PrivateSearch]:
    """One search for each way of scoring."""
    declared: dict[str, Any] = {"n_rows": _ROWS, "x_bound": 1.0}
    classes = sorted(_WEIGHTS)
    classifier = PrivateLassoClassifier(classes=classes, **declared)
    two = PrivateLassoClassifier(classes=classes[:2], neighboring="replace_one", **declared)
    regressor = PrivateLassoRegressor(y_bound=_Y_BOUND, **declared)
    yield _search(classifier, score_weights=_WEIGHTS)
    yield _search(two, law="geometric")
    people: dict[str, Any] = {"n_people": _PEOPLE, "rows_per_person": 2}
    yield _search(_Watched(classes=classes, **people, **declared))
    for scoring in ("squared_error", "absolute_error"):
        yield _search(regressor, scoring=scoring)


def _search(estimator: Any, **options: Any) -> PrivateSearch:
    return PrivateSearch(estimator, _GRID, epsilon=2.0, trials=2.0, **options)


def _shares(search: PrivateSearch, rng: np.random.Generator) -> dict[str, float]:
    """Figures that may be at most 1: the effect of a row, and the cost, over their limits."""
    X, y = _table(search.estimator, rng)
    recorder, of_trial, model = Recorder(), Recorder(), search.estimator
    people, unit = None, Unit()
    if model.protects_people:
        people, unit = np.arange(_ROWS) % _PEOPLE, Unit("person", int(model.rows_per_person))
    _Watched.fitted_rows.clear()
    _Watched.scored_rows.clear()
    with quietly():
        search.set_params(accountant=recorder).fit(X, y, groups=people)
    on_terms = recorder.terms_differing(search.delta, model.neighboring, unit.name) == 0
    event = recorder.charges[0][0] if on_terms else None
    if not isinstance(event, Selected):
        return {"widest change of a score, over the charge": math.inf}
    rho = rho_of_event(event.event)
    trial = search._shared_by_trials(rho)
    with quietly():
        trial.set_params(**search.best_params_, accountant=of_trial).fit(X, y, people)
    scorer = search._scorer(trial, rho, unit)
    spent = epsilon_of_search(rho, search.delta, event.stop, event.law)
    widest = _widest(search, scorer) / scorer.noise.sigma / math.sqrt(2.0 * rho)
    return {
        "widest change of a score, over the charge": widest,
        "rho of a trial's fit, over the charge": rho_of_event(of_trial.event()) / rho,
        "epsilon of a search as charged, over the claim": spent / search.epsilon,
        "people who are fitted and scored": 0.0 if people is None else _in_both(X, people),
    }


class _Watched(PrivateLassoClassifier):
    """A classifier that remembers the first entries of the rows it is fitted to, and scored on."""

    fitted_rows: ClassVar[list[Floats]] = []
    scored_rows: ClassVar[list[Floats]] = []

    def fit(self, X: Any, y: Any = None, groups: object = None, **rejected: object) -> "_Watched":
        self.fitted_rows.append(X[:, 0])
        return super().fit(X, y, groups, **rejected)

    def predict(self, X: Any) -> NDArray[Any]:
        self.scored_rows.append(X[:, 0])
        found: NDArray[Any] = super().predict(X)
        return found


def _in_both(X: Floats, people: Ints) -> float:
    """Infinite if rows of one person were fitted and others scored; the last fit is the audit's."""
    fitted, scored = (
        people[np.isin(X[:, 0], np.concatenate(rows))]
        for rows in (_Watched.fitted_rows[:-1], _Watched.scored_rows)
    )
    return math.inf if len(np.intersect1d(fitted, scored)) or not len(scored) else 0.0


def _table(estimator: Any, rng: np.random.Generator) -> tuple[Floats, NDArray[Any]]:
    X = rng.uniform(-1.5, 1.5, (_ROWS, _COLUMNS))
    if hasattr(estimator, "classes"):
        return X, np.arange(_ROWS) % len(estimator.classes)
    return X, X[:, 0] + rng.choice([-9.0, 0.0, 9.0], _ROWS) * _Y_BOUND


class _Echo:
    """Stands in for a model: it predicts the one entry of a row."""

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        return X[:, 0]


def _widest(search: PrivateSearch, scorer: Scorer) -> float:
    """The largest change of the released sum by one row, or one person, in integers."""
    predicted, y = _told(search.estimator)
    every, forgery = np.arange(len(y)), Forgery([])
    blind: Any = scorer._replace(noise=forgery(scorer.noise.sigma))  # type: ignore[arg-type]
    people: tuple[Any, ...] = () if not search.estimator.protects_people else (every,)
    for rows in (every, *(np.delete(every, at) for at in every)):
        own = (each[: len(rows)] for each in people)
        blind.release(_Echo(), predicted[rows, None], y[rows], np.random.default_rng(0), *own)
    total, *less = (int(found.sums[0]) for found in forgery.found)
    changes = [total - part for part in less]
    for size in _SIZES if people else ():
        for at in every:
            rows, owner = np.full(size, at), np.zeros(size, np.int64)
            blind.release(_Echo(), predicted[rows, None], y[rows], np.random.default_rng(0), owner)
            changes.append(int(forgery.found[-1].sums[0]))
    counts = np.array(changes)
    replaced = search.estimator.neighboring == "replace_one"
    return float(np.ptp(counts) if replaced else np.abs(counts).max())


def _told(estimator: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """All pairs of a prediction and a label, from correct to as wrong as possible."""
    if hasattr(estimator, "classes"):
        labels = predictions = np.asarray(estimator.classes)
    else:
        labels = np.array([-9.0, -1.0, -0.3, 0.0, 1.0, 9.0]) * _Y_BOUND
        predictions = np.append(labels, [-1e300, 1e300])
    return np.repeat(predictions, len(labels)), np.tile(labels, len(predictions))
