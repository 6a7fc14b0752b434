"""Turn an attacker's correct guesses into a lower bound on the privacy loss, with confidence."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dplasso.audit.statistics import at_least, at_most
from dplasso.base.arrays import Floats

# From two rates to a figure that they prove.
Measure = Callable[[float, float], float]
# For each claimed quantity: its measure, and the claim.
Claims = Mapping[str, tuple[Measure, float]]
_PLACES = np.linspace(0.002, 0.998, 200)  # quantiles of the scores that are tried as thresholds
_CHOICE = (2e-4, 0.3)  # errors of the bounds that choose a threshold; the second breaks ties
_HISTOGRAM = 20


class _Guess(NamedTuple):
    """Guess that the canary is present if a score is above the threshold, or absent if below."""

    score: int
    threshold: float
    there: bool


def certify(
    present: Floats, absent: Floats, measure: Measure, error: float
) -> tuple[float, dict[str, float]]:
    """The largest figure that two rates prove with confidence 1 - error.

    ``present`` and ``absent`` are runs x scores, of runs with the canary and without. The score,
    the threshold and the direction of the guess are chosen on the first third of the runs; only
    the rest is counted.
    """
    return certify_at(present, absent, measure, (error,))[0]


def certify_at(
    present: Floats, absent: Floats, measure: Measure, errors: Sequence[float]
) -> list[tuple[float, dict[str, float]]]:
    """The same for several errors: the guess does not depend on them, and is chosen once."""
    third = len(present) // 3
    guess = _chosen(present[:third], absent[:third], measure)
    rest = _Runs.of(present[third:], absent[third:])
    return [rest.proved(guess, measure, error) for error in errors]


def _chosen(present: Floats, absent: Floats, measure: Measure) -> _Guess:
    guesses, runs = _guesses(np.concatenate([present, absent])), _Runs.of(present, absent)
    # Rank by a bound with some confidence: the best rates alone may rest on a few lucky runs.
    worth = [[runs.proved(guess, measure, error)[0] for error in _CHOICE] for guess in guesses]
    most = max(worth)
    best = guesses[worth.index(most)]
    alike = [
        guess
        for guess, figures in zip(guesses, worth, strict=True)
        if figures == most and (guess.score, guess.there) == (best.score, best.there)
    ]
    # Of equally good thresholds take the middle one: it is farthest from the worse ones.
    return alike[len(alike) // 2]


class _Runs(NamedTuple):
    """Scores with the canary and without, sorted by score: runs x scores."""

    present: Floats
    absent: Floats

    @classmethod
    def of(cls, present: Floats, absent: Floats) -> "_Runs":
        return cls(np.sort(present, axis=0), np.sort(absent, axis=0))

    def proved(
        self, guess: _Guess, measure: Measure, error: float
    ) -> tuple[float, dict[str, float]]:
        """The figure that the rates of a guess prove, and the rates."""
        runs, (hits, false_hits) = len(self.present), self._hits(guess)
        low, high = at_least(hits, runs, error / 2.0), at_most(false_hits, runs, error / 2.0)
        return measure(low, high), {
            "hits": hits,
            "false_hits": false_hits,
            "runs_counted": runs,
            "rate_at_least": low,
            "false_rate_at_most": high,
            "threshold": guess.threshold,
        }

    def _hits(self, guess: _Guess) -> tuple[int, int]:
        """How often the guess is made and correct, and how often it is made and wrong."""
        below, below_absent = (
            int(np.searchsorted(scores[:, guess.score], guess.threshold, side="right"))
            for scores in self
        )
        if guess.there:
            return len(self.present) - below, len(self.absent) - below_absent
        return below_absent, below


def _guesses(scores: Floats) -> list[_Guess]:
    return [
        _Guess(k, float(threshold), there)
        for k, column in enumerate(scores.T)
        for threshold in np.unique(np.quantile(column, _PLACES))
        for there in (True, False)
    ]


def histograms(present: Floats, absent: Floats) -> dict[str, Any]:
    """Histograms of one score with and without the canary, for a chart."""
    edges = np.histogram_bin_edges(np.concatenate([present, absent]), _HISTOGRAM)
    return {
        "score_edges": edges.tolist(),
        "scores_present": np.histogram(present, edges)[0].tolist(),
        "scores_absent": np.histogram(absent, edges)[0].tolist(),
    }
