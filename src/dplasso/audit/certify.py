"""Turn an attacker's correct guesses into a lower bound on the privacy loss, with confidence."""

from collections.abc import Callable, Mapping
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
    third = len(present) // 3

    def proved(part: slice, guess: _Guess, error: float) -> tuple[float, dict[str, float]]:
        runs = len(present[part])
        hits, false_hits = _hits(present[part], absent[part], guess)
        low, high = at_least(hits, runs, error / 2.0), at_most(false_hits, runs, error / 2.0)
        return measure(low, high), {
            "hits": hits,
            "false_hits": false_hits,
            "runs_counted": runs,
            "rate_at_least": low,
            "false_rate_at_most": high,
            "threshold": guess.threshold,
        }

    first, rest = slice(0, third), slice(third, None)
    guesses = _guesses(np.concatenate([present[first], absent[first]]))
    # Rank by a bound with some confidence: the best rates alone may rest on a few lucky runs.
    worth = [[proved(first, guess, choice)[0] for choice in _CHOICE] for guess in guesses]
    best = guesses[worth.index(max(worth))]
    alike = [
        guess
        for guess, figures in zip(guesses, worth, strict=True)
        if figures == max(worth) and (guess.score, guess.there) == (best.score, best.there)
    ]
    # Of equally good thresholds take the middle one: it is farthest from the worse ones.
    return proved(rest, alike[len(alike) // 2], error)


def _guesses(scores: Floats) -> list[_Guess]:
    return [
        _Guess(k, float(threshold), there)
        for k, column in enumerate(scores.T)
        for threshold in np.unique(np.quantile(column, _PLACES))
        for there in (True, False)
    ]


def _hits(present: Floats, absent: Floats, guess: _Guess) -> tuple[int, int]:
    """How often the guess is made and correct, and how often it is made and wrong."""
    k, threshold = guess.score, guess.threshold
    above = int(np.sum(present[:, k] > threshold)), int(np.sum(absent[:, k] > threshold))
    return above if guess.there else (len(absent) - above[1], len(present) - above[0])


def histograms(present: Floats, absent: Floats) -> dict[str, Any]:
    """Histograms of one score with and without the canary, for a chart."""
    edges = np.histogram_bin_edges(np.concatenate([present, absent]), _HISTOGRAM)
    return {
        "score_edges": edges.tolist(),
        "scores_present": np.histogram(present, edges)[0].tolist(),
        "scores_absent": np.histogram(absent, edges)[0].tolist(),
    }
