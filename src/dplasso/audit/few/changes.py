"""How much one row changes a draw's law or a sum, given the same releases and chosen columns."""

import math
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dplasso.audit.account import ranges_of_event
from dplasso.audit.descent import data as descent_data
from dplasso.audit.descent.account import multipliers_of
from dplasso.audit.descent.changes import shares_of_charges
from dplasso.audit.few.data import forged_choice
from dplasso.audit.synthetic import random_form
from dplasso.base.arrays import Floats
from dplasso.solvers.few import Chosen
from dplasso.solvers.few.plan import GRAINS

if TYPE_CHECKING:
    from dplasso.audit.few.subject import FewPrepared, FewSubject


class _Pair(NamedTuple):
    """Two neighbours, the row that only one has, and the forged releases for both."""

    fits: list["FewPrepared"]
    row: Floats
    chosen: Chosen


def _pair(subject: "FewSubject", rng: np.random.Generator) -> _Pair:
    *both, row = descent_data.neighbours(subject.columns, subject.facts, rng)
    form = random_form(rng)
    fits = [subject.prepare(form(rows), labels) for rows, labels in both]
    return _Pair(fits, row, forged_choice(subject.columns, row, subject.facts, rng))


def widest_log_ratio(subject: "FewSubject", rng: np.random.Generator) -> dict[str, float]:
    """The range of a draw's log-ratio over columns and signs, divided by the charge.

    The centre of the labels is forged. Scores are the solver's own, without rounding.
    """
    pair, weights = _pair(subject, rng), []
    centre = pair.chosen.centre
    for fit in pair.fits:
        theta = fit.task.plan.few.theta(fit.task.scores.longest(centre))
        weights.append((theta, fit.task.scores.of_centre(centre)))
    (theta, one), (same, other) = weights
    # Either sign may be drawn: the largest change for one sign has its opposite for the other.
    widest = 2 * int(np.abs(one - other).max())
    charged = Fraction(ranges_of_event(pair.fits[0].task.plan.event)[-1])
    share = float(theta * widest / charged) if theta == same else math.inf
    return {"widest log-ratio of a draw, over that charged": share}


def widest(subject: "FewSubject", rng: np.random.Generator) -> dict[str, float]:
    """The distances of the label sums, the masses and the step sums, divided by the charge.

    The descent uses forged columns, which include those of the row.
    """
    pair = _pair(subject, rng)
    first, chosen = pair.fits[0], pair.chosen
    released = np.array([chosen.centre * GRAINS * subject.facts.n_rows], np.int64)
    forged = descent_data.forged_releases(
        pair.row[chosen.columns], first.course, subject.facts, rng
    )
    one, other = (fit.answers([released, *forged], chosen) for fit in pair.fits)
    charged = multipliers_of(first.task.plan.event)
    return shares_of_charges(one, other, charged, ("the labels", "the mass", "a step's sums"))
