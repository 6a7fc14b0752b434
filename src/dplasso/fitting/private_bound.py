"""``x_bound="private"`` releases the bound on entries for a share of the budget."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import scipy.sparse as sp

from dplasso.base.arrays import Floats
from dplasso.base.wording import ParameterError
from dplasso.data import ColumnMatrix
from dplasso.data.row_medians import entries_of, medians_of_all
from dplasso.fitting.plan import Plan
from dplasso.fitting.task import BoundedTask, Drawing, Task
from dplasso.mechanisms.private_quantile import exponents_of, losses_of, private_quantile

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
    def of(
        cls,
        plan: Plan,
        X: Any,
        labels: Floats,
        drawing: Drawing,
        weights: Floats | None = None,
    ) -> "UnboundedTask":
        """Check rows that have no bound yet."""
        if isinstance(X, ColumnMatrix) and X.stretch is not None:
            raise ParameterError(
                "a released bound is one for all columns, and X has one for each; pass these as "
                "{x_bound}"
            )
        return cls(
            plan=plan, labels=labels, drawing=drawing, entries=entries_of(X), weights=weights
        )

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
        numbers, weights = self._numbers()
        if math.isinf(self.plan.bound_epsilon):
            losses = losses_of(numbers, CANDIDATES, SHARE, weights)
            return CANDIDATES[losses.index(min(losses))]
        generator = self.drawing.bits.generator
        return CANDIDATES[private_quantile(numbers, generator=generator, **self._question(weights))]

    def exponents(self) -> list[Fraction]:
        """Negative log-probability of each candidate, up to a constant; used by audits."""
        numbers, weights = self._numbers()
        return exponents_of(numbers, **self._question(weights))

    def at(self, bound: float) -> BoundedTask:
        """Return the fit with the released bound."""
        return self.plan.at(bound).prepare(self.entries, self.labels, self.drawing, self.weights)

    def _numbers(self) -> tuple[Floats, Floats | None]:
        """Return the typical entry of each row that has entries, and the weights of these rows."""
        medians = medians_of_all(self.entries)
        filled = medians > 0.0
        return medians[filled], None if self.weights is None else self.weights[filled]

    def _question(self, weights: Floats | None) -> dict[str, Any]:
        """Return the other arguments of `private_quantile`."""
        return {
            "candidates": CANDIDATES,
            "share": SHARE,
            "epsilon": self.plan.bound_epsilon,
            "neighboring": self.plan.neighboring,
            "weights": weights,
            "rows_per_person": self.plan.request.unit.rows,
        }
