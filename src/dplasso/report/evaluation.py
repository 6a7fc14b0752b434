"""Scores of a model on data that its user declares public."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from dplasso.base.arrays import Floats
from dplasso.report.curve_fits import Curve
from dplasso.storage.prediction_lines import label_text

Points = tuple[tuple[float, float], ...]

_MOST_NAMED = 10  # classes that an error lists
_LEAST_PROBABILITY = np.finfo(np.float64).eps  # a smaller one counts as this, as in scikit-learn
_GRID = np.linspace(0.0, 1.0, 201)  # false positive rates at which curves are averaged and drawn


class OfClass(NamedTuple):
    """Rows that have a class, rows predicted to have it, and rows where both agree."""

    rows: int
    answered: int
    found: int


@dataclass(frozen=True)
class Evaluation:
    """Scores of a model. They are NOT private: compute them on public data only.

    ``roc`` has points (false positive rate, true positive rate): of the second of two classes, or
    the mean over more classes, each against the rest. ``confusion[i][j]`` counts rows of class i
    that were predicted as class j. ``calibration`` has (mean predicted probability, share of the
    second class, rows). ``log_loss`` is the mean of minus the logarithm of the probability that was
    given to the true class. ``curve`` has the scores of other fits, see `accuracy_curve`.
    ``data_name`` is the name of the rows.
    """

    rows: int
    score_name: str
    score: float
    roc: Points = ()
    auc: float | None = None
    classes: tuple[str, ...] = ()
    confusion: tuple[tuple[int, ...], ...] = ()
    calibration: tuple[tuple[float, float, int], ...] = ()
    log_loss: float | None = None
    probabilities_tell: bool = False  # whether log-loss is clearly below that of the shares
    curve: Curve | None = None
    data_name: str = ""

    @property
    def by_class(self) -> dict[str, OfClass]:
        """Counts per class, if the confusion is known."""
        answered = [sum(column) for column in zip(*self.confusion, strict=True)]
        return {
            name: OfClass(sum(row), answered[k], row[k])
            for k, (name, row) in enumerate(zip(self.classes, self.confusion, strict=True))
        }

    @property
    def poor(self) -> bool:
        """Whether the model is not known to beat the trivial answer."""
        return bool(self.verdict) and not self.verdict.startswith("better")

    @property
    def trivial(self) -> float | None:
        """Score of the best answer that uses no feature: the most common class, or the mean.

        It is None for a classifier whose confusion is not known.
        """
        if self.score_name == "R²":
            return 0.0
        return max(map(sum, self.confusion)) / self.rows if self.confusion else None

    @property
    def trivial_log_loss(self) -> float | None:
        """Log-loss of the best probabilities that use no feature: the shares of the classes."""
        shares = np.array([sum(row) for row in self.confusion if sum(row)]) / self.rows
        return None if self.log_loss is None else float(-shares @ np.log(shares))

    @property
    def trivial_answer(self) -> str:
        what = "mean of these labels" if self.score_name == "R²" else "most common class"
        return f"always answering the {what}"

    @property
    def verdict(self) -> str:
        """Say whether the model beats the trivial answer, by two standard errors.

        It may do so by its answers, or by its probabilities: those of a rare class are useful
        although it is never the likelier one.
        """
        if self.trivial is None:
            return ""
        if self.score <= self.trivial or (self.confusion and not self._clear()):
            if self.probabilities_tell:
                return "better than the shares of the classes, by its probabilities"
            if self.score <= self.trivial:
                return f"no better than {self.trivial_answer}"
            return f"not clearly better than {self.trivial_answer}; these rows are too few to tell"
        return f"better than {self.trivial_answer}"

    def _clear(self) -> bool:
        """Whether rows gained over the trivial answer exceed those lost by more than chance."""
        totals = [sum(row) for row in self.confusion]
        commonest = totals.index(max(totals))
        kept = self.confusion[commonest][commonest]
        won = sum(row[k] for k, row in enumerate(self.confusion)) - kept
        lost = totals[commonest] - kept
        return won - lost >= 2.0 * math.sqrt(won + lost)


def evaluate(
    model: Any, X: Any, y: Any, *, curve: Curve | None = None, data_name: str = ""
) -> Evaluation:
    """Score a fitted model on rows and labels that are public. NOT private.

    ``curve``, a result of `accuracy_curve`, and ``data_name``, the name of the rows, are stored in
    the result.
    """
    truth = np.asarray(y)
    if not isinstance(curve, Curve | None):
        raise ValueError(
            f"curve must be what accuracy_curve gives, got {type(curve).__name__}; leave it out, "
            "or make a Curve"
        )
    if len(truth) < 2:
        raise ValueError("y has fewer than two labels; give more rows to score the model on")
    if not is_classifier(model):
        score = float(model.score(X, _numbers(truth)))
        return Evaluation(len(truth), "R²", score, curve=curve, data_name=data_name)
    places, answers = _places(truth, model.classes_), _places(model.predict(X), model.classes_)
    if len(places) != len(answers):
        raise ValueError("X and y differ in their number of rows; give one label per row")
    counts = np.zeros((len(model.classes_),) * 2, np.int64)
    np.add.at(counts, (places, answers), 1)
    scores = model.predict_proba(X) if hasattr(model, "predict_proba") else np.empty((0, 0))
    roc, area = _roc(places, scores) if scores.size else ((), None)
    losses = _log_losses(places, scores) if scores.size else np.empty(0)
    return Evaluation(
        rows=len(truth),
        score_name="Accuracy",
        score=float(np.trace(counts) / len(truth)),
        roc=roc,
        auc=area,
        classes=tuple(map(label_text, model.classes_.tolist())),
        confusion=tuple(tuple(row) for row in counts.tolist()),
        calibration=_calibration(places, scores[:, 1]) if scores.shape[1] == 2 else (),
        log_loss=float(losses.mean()) if scores.size else None,
        probabilities_tell=_clearly_below(losses, places) if scores.size else False,
        curve=curve,
        data_name=data_name,
    )


def _numbers(labels: NDArray[Any]) -> Floats:
    """Return the labels of a regressor as numbers; an error does not quote them."""
    try:
        numbers = labels.astype(np.float64)
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    if not np.all(np.isfinite(numbers)):
        raise ValueError(
            "y must be finite numbers for a regressor, got text or gaps; give numbers as in "
            "training, or a classifier"
        )
    return numbers


def _places(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the positions of labels among the classes, which are sorted."""
    kinds = ["text" if _is_text(found) else "numbers" for found in (labels, classes)]
    if kinds[0] != kinds[1]:
        raise ValueError(
            f"y has labels that are {kinds[0]}, the model's classes are {kinds[1]}; write labels "
            "as in training"
        )
    if not np.all(np.isin(labels, classes)):
        known = ", ".join(map(label_text, classes[:_MOST_NAMED].tolist()))
        more = ", ..." if len(classes) > _MOST_NAMED else ""
        raise ValueError(
            f"y has labels that are not among the model's classes ({known}{more}); write labels as "
            "in training, or leave those rows out"
        )
    return np.searchsorted(classes, labels)


def _is_text(labels: NDArray[Any]) -> bool:
    return labels.dtype.kind in "US" or any(isinstance(label, str) for label in labels[:1])


def _roc(places: NDArray[np.intp], scores: Floats) -> tuple[Points, float | None]:
    """Return the curve of the second of two classes, or the mean over classes that occur."""
    from sklearn.metrics import auc, roc_curve  # imported only to score rows

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


def _log_losses(places: NDArray[np.intp], scores: Floats) -> Floats:
    given = scores[np.arange(len(places)), places]
    found: Floats = -np.log(np.maximum(given, _LEAST_PROBABILITY))
    return found


def _clearly_below(losses: Floats, places: NDArray[np.intp]) -> bool:
    """Whether losses are below those of the shares of the classes by two standard errors."""
    shares = np.bincount(places) / len(places)
    gains = -np.log(shares[places]) - losses
    return bool(gains.mean() > 2.0 * gains.std() / math.sqrt(len(gains)))


def _calibration(
    places: NDArray[np.intp], predicted: Floats
) -> tuple[tuple[float, float, int], ...]:
    """Return ten bins of predicted probability, without the empty ones."""
    bins = np.minimum((10 * predicted).astype(np.intp), 9)
    found = []
    for one in np.unique(bins):
        inside = bins == one
        found.append(
            (float(predicted[inside].mean()), float(places[inside].mean()), int(inside.sum()))
        )
    return tuple(found)
