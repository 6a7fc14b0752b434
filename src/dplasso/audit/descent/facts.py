"""The public numbers of a descent, and the textbook quantities that follow from them."""

import math
from dataclasses import dataclass
from functools import cached_property

from dplasso.audit.descent.account import mu_for
from dplasso.audit.facts import Facts

CONSTANT = 0.3  # value of the intercept's column, for rows of length 1


@dataclass(frozen=True, kw_only=True)
class Course:
    """How a descent continues from its releases: public numbers on which no guarantee rests."""

    unit: float  # the integer that represents a length of 1
    steps: int
    step: float
    intercept_step: float
    clip: float  # bound to which residuals are clipped; sums are in units of it
    least_mass: float  # least mass of columns that are damped
    damped_from: float  # the same, in noise standard deviations
    centred_from: float  # least mass of columns that are centred, in noise standard deviations
    shared_from: float  # squared length of the mean row from which all columns are centred


@dataclass(frozen=True, kw_only=True)
class DescentFacts(Facts):
    """One configuration of gradient descent; ``n_rows`` is the declared number."""

    n_rows: int
    n_nonzero: int | None
    shown = (*Facts.shown, "n_rows", "n_nonzero", "mu")

    def sensitivity(self, release: int) -> float:
        """Sensitivity of a release, in lengths of 1: the first is the mass, others are steps."""
        return self.rows_changed * (1.0 if release == 0 else math.hypot(1.0, CONSTANT))

    @cached_property
    def mu(self) -> float:
        """The total mu that the claim allows, by the Gaussian curve."""
        return mu_for(self.epsilon, self.delta)
