"""How well do releases tell whether one row was there?"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from dplasso.audit import data, reference
from dplasso.audit.check import Check, Session
from dplasso.audit.reference import Floats
from dplasso.audit.statistics import at_least, at_most, epsilon_between, rho_between
from dplasso.audit.subject import Prepared
from dplasso.audit.verdict import Verdict

RUNS = 1500  # with the canary, and as many without
_QUICK_ROUNDS = 100  # that a quick audit looks at, of each run
_PLACES = np.linspace(0.002, 0.998, 200)  # of scores, that are tried as thresholds
_CHOICE = 2e-4  # error of the bounds by which a threshold is chosen
_HISTOGRAM = 20

Measure = Callable[[float, float], float]


class Canary(Check):
    """Fits with and without one telling row; certifies a lower bound on what the fits leak.

    Each transcript is scored by its log-likelihood ratio, the best there is. On one part of the
    runs a threshold is chosen; on the rest, untouched until then, the rates at which scores exceed
    it are bounded by Clopper-Pearson. Rates p with the canary and q without prove that epsilon is
    at least ln((p - delta) / q), and rho at least the largest Renyi divergence between the two over
    its order. Either above what is claimed is an alarm. This is the one check that looks at a fit
    from both ends alone; but it needs many runs to see a fault of a small factor, and certifies
    less than the truth by as much as its runs leave open.
    """

    name = "canary"
    tests = 2
    share = 2.0

    def run(self, session: Session) -> Iterator[Verdict]:
        subject, facts = session.subject, session.subject.facts
        arms = _arms(session)
        pair = (arms[0].prepared, arms[1].prepared)

        def pilot(runs: int) -> None:
            for prepared in pair:
                _scores(session, arms, prepared, runs, None)

        runs = session.runs(RUNS, pilot)
        present, absent = (
            _scores(session, arms, prepared, runs, half) for half, prepared in enumerate(pair)
        )
        histograms = _histograms(present, absent)
        measures: dict[str, tuple[Measure, float]] = {
            "epsilon": (lambda p, q: epsilon_between(p, q, facts.delta), facts.epsilon),
            "rho": (rho_between, facts.rho),
        }
        for what, (measure, claimed) in measures.items():
            found, rates = _certify(present, absent, measure, session.error)
            usual, _ = _certify(present, absent, measure, 0.05)
            yield Verdict(
                self.name,
                subject.name,
                f"certified {what}, at least",
                found,
                claimed,
                error=session.error,
                runs=2 * runs,
                details={"at_95_percent": usual, **rates, **histograms},
            )


class _Arm(NamedTuple):
    """One of two neighbours: raw rows and labels for the reference, and the fit."""

    X: Floats
    y: Floats
    prepared: Prepared


def _arms(session: Session) -> list[_Arm]:
    """The rows with the canary last, and without: one row fewer, or its opposite in its place."""
    subject, facts = session.subject, session.subject.facts
    X, y, canary, (own, other) = data.canary_rows(subject.columns, facts)
    present = np.vstack([X, canary]), np.append(y, own)
    absent = X, y
    if facts.neighboring == "replace_one":
        absent = present[0], np.append(y, other)
    return [_Arm(rows, labels, subject.prepare(rows, labels)) for rows, labels in (present, absent)]


def _scores(
    session: Session, arms: list[_Arm], prepared: Prepared, runs: int, half: int | None
) -> Floats:
    """Log-likelihood ratios of so many runs, canary there over canary not there."""

    def tell(part: float) -> None:
        session.tell((half + part) / 2.0 if half is not None else 0.0)

    rounds = session.subject.facts.rounds
    if not session.thorough:
        rounds = min(rounds, _QUICK_ROUNDS)
    drawn = prepared.transcripts(runs, rounds, session.bits, tell)
    there, not_there = (
        reference.log_likelihoods(arm.X, arm.y, drawn, session.subject.facts) for arm in arms
    )
    # Equal transcripts must have equal scores, in whatever order sums were made.
    return np.round(there - not_there, 9)


def _certify(
    present: Floats, absent: Floats, measure: Measure, error: float
) -> tuple[float, dict[str, float]]:
    """The largest figure that two rates prove with confidence 1 - error.

    The threshold, and which way round, are chosen on the first third; the other two are counted.
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
    tried = np.unique(np.quantile(np.concatenate([present[first], absent[first]]), _PLACES))
    guesses = [_Guess(float(threshold), there) for threshold in tried for there in (True, False)]
    # By what they prove with some confidence: the best rates alone would be those of lucky few.
    best = max(guesses, key=lambda guess: proved(first, guess, _CHOICE)[0])
    return proved(rest, best, error)


class _Guess(NamedTuple):
    """The canary is there where scores are above the threshold, or is not where they are not."""

    threshold: float
    there: bool


def _hits(present: Floats, absent: Floats, guess: _Guess) -> tuple[int, int]:
    """How often the guess is made and right, and how often it is made and wrong."""
    above = int(np.sum(present > guess.threshold)), int(np.sum(absent > guess.threshold))
    return above if guess.there else (len(absent) - above[1], len(present) - above[0])


def _histograms(present: Floats, absent: Floats) -> dict[str, list[float]]:
    """Both sets of scores, to be drawn."""
    edges = np.histogram_bin_edges(np.concatenate([present, absent]), _HISTOGRAM)
    return {
        "score_edges": edges.tolist(),
        "scores_present": np.histogram(present, edges)[0].tolist(),
        "scores_absent": np.histogram(absent, edges)[0].tolist(),
    }
