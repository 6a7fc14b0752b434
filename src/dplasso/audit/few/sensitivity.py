"""Can one row move a draw's law, or a sum, further than was charged?"""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dplasso.audit.account import range_of_event
from dplasso.audit.check import Check, Session
from dplasso.audit.descent import data as descent_data
from dplasso.audit.descent.account import multipliers_of
from dplasso.audit.descent.sensitivity import share_of_charge
from dplasso.audit.few.data import forged_choice
from dplasso.audit.few.subject import FewPrepared, FewSubject
from dplasso.audit.synthetic import random_form
from dplasso.audit.verdict import Verdict
from dplasso.base.arrays import Floats
from dplasso.solvers.few import Chosen
from dplasso.solvers.few.plan import GRAINS

NEIGHBOURS = 40
_ROUNDING = 1.0 + 1e-12


class _Pair(NamedTuple):
    """Two neighbours, the row that only one has, and what is forged for both."""

    fits: list[FewPrepared]
    row: Floats
    chosen: Chosen


class RangeTest(Check[FewSubject]):
    """Compares both laws of a draw, for many neighbours, on the solver's own scores.

    Two data sets go through the estimator's own intake and scoring, as far as theta, with the same
    forged centre of labels. The log-ratio of their laws, in fractions without rounding, may range
    over no more than the event charged says. Finds labels or entries beyond their bounds, a row
    that counts more than once, a theta for half of the signs. The draw itself is for `law`.
    """

    name = "range"
    of = FewSubject
    share = 0.1

    def run(self, session: Session[FewSubject]) -> Iterator[Verdict]:
        subject, worst = session.subject, 0.0
        for k in range(NEIGHBOURS):
            worst = max(worst, _range_share(_pair(session)))
            session.tell((k + 1) / NEIGHBOURS)
        yield Verdict(
            self.name,
            subject.name,
            "widest log-ratio of a draw, over that charged",
            worst,
            _ROUNDING,
            runs=NEIGHBOURS,
        )


class Sensitivity(Check[FewSubject]):
    """Compares the exact sums of neighbours, where releases and chosen columns are the same.

    As for descents; the sum of the labels comes first, and the descent is on forged columns, those
    that the row has among them.
    """

    name = "sensitivity"
    of = FewSubject
    share = 0.2

    def run(self, session: Session[FewSubject]) -> Iterator[Verdict]:
        worst = [0.0, 0.0, 0.0]
        for k in range(NEIGHBOURS):
            found = _sum_shares(session, _pair(session))
            worst = [max(pair) for pair in zip(worst, found, strict=True)]
            session.tell((k + 1) / NEIGHBOURS)
        for of, share in zip(("the labels", "the mass", "a step's sums"), worst, strict=True):
            yield Verdict(
                self.name,
                session.subject.name,
                f"widest change of {of}, over that charged",
                share,
                _ROUNDING,
                runs=NEIGHBOURS,
            )


def _pair(session: Session[FewSubject]) -> _Pair:
    subject, facts, rng = session.subject, session.subject.facts, session.rng
    *both, row = descent_data.neighbours(subject.columns, facts, rng)
    form = random_form(rng)
    fits = [subject.prepare(form(rows), labels) for rows, labels in both]
    return _Pair(fits, row, forged_choice(subject.columns, row, facts, rng))


def widest_shares(session: Session[FewSubject]) -> float:
    """How far a row moves a draw's law or any sum, over what is charged, for two neighbours."""
    pair = _pair(session)
    return max(_range_share(pair), *_sum_shares(session, pair))


def _range_share(pair: _Pair) -> float:
    """How far the log-ratio ranges over the columns and signs, over what is charged."""
    centre, weights = pair.chosen.centre, []
    for fit in pair.fits:
        theta = fit.task.plan.few.theta(fit.task.scores.longest(centre))
        weights.append((theta, fit.task.scores.of_centre(centre)))
    (theta, one), (same, other) = weights
    if theta != same:
        return math.inf
    # Either sign may be drawn: the widest change of one is met by its opposite.
    widest = 2 * int(np.abs(one - other).max())
    return float(theta * widest / Fraction(range_of_event(pair.fits[0].task.plan.event)))


def _sum_shares(session: Session[FewSubject], pair: _Pair) -> tuple[float, float, float]:
    """How far sums of labels, the mass and the sums of steps are apart, over what is charged."""
    facts, first = session.subject.facts, pair.fits[0]
    released = np.array([pair.chosen.centre * GRAINS * facts.n_rows], np.int64)
    forged = descent_data.forged_releases(
        pair.row[pair.chosen.columns], first.course, facts, session.rng
    )
    one, other = (fit.answers([released, *forged], pair.chosen) for fit in pair.fits)
    charged = multipliers_of(first.task.plan.event)
    if not len(one) == len(other) == len(charged):
        return math.inf, math.inf, math.inf
    shares = [share_of_charge(*three) for three in zip(one, other, charged, strict=True)]
    return shares[0], shares[1], max(shares[2:])
