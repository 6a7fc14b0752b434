"""``x_bound="private"`` releases the bound on entries for a share of the budget."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import scipy.sparse as sp

from dplasso.base.arrays import Floats
from dplasso.base.wording import ParameterError
from dplasso.data import ColumnMatrix
from dplasso.data.row_medians import entries_of, row_medians
from dplasso.fitting.plan import Plan
from dplasso.fitting.task import BoundedTask, Drawing, Task
from dplasso.mechanisms.private_quantile import exponents_of, losses_of, private_quantile
from dplasso.privacy.calibration import Neighboring

PRIVATE = "private"
SOURCE = "private quantile"  # in the words of the privacy statement
CANDIDATES: tuple[float, ...] = tuple(2.0 ** (k / 2.0) for k in range(-40, 41))
# Share of the rows whose typical entry is below the bound. It is low because the signal of a
# selection grows with the number of rows at the bound, while its noise grows with the bound
# (benchmarks/private_bound.py).
SHARE = Fraction(1, 10)


def is_asked(x_bound: object) -> bool:
    """Whether a parameter ``x_bound`` asks for a bound to be released."""
    return isinstance(x_bound, str) and x_bound == PRIVATE


@dataclass(frozen=True, kw_only=True, eq=False)
class UnboundedTask(Task):
    """A fit that is checked and planned, but whose bound is not yet released."""

    entries: sp.csc_array

    @classmethod
    def of(cls, plan: Plan, X: Any, labels: Floats, drawing: Drawing) -> "UnboundedTask":
        """Check rows that have no bound yet."""
        if isinstance(X, ColumnMatrix) and X.stretch is not None:
            raise ParameterError(
                "a released bound is one for all columns, and X has one for each; pass these as "
                "{x_bound}"
            )
        return cls(plan=plan, labels=labels, drawing=drawing, entries=entries_of(X))

    def bounded(self) -> BoundedTask:
        """Draw the bound, and return the fit with this bound.

        Formal guarantees
        -----------------
        The release of the bound has the cost `BoundedRange` of the plan's ``bound_epsilon``: it is
        a `private_quantile` of one number per row. The fit uses it like a public bound, and its
        cost is the planned cost for every value of the bound.
        """
        return self.at(self.drawn())

    def drawn(self) -> float:
        """Draw the bound itself."""
        numbers = row_medians(self.entries)
        if math.isinf(self.plan.bound_epsilon):
            losses = losses_of(numbers, CANDIDATES, SHARE)
            return CANDIDATES[losses.index(min(losses))]
        place = private_quantile(*self._question(numbers), self.drawing.bits.generator)
        return CANDIDATES[place]

    def exponents(self) -> list[Fraction]:
        """Negative log-probability of each candidate, up to a constant; used by audits."""
        return exponents_of(*self._question(row_medians(self.entries)))

    def at(self, bound: float) -> BoundedTask:
        """Return the fit with the released bound."""
        return self.plan.at(bound).prepare(self.entries, self.labels, self.drawing)

    def _question(
        self, numbers: Floats
    ) -> tuple[Floats, tuple[float, ...], Fraction, float, Neighboring]:
        """Return the arguments of `private_quantile`."""
        return numbers, CANDIDATES, SHARE, self.plan.bound_epsilon, self.plan.neighboring
