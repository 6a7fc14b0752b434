"""The public numbers of a descent, and what follows from them by the textbook."""

import math
from dataclasses import dataclass
from functools import cached_property

from dplasso.audit.descent.account import mu_for
from dplasso.audit.facts import Facts

CONSTANT = 0.3  # of the intercept's column, beside rows of length 1


@dataclass(frozen=True, kw_only=True)
class Course:
    """How a descent goes on from its releases: public numbers that no guarantee rests on."""

    unit: float  # whole numbers in a length of 1
    steps: int
    step: float
    intercept_step: float
    clip: float  # where residuals are cut; sums are in units of it
    least_mass: float  # of columns that are damped
    damped_from: float  # the same, in standard deviations of its noise
    centred_from: float  # mass of columns that are centred, in standard deviations of its noise
    shared_from: float  # of rows' square length, in their mean: all columns are centred


@dataclass(frozen=True, kw_only=True)
class DescentFacts(Facts):
    """One configuration of gradient descent; ``n_rows`` is the declared number."""

    n_rows: int
    n_nonzero: int | None
    shown = (*Facts.shown, "n_rows", "n_nonzero", "mu")

    def sensitivity(self, release: int) -> float:
        """How far a release can move, in lengths of 1: the first is the mass, others are steps."""
        return self.rows_changed * (1.0 if release == 0 else math.hypot(1.0, CONSTANT))

    @cached_property
    def mu(self) -> float:
        """All that the claim allows, by the Gaussian curve."""
        return mu_for(self.epsilon, self.delta)
