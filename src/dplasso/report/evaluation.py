"""How well a model does on data that its user declares public."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import auc, roc_curve

from dplasso.estimators import PrivateLassoClassifier

Floats = NDArray[np.float64]
Points = tuple[tuple[float, float], ...]

_GRID = np.linspace(0.0, 1.0, 201)  # false positive rates at which curves are averaged and drawn


@dataclass(frozen=True)
class Evaluation:
    """Scores of a model. Nothing of them is private: compute them on public data only.

    ``roc`` has points (false positive rate, true positive rate): of the second of two classes, or
    the mean over more classes, each against the rest. ``confusion[i][j]`` counts rows of class i
    that were taken for class j. ``calibration`` has (mean predicted probability, share that was of
    the second class, rows). ``curve`` has (epsilon, mean, low, high) of the score, of other fits.
    """

    rows: int
    score_name: str
    score: float
    roc: Points = ()
    auc: float | None = None
    classes: tuple[str, ...] = ()
    confusion: tuple[tuple[int, ...], ...] = ()
    calibration: tuple[tuple[float, float, int], ...] = ()
    curve: tuple[tuple[float, float, float, float], ...] = ()

    def __post_init__(self) -> None:
        for epsilon, mean, low, high in self.curve:
            if not (epsilon > 0.0 and -math.inf < low <= mean <= high < math.inf):
                raise ValueError(
                    "curve must have an epsilon above 0 and low <= mean <= high, "
                    f"got {(epsilon, mean, low, high)}"
                )


def evaluate(
    model: Any, X: Any, y: Any, *, curve: Iterable[tuple[float, float, float, float]] = ()
) -> Evaluation:
    """Score a fitted model on rows and labels that are public. NOT private.

    ``curve`` is passed on; it takes fits at other epsilons, each of which costs its own budget.
    """
    truth, points = np.asarray(y), tuple(curve)
    if len(truth) < 2:
        raise ValueError("y has fewer than two labels; give more rows to score the model on")
    if not isinstance(model, PrivateLassoClassifier):
        return Evaluation(len(truth), "R²", float(model.score(X, truth)), curve=points)
    places = _places(truth, model.classes_)
    counts = np.zeros((len(model.classes_),) * 2, np.int64)
    np.add.at(counts, (places, _places(model.predict(X), model.classes_)), 1)
    scores = model.predict_proba(X)
    roc, area = _roc(places, scores)
    return Evaluation(
        rows=len(truth),
        score_name="Accuracy",
        score=float(np.trace(counts) / len(truth)),
        roc=roc,
        auc=area,
        classes=tuple(str(label) for label in model.classes_),
        confusion=tuple(tuple(row) for row in counts.tolist()),
        calibration=_calibration(places, scores[:, 1]) if scores.shape[1] == 2 else (),
        curve=points,
    )


def _places(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Positions of labels among the classes, which are in order."""
    if not np.all(np.isin(labels, classes)):
        raise ValueError("y has labels that are not among the model's classes; leave them out")
    return np.searchsorted(classes, labels)


def _roc(places: NDArray[np.intp], scores: Floats) -> tuple[Points, float | None]:
    """The curve of the second of two classes; of more, the mean over those that occur."""
    outputs = scores.shape[1]
    curves, areas = [], []
    for output in range(1 if outputs == 2 else 0, outputs):
        hits = places == output
        if hits.any() and not hits.all():
            false, true, _ = roc_curve(hits, scores[:, output])
            curves.append(np.interp(_GRID, false, true))
            areas.append(auc(false, true))
    if not curves:
        return (), None
    mean = np.mean(curves, axis=0)
    return ((0.0, 0.0), *zip(_GRID.tolist(), mean.tolist(), strict=True)), float(np.mean(areas))


def _calibration(
    places: NDArray[np.intp], predicted: Floats
) -> tuple[tuple[float, float, int], ...]:
    """Ten bins of predicted probability, those without rows left out."""
    bins = np.minimum((10 * predicted).astype(np.intp), 9)
    found = []
    for one in np.unique(bins):
        inside = bins == one
        found.append(
            (float(predicted[inside].mean()), float(places[inside].mean()), int(inside.sum()))
        )
    return tuple(found)
