"""How well do releases tell whether one row was there?"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dplasso.audit.certify import Measure, certified
from dplasso.audit.check import Check, Session
from dplasso.audit.descent import data
from dplasso.audit.descent.recording import Recorded
from dplasso.audit.descent.reference import Rows, Walk
from dplasso.audit.descent.subject import DescentSubject, Prepared
from dplasso.audit.statistics import epsilon_between, mu_between
from dplasso.audit.verdict import Verdict
from dplasso.base.arrays import Floats

RUNS = 700  # with the canary, and as many without
_BATCH = 50  # runs whose releases are held at a time


class Canary(Check[DescentSubject]):
    """Fits with and without one telling row; certifies a lower bound on what the fits leak.

    Given the releases before, a release is a known sum, with the canary's vector or without, plus
    normal noise: the log-likelihood ratio is its projection on that vector, and adds up over
    releases. Scored are the mass, the steps, and both together. On one part of the runs a score and
    a threshold are chosen; on the rest the rates at which it is exceeded are bounded by
    Clopper-Pearson. Rates p with the canary and q without prove that epsilon is at least
    ln((p - delta) / q), and mu at least the distance of their normal quantiles. The second is
    tight: the canary's residual is at its bound throughout, so that with many runs what is
    certified comes close to what is claimed.
    """

    name = "canary"
    of = DescentSubject
    tests = 2
    share = 2.0

    def run(self, session: Session[DescentSubject]) -> Iterator[Verdict]:
        facts = session.subject.facts
        pair = _arms(session)

        def pilot(runs: int) -> None:
            for arm in pair:
                _scores(session, pair, arm, runs, None)

        runs = session.runs(RUNS, pilot)
        present, absent = (_scores(session, pair, arm, runs, half) for half, arm in enumerate(pair))
        claims: dict[str, tuple[Measure, float]] = {
            "epsilon": (lambda p, q: epsilon_between(p, q, facts.delta), facts.epsilon),
            "mu": (mu_between, facts.mu),
        }
        scores = (present.by_score, absent.by_score)
        yield from certified(
            session.subject.name, *scores, claims, session.error, mu_of_the_row=present.mu
        )


class _Arm(NamedTuple):
    """One of two neighbours: rows for the reference, and the fit."""

    rows: Rows
    prepared: Prepared


class _Scores(NamedTuple):
    """Log-likelihood ratios, runs x (all, mass, steps); and the canary's mu, on average."""

    by_score: Floats
    mu: float


def _arms(session: Session[DescentSubject]) -> tuple[_Arm, _Arm]:
    """The rows with the canary last, and without: one row fewer, or its rival in its place."""
    subject, facts = session.subject, session.subject.facts
    X, y, canary, own, rival = data.canary_rows(subject.columns, facts)
    present, absent = (np.vstack([X, canary]), np.append(y, own)), (X, y)
    if facts.neighboring == "replace_one":
        absent = np.vstack([X, rival]), np.append(y, own)
    there, not_there = (
        _Arm(Rows.of(rows, labels, facts), subject.prepare(rows, labels))
        for rows, labels in (present, absent)
    )
    return there, not_there


def _scores(
    session: Session[DescentSubject],
    pair: tuple[_Arm, _Arm],
    arm: _Arm,
    runs: int,
    half: int | None,
) -> _Scores:
    """Scores of so many runs of one arm, canary there over canary not there."""
    ratios, squares = [], []
    for first in range(0, runs, _BATCH):
        batch = [arm.prepared.releases(session.bits) for _ in range(min(_BATCH, runs - first))]
        ratio, square = _log_ratios(session, pair, batch)
        ratios.append(ratio)
        squares.append(square)
        if half is not None:
            session.tell((half + (first + len(batch)) / runs) / 2.0)
    by_score = np.concatenate(ratios)
    return _Scores(by_score, float(np.sqrt(np.concatenate(squares).mean())))


def _log_ratios(
    session: Session[DescentSubject], pair: tuple[_Arm, _Arm], batch: list[list[Recorded]]
) -> tuple[Floats, Floats]:
    """Log-likelihood ratios of runs, and the squares of the canary's vectors in units of noise."""
    facts, prepared = session.subject.facts, pair[0].prepared
    course, sigmas = prepared.course, (prepared.stated_sigma(0), prepared.stated_sigma(1))
    released = [
        np.stack([fit[place].released for fit in batch]).astype(np.float64)
        for place in range(len(batch[0]))
    ]
    there, not_there = (arm.rows.mass(course) for arm in pair)
    mass, square = log_ratio(released[0], there, not_there, sigmas[0])
    walk, steps = Walk(released[0], sigmas[0], course, facts), np.zeros(len(batch))
    for release in released[1:]:
        sums = release.reshape(len(batch), facts.outputs, -1)
        more, length = log_ratio(sums, walk.sums(pair[0].rows), walk.sums(pair[1].rows), sigmas[1])
        steps, square = steps + more, square + length
        walk.receive(sums)
    return np.stack([mass + steps, mass, steps], axis=1), square


def log_ratio(
    released: Floats, there: Floats, not_there: Floats, sigma: float
) -> tuple[Floats, Floats]:
    """How far releases lie towards one of two normal laws; the square of how far those are apart.

    Releases are rounded down, and read in the middle of their cell.
    """
    places = tuple(range(1, released.ndim))
    apart = (there - not_there) / sigma
    middle = (released + 0.5 - 0.5 * (there + not_there)) / sigma
    square = np.broadcast_to(apart**2, released.shape).sum(axis=places)
    return np.sum(middle * apart, axis=places), square
