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


class NoisyScore(NamedTuple):
    """A released score, and the standard deviation of the noise in it."""

    value: float
    noise: float


class RowScores(NamedTuple):
    """What all rows add to each score, and what a row adds at most.

    Formal guarantees
    -----------------
    A row adds a whole number from 0 to UNIT, which stands for ``most``. It is a function of the
    row, of its label and of the model, to the last bit: rows are first brought into one form, in
    double precision (`dplasso.data.merging`), margins are sums over a row's own entries, and
    logarithms are taken row by row, since those of an array may depend on a number's place in it.
    """

    added: dict[str, Ints]
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
        if len(classes) > 2 or not hasattr(model, "predict_proba"):
            return cls({"accuracy": right}, {"accuracy": 1.0}, {})
        signs = 2.0 * positions(labels, classes.tolist()) - 1.0
        margins = (signs * model.decision_function(rows)).tolist()
        lost = np.fromiter(map(_log_loss, margins), np.int64, len(margins))
        return cls(
            {"accuracy": right, "log_loss": lost},
            {"accuracy": 1.0, "log_loss": MOST_LOSS},
            {"log_loss": fact(MOST_LOSS, _LIMIT)},
        )

    @classmethod
    def _of_numbers(cls, model: Any, rows: sp.csr_array, labels: Labels) -> "RowScores":
        ends = LabelRange.of(bound_or_one(model, "y_bound"))
        source = source_of(declared(model, "y_bound"))
        # Losses are added up, and not gains: a number of rows that is declared a little wrongly
        # then changes their mean no more than itself.
        lost = UNIT - number_gains(model.predict(rows), labels, ends)
        bounds = {"y_bound": fact(list(ends), source), "mae": fact(ends.reach, _LIMIT)}
        return cls({"mae": lost}, {"mae": ends.reach}, bounds)

    @property
    def rows(self) -> int:
        return len(next(iter(self.added.values())))

    def scores(self, sums: dict[str, NoisyScore], rows: NoisyScore) -> dict[str, NoisyScore]:
        """Scores from released sums, in units of ``most``, and from what all rows count as.

        Values are clipped to what is possible, which never takes them further from the truth.
        """
        count, found = max(rows.value, 1.0), {}
        for name, most in self.most.items():
            share = min(max(sums[name].value / count, 0.0), 1.0)
            noise = math.hypot(sums[name].noise, share * rows.noise) / count
            found[name] = NoisyScore(most * share, most * noise)
        return found


def _log_loss(margin: float) -> int:
    """What a row loses, as a share of `MOST_LOSS`; ``margin`` is that of its true class.

    >>> _log_loss(math.inf), _log_loss(-math.inf) == UNIT, _log_loss(math.nan) == UNIT
    (0, True, True)
    """
    loss = math.log1p(math.exp(-abs(margin))) + max(-margin, 0.0)
    share = min(loss / MOST_LOSS, 1.0) if loss == loss else 1.0
    return math.floor(share * UNIT)
