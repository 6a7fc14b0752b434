"""The public numbers of a choice and a descent, and textbook quantities that follow from them."""

import math
from dataclasses import dataclass
from functools import cached_property

from dplasso.audit.account import rho_for
from dplasso.audit.descent.facts import DescentFacts

CHOICE_SHARE, CENTRE_SHARE = 0.5, 0.05  # of rho, and of that part


@dataclass(frozen=True, kw_only=True)
class FewFacts(DescentFacts):
    """One configuration that chooses ``chosen`` columns first.

    Gaussian releases are the sum of the labels (their bound is a length of 1), the mass, and steps.
    """

    chosen: int
    shown = (*DescentFacts.shown, "rho", "draw_epsilon")

    def sensitivity(self, release: int) -> float:
        """Sensitivity of a Gaussian release, in lengths of 1."""
        return float(self.rows_changed) if release == 0 else super().sensitivity(release - 1)

    @cached_property
    def rho(self) -> float:
        """The total rho that the claim allows, in zCDP."""
        return rho_for(self.epsilon, self.delta)

    @property
    def draw_epsilon(self) -> float:
        """The largest range of log-ratios that the claim allows per draw."""
        share = CHOICE_SHARE * (1.0 - CENTRE_SHARE) / self.chosen
        return math.sqrt(8.0 * share * self.rho)

    def theta(self, centre: float) -> float:
        """The largest theta that this allows, for scores of entries and labels of size 1.

        Labels are 1 + |centre| away from the centre at most, and either sign may be drawn.
        """
        return self.draw_epsilon / (2.0 * self.rows_changed * (1.0 + abs(centre)))
