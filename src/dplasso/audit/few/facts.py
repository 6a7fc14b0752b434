"""The public numbers of a choice and a descent, and what follows from them by the textbook."""

import math
from dataclasses import dataclass
from functools import cached_property

from dplasso.audit.account import rho_for
from dplasso.audit.descent.facts import DescentFacts

CHOICE_SHARE, CENTRE_SHARE = 0.5, 0.05  # of rho, and of that part


@dataclass(frozen=True, kw_only=True)
class FewFacts(DescentFacts):
    """One configuration that chooses ``chosen`` columns first.

    Gaussian releases are the sum of the labels, whose bound is a length of 1, the mass, and steps.
    """

    chosen: int
    shown = (*DescentFacts.shown, "rho", "draw_epsilon")

    def sensitivity(self, release: int) -> float:
        """How far a Gaussian release can move, in lengths of 1."""
        return float(self.rows_changed) if release == 0 else super().sensitivity(release - 1)

    @cached_property
    def rho(self) -> float:
        """All that the claim allows, in zCDP."""
        return rho_for(self.epsilon, self.delta)

    @property
    def draw_epsilon(self) -> float:
        """The widest log-ratio that the claim allows a draw."""
        share = CHOICE_SHARE * (1.0 - CENTRE_SHARE) / self.chosen
        return math.sqrt(8.0 * share * self.rho)

    def theta(self, centre: float) -> float:
        """The sharpest draw that this allows, of scores of entries and labels of size 1.

        Labels are 1 + |centre| away from the centre at most, and either sign may be drawn.
        """
        return self.draw_epsilon / (2.0 * self.rows_changed * (1.0 + abs(centre)))
