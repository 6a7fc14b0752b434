"""Whether probabilities come true: predicted probability against observed share."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.base.arrays import Floats

BINS = 15
MOST_OFF = 0.05  # an average error of probabilities that is large for any model
MOST_OFF_RARE = 0.25  # the same, as a fraction of the share of a rare class
_SURE = 2.0  # standard errors by which an error must exceed chance


@dataclass(frozen=True)
class Reliability:
    """Rows by predicted probability.

    ``bins`` are (mean predicted probability, observed share, rows). With two classes they are about
    the probability of the second class. With more they are about the answer that is given: its
    probability, and the share of answers that are right.
    """

    bins: tuple[tuple[float, float, int], ...]
    of_answers: bool = False

    @cached_property
    def rows(self) -> int:
        return sum(rows for *_, rows in self.bins)

    @property
    def predicted(self) -> float:
        """Mean predicted probability."""
        return sum(mean * rows for mean, _, rows in self.bins) / self.rows

    @property
    def observed(self) -> float:
        """Observed share of all rows."""
        return sum(share * rows for _, share, rows in self.bins) / self.rows

    @property
    def error(self) -> float:
        """Expected calibration error: the mean distance of predicted and observed, over rows."""
        return sum(rows * abs(mean - share) for mean, share, rows in self.bins) / self.rows

    @property
    def chance(self) -> float:
        """Error that perfect probabilities would rarely exceed on so many rows.

        In a bin of n rows with probability p, the observed share differs from p by chance: like the
        size of a normal number of variance p (1 - p) / n. This is the mean of the sum over bins
        plus two standard deviations.
        """
        mean = variance = 0.0
        for probability, _, rows in self.bins:
            weight, spread = rows / self.rows, probability * (1.0 - probability) / rows
            mean += weight * math.sqrt(2.0 * spread / math.pi)
            variance += weight**2 * spread * (1.0 - 2.0 / math.pi)
        return mean + _SURE * math.sqrt(variance)

    @property
    def off(self) -> bool:
        """Whether the error is large, and clearly more than chance."""
        rare = MOST_OFF_RARE * min(self.observed, 1.0 - self.observed)
        return self.error > max(self.chance, min(MOST_OFF, rare))

    @property
    def tendency(self) -> str:
        """Whether probabilities are too high, too low, or neither on average."""
        distance = self.predicted - self.observed
        if abs(distance) <= 0.5 * self.error:
            return "neither too high nor too low on average"
        return "too high on average" if distance > 0 else "too low on average"


def reliability(places: NDArray[np.intp], scores: Floats) -> Reliability:
    """Compare the probabilities of rows with their classes, given as positions."""
    if scores.shape[1] == 2:
        return Reliability(_bins(scores[:, 1], places == 1))
    answers = scores.argmax(axis=1)
    return Reliability(_bins(scores.max(axis=1), answers == places), of_answers=True)


def _bins(predicted: Floats, hits: NDArray[Any]) -> tuple[tuple[float, float, int], ...]:
    """Return equally wide bins of the predicted probability, without the empty ones."""
    places = np.minimum((BINS * predicted).astype(np.intp), BINS - 1)
    counts = np.bincount(places, minlength=BINS)
    means, shares = (
        np.bincount(places, weights, BINS) / np.maximum(counts, 1) for weights in (predicted, hits)
    )
    used = np.flatnonzero(counts)
    found = zip(means[used].tolist(), shares[used].tolist(), counts[used].tolist(), strict=True)
    return tuple(found)
