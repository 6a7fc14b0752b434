"""Scores of a model on data that its user declares public."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier

from dplasso.base.arrays import Floats
from dplasso.report.curve_fits import Curve
from dplasso.report.measured import Measured, Reliability
from dplasso.report.measured.reliability import reliability
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


class NumberScores(NamedTuple):
    """Mean absolute error, root of the mean square error, and R² of predicted numbers."""

    mae: float
    rmse: float
    r2: float

    @classmethod
    def of(cls, truth: Floats, predicted: Floats) -> Self:
        """The scores of predictions."""
        from sklearn import metrics  # imported only to score rows

        return cls(
            float(metrics.mean_absolute_error(truth, predicted)),
            float(metrics.root_mean_squared_error(truth, predicted)),
            float(metrics.r2_score(truth, predicted)),
        )


@dataclass(frozen=True)
class RegressionScores:
    """Scores on labels as they are and as clipped to ``y_bound``; and those of the mean label.

    A model learns from clipped labels, so the clipped scores show how well it learnt, and the
    others what its bound costs.
    """

    as_they_are: NumberScores
    clipped: NumberScores
    mean_as_they_are: NumberScores
    mean_clipped: NumberScores


@dataclass(frozen=True)
class Evaluation:
    """Scores of a model. They are NOT private: compute them on public data only.

    ``roc`` has points (false positive rate, true positive rate): of the second of two classes, or
    the mean over more classes, each against the rest. ``confusion[i][j]`` counts rows of class i
    that were predicted as class j. ``reliability`` compares probabilities with observed shares.
    ``log_loss`` is the mean of minus the logarithm of the probability that was given to the true
    class. ``numbers`` has the scores of a regressor. ``curve`` has the scores of other fits, see
    `accuracy_curve`. ``data_name`` is the name of the rows. ``measured`` has more figures, for
    charts, see `examine`.
    """

    rows: int
    score_name: str
    score: float
    roc: Points = ()
    auc: float | None = None
    classes: tuple[str, ...] = ()
    confusion: tuple[tuple[int, ...], ...] = ()
    reliability: Reliability | None = None
    log_loss: float | None = None
    probabilities_tell: bool = False  # whether log-loss is clearly below that of the shares
    curve: Curve | None = None
    data_name: str = ""
    numbers: RegressionScores | None = None
    measured: Measured | None = None

    @property
    def balanced_accuracy(self) -> float | None:
        """The mean over classes that occur of the share of their rows that was found."""
        recalls = [of.found / of.rows for of in self.by_class.values() if of.rows]
        return sum(recalls) / len(recalls) if recalls else None

    @property
    def trivial_balanced_accuracy(self) -> float | None:
        """Balanced accuracy of any answer that is the same for all rows."""
        occurring = sum(1 for of in self.by_class.values() if of.rows)
        return 1.0 / occurring if occurring else None

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
                how = "" if self.score <= self.trivial else "clearly "
                return f"better than the shares of the classes by log-loss, not {how}by accuracy"
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
    check_labels(truth, model.classes_ if is_classifier(model) else None)
    if not is_classifier(model):
        score = float(model.score(X, _numbers(truth)))
        numbers = _regression_scores(model, X, _numbers(truth))
        return Evaluation(
            len(truth), "R²", score, curve=curve, data_name=data_name, numbers=numbers
        )
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
        reliability=reliability(places, scores) if scores.size else None,
        log_loss=float(losses.mean()) if scores.size else None,
        probabilities_tell=_clearly_below(losses, places) if scores.size else False,
        curve=curve,
        data_name=data_name,
    )


def check_labels(labels: NDArray[Any], classes: ArrayLike | None) -> None:
    """Reject labels that no model of these classes, or of numbers (None), can be scored on."""
    if len(labels) < 2:
        raise ValueError("y has fewer than two labels; give more rows to score the model on")
    if classes is None:
        _numbers(labels)
    else:
        _places(labels, np.unique(classes))


def _regression_scores(model: Any, X: Any, truth: Floats) -> RegressionScores:
    predicted = np.asarray(model.predict(X), np.float64)
    bound = getattr(model, "y_bound", None)
    low, high = (-bound, bound) if isinstance(bound, int | float) else bound or (-np.inf, np.inf)
    clipped = np.clip(truth, low, high)
    return RegressionScores(
        NumberScores.of(truth, predicted),
        NumberScores.of(clipped, predicted),
        NumberScores.of(truth, np.full_like(truth, truth.mean())),
        NumberScores.of(clipped, np.full_like(clipped, clipped.mean())),
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
