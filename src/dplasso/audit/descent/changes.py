"""How much one row changes the exact sums of a descent, given the same releases."""

import math
from typing import TYPE_CHECKING

import numpy as np

from dplasso.audit.descent import data
from dplasso.audit.descent.account import multipliers_of
from dplasso.audit.descent.recording import Recorded
from dplasso.audit.fit_subject import WIDE
from dplasso.audit.synthetic import random_form
from dplasso.base.arrays import Ints

if TYPE_CHECKING:
    from dplasso.audit.descent.subject import DescentSubject


def widest(subject: "DescentSubject", rng: np.random.Generator, k: int) -> dict[str, float]:
    """The distance of the mass and of the step sums of two neighbours, divided by the charge.

    Both are given the same forged releases instead of noisy ones, which put the centre at the row
    itself, or drive weights and dampings to extremes. Differences are exact integers.
    """
    facts = subject.facts
    *both, row = data.neighbours(WIDE if k % 3 == 0 else subject.columns, facts, rng)
    form = random_form(rng)
    pair = [subject.prepare(form(rows), labels) for rows, labels in both]
    forged = data.forged_releases(row, pair[0].course, facts, rng)
    one, other = (prepared.answers(forged) for prepared in pair)
    charged = multipliers_of(pair[0].task.plan.event)
    return shares_of_charges(one, other, charged, ("the mass", "a step's sums"))


def shares_of_charges(
    one: list[Recorded], other: list[Recorded], charged: list[float], releases: tuple[str, ...]
) -> dict[str, float]:
    """The distances of the sums, per release; the last name covers all further releases."""
    names = [f"widest change of {name}, over that charged" for name in releases]
    if not len(one) == len(other) == len(charged):
        return dict.fromkeys(names, math.inf)
    found = dict.fromkeys(names, 0.0)
    for place, three in enumerate(zip(one, other, charged, strict=True)):
        name = names[min(place, len(names) - 1)]
        found[name] = max(found[name], share_of_charge(*three))
    return found


def share_of_charge(one: Recorded, other: Recorded, multiplier: float) -> float:
    """The length of the difference of two sums, divided by the sensitivity that was charged."""
    if one.sigma <= 0.0 or one.sigma != other.sigma:
        return math.inf
    return math.sqrt(square_length(one.sums - other.sums)) * multiplier / one.sigma


def square_length(change: Ints) -> int:
    """The squared length, exact in integers of any size."""
    return sum(number * number for number in change.tolist())
