"""Scores at several epsilons, from other fits with the settings of a model on public rows."""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from dplasso.base.arrays import Ints
from dplasso.base.wording import ParameterError
from dplasso.data.described import DescribedRows
from dplasso.data.identifiers import NOBODY, people_of
from dplasso.data.structure import array_of, sound
from dplasso.estimators import PrivateLassoClassifier
from dplasso.privacy.leaks import OnlyNoiseWarning
from dplasso.report.protects import declared_people, unit_of

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0, math.inf)
FITS = 5
FEWEST_SCORED = 100  # with fewer rows, an accuracy is off by 5 points or more by chance alone
FEWEST_PEOPLE = 3  # two thirds of them are fitted to, and one third is scored
LEAST_SHARE = 0.1  # smallest share of the model's rows, or people, that makes a fit comparable

AREA, LOG_LOSS = "Area under the ROC", "Log-loss"
UNBALANCED = 0.8  # share of the most common class from which accuracy shows little

Point = tuple[float, float, float, float]


@dataclass(frozen=True)
class Curve:
    """Scores of other models with the same settings at several epsilons.

    ``points`` are (epsilon, mean, smallest, largest) over ``repeats`` fits, each fitted to
    ``fitted_rows`` rows and scored on ``scored_rows`` others. ``left_out`` says why there are no
    points. ``measure`` is the name of the score, by default the model's own: accuracy or R².
    ``fitted_people`` is the number of people that each fit was made to and protects, and rows are
    then means over fits; it is None if the fits protect rows.
    """

    points: tuple[Point, ...]
    fitted_rows: int
    scored_rows: int
    repeats: int
    left_out: str = ""
    measure: str = ""
    fitted_people: int | None = None

    def __post_init__(self) -> None:
        for point in self.points:
            epsilon, mean, low, high = point
            if not (epsilon > 0.0 and -math.inf < low <= mean <= high < math.inf):
                raise ValueError(
                    f"points must have an epsilon above 0 and low <= mean <= high, got {point}"
                )


class _Split(NamedTuple):
    """Places of the rows that a fit is made to and of those it is scored on; whose the first are.

    ``people`` is None, and ``n_people`` too, if the fit protects rows.
    """

    number: int
    fitted: Ints
    scored: Ints
    people: Ints | None = None
    n_people: int | None = None


def accuracy_curve(
    model: Any,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    epsilons: Sequence[float] | None = None,
    fits: int = FITS,
) -> Curve:
    """Fit the model's settings to two thirds of public rows, and score the last third.

    ``groups`` has the identifier of a person per row. If the model protects people, the fits do so
    too: they are made to all rows of two thirds of the people, and scored on those of the others.
    Without ``groups`` they protect rows, and the report says so. Rows that `Rows.described` gave
    bring their own.

    Fits are made ``fits`` times, with different splits, at each of ``epsilons``, by default some
    round numbers and the model's own. Where accuracy shows little, the curve is of the area under
    the ROC, or else of log-loss: with a class of 80 % of the rows or more, or if splits move the
    accuracy more than epsilons do. The curve is left out, with the reason, if the rows do not
    suffice: fewer than 100 to score, fewer to fit to than a tenth of those the model declares (of
    people, if it protects them), or splits that differ more than epsilons do. NOT private: every
    fit uses the rows again.
    """
    if isinstance(X, DescribedRows):
        X, groups = X.X, X.groups if groups is None else groups
    X = array_of(sound(X))
    X = sp.csr_array(X) if sp.issparse(X) else X  # a format whose rows can be indexed
    people = None
    if groups is not None and unit_of(model.privacy_).of_persons:
        people = people_of(groups)
        if len(people) != X.shape[0]:
            raise ParameterError("{groups} must have one identifier per row of X; give as many")
    splits = [_split(X.shape[0], people, k) for k in range(fits)]
    fitted = round(sum(len(split.fitted) for split in splits) / fits)
    scored = X.shape[0] - fitted
    n_people = splits[0].n_people
    reason = _too_few(model, fitted, scored, n_people)
    if reason:
        return Curve((), fitted, scored, fits, reason, fitted_people=n_people)
    wanted = {*EPSILONS, float(model.epsilon)} if epsilons is None else set(epsilons)
    labels, points = np.asarray(y), dict[str, list[Point]]()
    for epsilon in sorted(wanted):
        found = [_scores(_unfitted(model, epsilon, split), X, labels, split) for split in splits]
        for measure in set.intersection(*map(set, found)):
            scores = [scored[measure] for scored in found]
            point = (epsilon, float(np.mean(scores)), min(scores), max(scores))
            points.setdefault(measure, []).append(point)
    chosen = _telling(points, labels)
    reason = _indistinct(points[chosen])
    kept = () if reason else tuple(points[chosen])
    return Curve(kept, fitted, scored, fits, reason, "" if reason else chosen, n_people)


def _split(rows: int, people: Ints | None, number: int) -> _Split:
    """Take two thirds of the rows, or all rows of two thirds of the people, and the others."""
    rng = np.random.default_rng(number)
    if people is None:
        order, cut = rng.permutation(rows), 2 * rows // 3
        return _Split(number, order[:cut], order[cut:])
    everyone = np.unique(people[people != NOBODY])
    chosen = rng.permutation(everyone)[: 2 * len(everyone) // 3]
    inside = np.isin(people, chosen)
    fitted = np.flatnonzero(inside)
    return _Split(number, fitted, np.flatnonzero(~inside), people[fitted], len(chosen))


def _telling(points: Mapping[str, list[Point]], labels: NDArray[Any]) -> str:
    """Return the first measure that shows what epsilon does; the model's own if none does."""
    counts = np.unique(labels, return_counts=True)[1]
    unbalanced = AREA in points and counts.max() >= UNBALANCED * len(labels)
    measures = (AREA, LOG_LOSS, "") if unbalanced else ("", AREA, LOG_LOSS)
    known = (name for name in measures if len(points.get(name, ())) == len(points[""]))
    return next((name for name in known if not _indistinct(points[name])), "")


def declared_rows(model: Any) -> int | None:
    """Return the number of rows that the model's statement uses, if there is one."""
    rows = model.privacy_["public"]["n_rows"]["value"]
    return None if rows is None else int(rows)


def _too_few(model: Any, fitted: int, scored: int, people: int | None) -> str:
    if people is not None and people < 2 * FEWEST_PEOPLE // 3:
        return (
            f"the public rows are of fewer than {FEWEST_PEOPLE} people, and fits are scored on "
            "other people than they are made to"
        )
    if scored < FEWEST_SCORED:
        return (
            f"a third of the {fitted + scored:,} public rows would be scored, fewer than "
            f"{FEWEST_SCORED}, and chance would move the score by 5 points and more"
        )
    if people is not None:
        everyone = declared_people(model)
        if everyone is not None and people < LEAST_SHARE * everyone:
            return (
                f"two thirds of the people of the public rows are {people:,}, fewer than a tenth "
                f"of the {everyone:,} that the model's statement has; with so few, privacy costs "
                "far more"
            )
        return ""
    rows = declared_rows(model)
    if rows is not None and fitted < LEAST_SHARE * rows:
        return (
            f"two thirds of the public rows are {fitted:,}, fewer than a tenth of the {rows:,} "
            "that the model's statement has; with so few, privacy costs far more"
        )
    return ""


def _indistinct(points: list[Point]) -> str:
    """Say that chance changes the scores more than epsilon does; empty if it does not."""
    spread = float(np.median([high - low for _, _, low, high in points]))
    means = [mean for _, mean, _, _ in points]
    effect = max(means) - min(means)
    if len(points) < 2 or spread <= effect:
        return ""
    return (
        f"fits that differ in nothing but chance differ by {spread:.2g} in their score, those of "
        f"different epsilons by {effect:.2g} at most, around {np.mean(means):.2g}; these rows "
        "cannot tell epsilons apart"
    )


def _scores(fresh: Any, X: Any, labels: NDArray[Any], split: _Split) -> dict[str, float]:
    """Fit to some rows and score the others: the model's own score first, without a name."""
    with warnings.catch_warnings():  # the curve shows what noise leaves
        warnings.simplefilter("ignore", OnlyNoiseWarning)
        fresh.fit(X[split.fitted], labels[split.fitted], groups=split.people)
    rows, truth = X[split.scored], labels[split.scored]
    found = {"": float(fresh.score(rows, truth))}
    if hasattr(fresh, "predict_proba") and len(np.unique(truth)) > 1:
        found |= _by_probabilities(fresh, rows, truth)
    return found


def _by_probabilities(fresh: Any, rows: Any, truth: NDArray[Any]) -> dict[str, float]:
    from dplasso.report.evaluation import evaluate  # which has the curve as a field

    found = evaluate(fresh, rows, truth)
    both = {AREA: found.auc, LOG_LOSS: found.log_loss}
    return {name: value for name, value in both.items() if value is not None}


def _unfitted(model: Any, epsilon: float, split: _Split) -> Any:
    fresh = clone(model).set_params(**vars(model).get("declared_", {}))
    known = {"epsilon": epsilon, "n_rows": len(split.fitted), "n_people": split.n_people}
    fresh.set_params(**known, accountant=None, random_state=None, selection="lazy")
    if split.people is None:
        fresh.set_params(rows_per_person=1, person=None)
    if isinstance(model, PrivateLassoClassifier):
        fresh.set_params(classes=model.classes_)
    # As in the model's own fit, a bound that is neither declared nor released is 1.
    if model.x_bound is None and (hasattr(model, "x_bound_") or not fresh.releases_bound):
        fresh.set_params(x_bound=vars(model).get("x_bound_", 1.0))
    if getattr(fresh, "y_bound", 1.0) is None:
        fresh.set_params(y_bound=1.0)
    if isinstance(model.x_bound, Mapping):  # the columns here have no names
        fresh.set_params(x_bound=[model.x_bound[name] for name in model.feature_names_in_])
    return fresh
