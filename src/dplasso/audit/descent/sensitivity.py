"""Can one row move a sum further than was charged?"""

import math
from collections.abc import Iterator

from dplasso.audit.check import Check, Session
from dplasso.audit.descent import data
from dplasso.audit.descent.account import multipliers_of
from dplasso.audit.descent.recording import Recorded
from dplasso.audit.descent.subject import WIDE, DescentSubject
from dplasso.audit.synthetic import random_form
from dplasso.audit.verdict import Verdict
from dplasso.base.arrays import Ints

NEIGHBOURS = 60
_ROUNDING = 1.0 + 1e-12


class Sensitivity(Check[DescentSubject]):
    """Compares the exact sums of neighbours, release by release, where all releases are the same.

    Two data sets go through the estimator's own intake and the solver's own sums, both handed the
    same forged releases in place of noisy ones. The length of the difference, in whole numbers and
    without rounding, may be no more than the noise's deviation over the multiplier charged.
    Rows are empty, of one entry, far beyond any bound, in several formats; forged releases put the
    centre at the row itself, or drive weights and dampings to extremes. Nothing is left to chance
    but which neighbours are tried. Finds a residual that is not cut, a row that is not scaled or
    counts twice, sums that depend on other rows. Does not look at the noise: `noise` does.
    """

    name = "sensitivity"
    of = DescentSubject
    share = 0.2

    def run(self, session: Session[DescentSubject]) -> Iterator[Verdict]:
        tries = NEIGHBOURS
        if session.thorough:
            tries = session.runs(NEIGHBOURS, lambda n: [widest(session, k) for k in range(n)])
        worst = [0.0, 0.0]
        for k in range(tries):
            worst = [max(pair) for pair in zip(worst, widest(session, k), strict=True)]
            session.tell((k + 1) / tries)
        figures = {
            f"widest change of {of}, over that charged": (share, _ROUNDING)
            for of, share in zip(("the mass", "a step's sums"), worst, strict=True)
        }
        yield from self.limited(session, figures, tries)


def widest(session: Session[DescentSubject], k: int) -> tuple[float, float]:
    """How far the mass and the sums of steps of two neighbours are apart, over what is charged."""
    subject, facts, rng = session.subject, session.subject.facts, session.rng
    *both, row = data.neighbours(WIDE if k % 3 == 0 else subject.columns, facts, rng)
    form = random_form(rng)
    pair = [subject.prepare(form(rows), labels) for rows, labels in both]
    forged = data.forged_releases(row, pair[0].course, facts, rng)
    one, other = (prepared.answers(forged) for prepared in pair)
    charged = multipliers_of(pair[0].task.plan.event)
    if not len(one) == len(other) == len(charged):
        return math.inf, math.inf
    shares = [share_of_charge(*three) for three in zip(one, other, charged, strict=True)]
    return shares[0], max(shares[1:])


def share_of_charge(one: Recorded, other: Recorded, multiplier: float) -> float:
    """The length of the difference of two sums over what the noise was charged for."""
    if one.sigma <= 0.0 or one.sigma != other.sigma:
        return math.inf
    return math.sqrt(square_length(one.sums - other.sums)) * multiplier / one.sigma


def square_length(change: Ints) -> int:
    """Exactly, in whole numbers of any size."""
    return sum(number * number for number in change.tolist())
