"""What every row adds to the scores of a released model: whole numbers within public bounds."""

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from dplasso.base.arrays import Ints, Labels
from dplasso.data.merging import merged
from dplasso.estimators.base import source_of
from dplasso.estimators.coefficients import without_names
from dplasso.estimators.declared import declared
from dplasso.estimators.undeclared import bound_or_one
from dplasso.estimators.validation import check_lengths, checked_numbers, checked_target
from dplasso.losses.labels import LabelRange, positions
from dplasso.privacy.statement import fact
from dplasso.search.scoring import UNIT, class_gains, number_gains

LEAST_PROBABILITY = 0.01  # of the true class in the log-loss: a row loses log(100) at most
MOST_LOSS = -math.log(LEAST_PROBABILITY)
_LIMIT = "public rule; the most that a row counts"
# Names of cells: of classes, those of an answer and of a class; of numbers, what is not lost.
RIGHT, WRONG, FIRST, SECOND = "right", "wrong", "first class", "second class"
KEPT = "what is not lost"


class NoisyScore(NamedTuple):
    """A released score, and the standard deviation of the noise in it."""

    value: float
    noise: float


class RowScores(NamedTuple):
    """What all rows add to the sums behind the scores.

    ``cells`` add up to UNIT for every row: UNIT stands in the cell of a row's class and of whether
    its prediction is right, or a loss is split into what is lost and what is not. Their sums count
    the rows, too. ``others`` are further losses. ``most`` is what UNIT stands for.

    Formal guarantees
    -----------------
    A row adds whole numbers from 0 to UNIT, and its cells add up to UNIT. They are functions of the
    row, of its label and of the model, to the last bit: rows are first brought into one form, in
    double precision (`dplasso.data.merging`), margins are sums over a row's own entries, and
    logarithms are taken row by row, since those of an array may depend on a number's place in it.
    """

    cells: dict[str, Ints]
    others: dict[str, Ints]
    most: dict[str, float]
    bounds: dict[str, Any]  # public bounds, as a statement has them

    @classmethod
    def of(cls, model: Any, X: object, y: object) -> "RowScores":
        """What rows add; errors name no value."""
        labels = checked_target(model, y)
        with np.errstate(all="ignore"):  # else numpy may raise or warn depending on the rows
            rows = sp.csr_array(merged(model.rows_to_predict(X), "csr")).astype(np.float64)
            check_lengths(rows, labels)
            plain = without_names(model)
            if hasattr(model, "classes_"):
                return cls._of_classes(plain, rows, labels)
            return cls._of_numbers(plain, rows, checked_numbers(labels))

    @classmethod
    def _of_classes(cls, model: Any, rows: sp.csr_array, labels: Labels) -> "RowScores":
        classes = model.classes_
        weights = np.full(len(classes), UNIT, np.int64)
        right = class_gains(model.predict(rows), labels, classes, weights)
        if len(classes) > 2:
            return cls({RIGHT: right, WRONG: UNIT - right}, {}, {}, {})
        second = positions(labels, classes.tolist()) == 1
        cells = {
            f"{answer}, {which}": np.where(second == (which == SECOND), gained, 0)
            for answer, gained in ((RIGHT, right), (WRONG, UNIT - right))
            for which in (FIRST, SECOND)
        }
        if not hasattr(model, "predict_proba"):
            return cls(cells, {}, {}, {})
        margins = (np.where(second, 1.0, -1.0) * model.decision_function(rows)).tolist()
        lost = np.fromiter(map(_log_loss, margins), np.int64, len(margins))
        bounds = {"log_loss": fact(MOST_LOSS, _LIMIT)}
        return cls(cells, {"log_loss": lost}, {"log_loss": MOST_LOSS}, bounds)

    @classmethod
    def _of_numbers(cls, model: Any, rows: sp.csr_array, labels: Labels) -> "RowScores":
        ends = LabelRange.of(bound_or_one(model, "y_bound"))
        source = source_of(declared(model, "y_bound"))
        lost = UNIT - number_gains(model.predict(rows), labels, ends)
        bounds = {"y_bound": fact(list(ends), source), "mae": fact(ends.reach, _LIMIT)}
        return cls({"mae": lost, KEPT: UNIT - lost}, {}, {"mae": ends.reach}, bounds)

    @property
    def rows(self) -> int:
        return len(next(iter(self.cells.values())))

    @property
    def added(self) -> dict[str, Ints]:
        """All sums, the cells first."""
        return {**self.cells, **self.others}


class ReleasedSums:
    """Scores from released sums, in units of UNIT, which all have noise of one size.

    A score is a ratio of sums: what the cells add up to counts the rows, so that no number of rows
    needs to be declared. Its noise is that of a linear function of the sums near their values.
    Values are clipped to what is possible, which never takes them further from the truth.
    """

    def __init__(self, sums: dict[str, float], cells: list[str], noise: float) -> None:
        self._sums, self._cells, self._noise = sums, cells, noise
        self._count = max(math.fsum(sums[name] for name in cells), 1.0)

    def scores(self, most: dict[str, float]) -> dict[str, NoisyScore]:
        """Scores of the model: accuracy of classes, and the losses that ``most`` names."""
        right = [name for name in self._cells if name.startswith(RIGHT)]
        found = {"accuracy": self._share(right)} if right else {}
        for name, limit in most.items():
            share = self._share([name])
            found[name] = NoisyScore(limit * share.value, limit * share.noise)
        return found

    def trivial(self, most: dict[str, float]) -> dict[str, NoisyScore]:
        """The same of always giving the more common of two classes, or their shares."""
        second = [name for name in self._cells if name.endswith(SECOND)]
        if not second:
            return {}
        share = self._share(second)
        found = {"accuracy": NoisyScore(max(share.value, 1.0 - share.value), share.noise)}
        if "log_loss" in most:
            found["log_loss"] = _loss_of_shares(share)
        return found

    @property
    def count(self) -> NoisyScore:
        """What all rows count as."""
        found = math.fsum(self._sums[name] for name in self._cells)
        return NoisyScore(found, math.sqrt(len(self._cells)) * self._noise)

    def _share(self, names: list[str]) -> NoisyScore:
        """The sum of some of the sums, as a share of all rows."""
        share = min(max(math.fsum(self._sums[name] for name in names) / self._count, 0.0), 1.0)
        slopes = [(name in names) - share * (name in self._cells) for name in self._sums]
        return NoisyScore(share, math.hypot(*slopes) * self._noise / self._count)


def _loss_of_shares(share: NoisyScore) -> NoisyScore:
    """Mean log-loss of the shares of two classes as probabilities, capped as that of the model.

    >>> round(_loss_of_shares(NoisyScore(0.5, 0.0)).value, 4)
    0.6931
    >>> _loss_of_shares(NoisyScore(0.0, 0.0)).value
    0.0
    """
    loss, slope = 0.0, 0.0
    for p, sign in ((share.value, 1.0), (1.0 - share.value, -1.0)):
        own = -math.log(p) if p > 0.0 else math.inf
        loss += p * min(own, MOST_LOSS)
        slope += sign * (own - 1.0 if own < MOST_LOSS else MOST_LOSS)
    p = min(max(share.value, LEAST_PROBABILITY), 1.0 - LEAST_PROBABILITY)
    bent = share.noise**2 / (math.sqrt(2.0) * p * (1.0 - p))  # where the slope is 0
    return NoisyScore(loss, math.hypot(slope * share.noise, bent))


def _log_loss(margin: float) -> int:
    """What a row loses, as a share of `MOST_LOSS`; ``margin`` is that of its true class.

    >>> _log_loss(math.inf), _log_loss(-math.inf) == UNIT, _log_loss(math.nan) == UNIT
    (0, True, True)
    """
    loss = math.log1p(math.exp(-abs(margin))) + max(-margin, 0.0)
    share = min(loss / MOST_LOSS, 1.0) if loss == loss else 1.0
    return math.floor(share * UNIT)
