"""Accuracy against epsilon, on rows that are public."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from dplasso.estimators import PrivateLassoClassifier

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0, math.inf)
FITS = 3
FEWEST_ROWS = 30


def accuracy_curve(
    model: Any, X: Any, y: Any, *, epsilons: Sequence[float] = EPSILONS, fits: int = FITS
) -> list[tuple[float, float, float, float]]:
    """What models with these parameters reach when trained on two thirds of public rows.

    (epsilon, mean, least, most) of the score on the last third, over ``fits`` splits; nothing where
    there are too few rows. NOT private: rows are used as often as it takes.
    """
    rows = X.shape[0]
    if rows < FEWEST_ROWS:
        return []
    cut, labels, points = 2 * rows // 3, np.asarray(y), []
    for epsilon in epsilons:
        scores = []
        for split in range(fits if math.isfinite(epsilon) else 1):
            order = np.random.default_rng(split).permutation(rows)
            fresh = _unfitted(model, epsilon, cut).fit(X[order[:cut]], labels[order[:cut]])
            scores.append(float(fresh.score(X[order[cut:]], labels[order[cut:]])))
        points.append((epsilon, float(np.mean(scores)), min(scores), max(scores)))
    return points


def _unfitted(model: Any, epsilon: float, rows: int) -> Any:
    fresh = clone(model).set_params(
        epsilon=epsilon, n_rows=rows, accountant=None, random_state=None, selection="lazy"
    )
    if isinstance(model, PrivateLassoClassifier):
        fresh.set_params(classes=model.classes_)
    if isinstance(model.x_bound, Mapping):  # rows here have no names
        fresh.set_params(x_bound=[model.x_bound[name] for name in model.feature_names_in_])
    return fresh
