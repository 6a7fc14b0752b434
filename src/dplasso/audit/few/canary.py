"""How well do releases tell whether one row was there?"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dplasso.audit.certify import Measure, certified
from dplasso.audit.check import Check, Session
from dplasso.audit.descent.canary import log_ratio
from dplasso.audit.descent.reference import Rows, Walk
from dplasso.audit.descent.subject import WIDE
from dplasso.audit.few import data, reference
from dplasso.audit.few.subject import FewPrepared, FewSubject, Run, outcomes
from dplasso.audit.statistics import epsilon_between, rho_between
from dplasso.audit.verdict import Verdict
from dplasso.base.arrays import Floats, Ints

RUNS = 400  # with the canary, and as many without


class Canary(Check[FewSubject]):
    """Fits with and without one telling row; certifies a lower bound on what the fits leak.

    The log-likelihood ratio of a fit adds up over its releases: of the sum of the labels, a normal
    law's; of each draw, given that sum and the draws before; of the descent's sums, given the
    columns. Scored are all of it, the labels, the draws and the descent. Rates are counted, and
    prove epsilon and rho, as for fits by Frank-Wolfe.
    """

    name = "canary"
    of = FewSubject
    tests = 2
    share = 2.0

    def run(self, session: Session[FewSubject]) -> Iterator[Verdict]:
        subject, facts = session.subject, session.subject.facts
        arms = [
            _Arm(*both, subject.prepare(*both)) for both in data.canary_rows(subject.columns, facts)
        ]

        def pilot(runs: int) -> None:
            for arm in arms:
                _scores(session, arms, [arm.prepared.run(session.bits) for _ in range(runs)])

        runs, scores = session.runs(RUNS, pilot), []
        for half, arm in enumerate(arms):
            drawn = []
            for run in range(runs):
                drawn.append(arm.prepared.run(session.bits))
                session.tell((half + (run + 1) / runs) / 2.0)
            scores.append(_scores(session, arms, drawn))
        claims: dict[str, tuple[Measure, float]] = {
            "epsilon": (lambda p, q: epsilon_between(p, q, facts.delta), facts.epsilon),
            "rho": (rho_between, facts.rho),
        }
        yield from certified(subject.name, scores[0], scores[1], claims, session.error)


class _Arm(NamedTuple):
    """One of two neighbours: raw rows and labels for the reference, and the fit."""

    X: Floats
    y: Floats
    prepared: FewPrepared


def _scores(session: Session[FewSubject], arms: list[_Arm], drawn: list[Run]) -> Floats:
    """Log-likelihood ratios, canary there over canary not there: runs x (all, and by part)."""
    facts, prepared = session.subject.facts, arms[0].prepared
    released = np.array([run.sums[0].released[0] for run in drawn], np.float64)
    both = [reference.Scores(arm.X, arm.y, facts) for arm in arms]
    there, not_there = (np.array([scores.label_sum * prepared.label_unit]) for scores in both)
    labels, _ = log_ratio(released[:, None], there, not_there, prepared.stated_sigma(0))
    centres = reference.centres_of(released, prepared.label_unit, facts)
    choices = outcomes([run.chosen for run in drawn], WIDE)
    likelihoods = [
        reference.log_likelihoods(scores.log_laws(centres, WIDE), choices) for scores in both
    ]
    draws = likelihoods[0] - likelihoods[1]
    descent = _of_descents(session, arms, drawn)
    # Equal releases must have equal scores, in whatever order sums were made.
    parts = (np.round(part, 9) for part in (labels + draws + descent, labels, draws, descent))
    return np.stack(list(parts), axis=1)


def _of_descents(session: Session[FewSubject], arms: list[_Arm], drawn: list[Run]) -> Floats:
    """Ratios of the descents, those on the same columns together."""
    ratios = np.zeros(len(drawn))
    columns = np.stack([np.sort(run.chosen.columns) for run in drawn])
    kinds, places = np.unique(columns, axis=0, return_inverse=True)
    for kind, picked in enumerate(kinds):
        group = np.flatnonzero(places.ravel() == kind)
        ratios[group] = _of_group(session, arms, [drawn[run] for run in group], picked)
    return ratios


def _of_group(
    session: Session[FewSubject], arms: list[_Arm], drawn: list[Run], columns: Ints
) -> Floats:
    facts, prepared = session.subject.facts, arms[0].prepared
    course, sigmas = prepared.course, [prepared.stated_sigma(place) for place in (1, 2)]
    rows = [Rows.of(_picked(arm.X, columns), arm.y, facts) for arm in arms]
    mass, *steps = (
        np.stack([run.sums[place].released for run in drawn]).astype(np.float64)
        for place in range(1, len(drawn[0].sums))
    )
    total, _ = log_ratio(mass, rows[0].mass(course), rows[1].mass(course), sigmas[0])
    walk = Walk(mass, sigmas[0], course, facts)
    for step in steps:
        sums = step.reshape(len(drawn), 1, -1)
        more, _ = log_ratio(sums, walk.sums(rows[0]), walk.sums(rows[1]), sigmas[1])
        total = total + more
        walk.receive(sums)
    return total


def _picked(X: Floats, columns: Ints) -> Floats:
    """Some of the columns, those that were added to the rows being empty."""
    found = np.zeros((len(X), len(columns)))
    own = columns < X.shape[1]
    found[:, own] = X[:, columns[own]]
    return found
