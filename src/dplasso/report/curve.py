"""The score against epsilon: other fits with the settings of a model, on rows that are public."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from dplasso.data.structure import array_of, sound
from dplasso.estimators import PrivateLassoClassifier

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0, math.inf)
FITS = 5
FEWEST_SCORED = 100  # rows: by chance alone, an accuracy of fewer is off by 5 points and more
LEAST_SHARE = 0.1  # of the model's rows that a fit must have to be like it

Point = tuple[float, float, float, float]


@dataclass(frozen=True)
class Curve:
    """What other models with the same settings scored, at several epsilons.

    ``points`` are (epsilon, mean, least, most) over ``repeats`` fits, each on ``fitted_rows`` rows
    and scored on ``scored_rows`` others. ``left_out`` says why there are no points.
    """

    points: tuple[Point, ...]
    fitted_rows: int
    scored_rows: int
    repeats: int
    left_out: str = ""

    def __post_init__(self) -> None:
        for point in self.points:
            epsilon, mean, low, high = point
            if not (epsilon > 0.0 and -math.inf < low <= mean <= high < math.inf):
                raise ValueError(
                    f"points must have an epsilon above 0 and low <= mean <= high, got {point}"
                )


def accuracy_curve(
    model: Any, X: Any, y: Any, *, epsilons: Sequence[float] | None = None, fits: int = FITS
) -> Curve:
    """Fit the model's settings to two thirds of public rows, and score the last third.

    At each of ``epsilons``, by default some round ones and the model's own, ``fits`` times with
    other splits. Left out, with the reason, where the rows cannot tell: fewer than 100 to score,
    fewer to fit to than a tenth of those the model declares, or splits that differ more than
    epsilons do. NOT private: rows are used as often as it takes.
    """
    X = array_of(sound(X))
    X = sp.csr_array(X) if sp.issparse(X) else X  # of which rows can be picked
    rows = X.shape[0]
    cut = 2 * rows // 3
    reason = _too_few(model, cut, rows - cut)
    if reason:
        return Curve((), cut, rows - cut, fits, reason)
    wanted = {*EPSILONS, float(model.epsilon)} if epsilons is None else set(epsilons)
    labels, points = np.asarray(y), []
    for epsilon in sorted(wanted):
        scores = [_score(_unfitted(model, epsilon, cut), X, labels, cut, k) for k in range(fits)]
        points.append((epsilon, float(np.mean(scores)), min(scores), max(scores)))
    reason = _indistinct(points)
    return Curve(() if reason else tuple(points), cut, rows - cut, fits, reason)


def declared_rows(model: Any) -> int | None:
    """The number of rows that the model's statement rests on, where it has one."""
    rows = model.privacy_["public"]["n_rows"]["value"]
    return None if rows is None else int(rows)


def _too_few(model: Any, fitted: int, scored: int) -> str:
    if scored < FEWEST_SCORED:
        return (
            f"a third of the {fitted + scored:,} public rows would be scored, fewer than "
            f"{FEWEST_SCORED}, and chance would move the score by 5 points and more"
        )
    rows = declared_rows(model)
    if rows is not None and fitted < LEAST_SHARE * rows:
        return (
            f"two thirds of the public rows are {fitted:,}, fewer than a tenth of the {rows:,} "
            "that the model's statement has; with so few, privacy costs far more"
        )
    return ""


def _indistinct(points: list[Point]) -> str:
    """Whether chance moves the scores more than epsilon does."""
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


def _score(fresh: Any, X: Any, labels: NDArray[Any], cut: int, split: int) -> float:
    order = np.random.default_rng(split).permutation(X.shape[0])
    fitted, scored = order[:cut], order[cut:]
    return float(fresh.fit(X[fitted], labels[fitted]).score(X[scored], labels[scored]))


def _unfitted(model: Any, epsilon: float, rows: int) -> Any:
    fresh = clone(model).set_params(
        epsilon=epsilon, n_rows=rows, accountant=None, random_state=None, selection="lazy"
    )
    if isinstance(model, PrivateLassoClassifier):
        fresh.set_params(classes=model.classes_)
    for name in ("x_bound", "y_bound"):  # of the model's own fit, 1 where they were left out
        if getattr(model, name, 1.0) is None:
            fresh.set_params(**{name: 1.0})
    if isinstance(model.x_bound, Mapping):  # rows here have no names
        fresh.set_params(x_bound=[model.x_bound[name] for name in model.feature_names_in_])
    return fresh
