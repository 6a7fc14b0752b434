"""How well do releases tell whether one row was there?"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dplasso.audit.certify import Measure, certified
from dplasso.audit.check import Check, Session
from dplasso.audit.selection import data, reference
from dplasso.audit.selection.subject import Prepared, SelectionSubject
from dplasso.audit.statistics import epsilon_between, rho_between
from dplasso.audit.verdict import Verdict
from dplasso.base.arrays import Floats

RUNS = 900  # with the canary, and as many without
_QUICK_ROUNDS = 100  # that a quick audit looks at, of each run


class Canary(Check[SelectionSubject]):
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
    of = SelectionSubject
    tests = 2
    share = 2.0

    def run(self, session: Session[SelectionSubject]) -> Iterator[Verdict]:
        facts = session.subject.facts
        arms = _arms(session)
        pair = (arms[0].prepared, arms[1].prepared)

        def pilot(runs: int) -> None:
            for prepared in pair:
                _scores(session, arms, prepared, runs, None)

        runs = session.runs(RUNS, pilot)
        present, absent = (
            _scores(session, arms, prepared, runs, half) for half, prepared in enumerate(pair)
        )
        claims: dict[str, tuple[Measure, float]] = {
            "epsilon": (lambda p, q: epsilon_between(p, q, facts.delta), facts.epsilon),
            "rho": (rho_between, facts.rho),
        }
        yield from certified(session.subject.name, present, absent, claims, session.error)


class _Arm(NamedTuple):
    """One of two neighbours: raw rows and labels for the reference, and the fit."""

    X: Floats
    y: Floats
    prepared: Prepared


def _arms(session: Session[SelectionSubject]) -> list[_Arm]:
    """The rows with the canary last, and without: one row fewer, or its opposite in its place."""
    subject, facts = session.subject, session.subject.facts
    X, y, canary, (own, other) = data.canary_rows(subject.columns, facts)
    present = np.vstack([X, canary]), np.append(y, own)
    absent = X, y
    if facts.neighboring == "replace_one":
        absent = present[0], np.append(y, other)
    return [_Arm(rows, labels, subject.prepare(rows, labels)) for rows, labels in (present, absent)]


def _scores(
    session: Session[SelectionSubject],
    arms: list[_Arm],
    prepared: Prepared,
    runs: int,
    half: int | None,
) -> Floats:
    """Log-likelihood ratios of so many runs, canary there over canary not there: a column."""

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
    return np.round(there - not_there, 9)[:, None]
