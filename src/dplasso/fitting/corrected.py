"""Fits whose probabilities are corrected after the solver, for a share of the budget."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import scipy.sparse as sp

from dplasso.base import threads as pool
from dplasso.base.arrays import Floats, Ints
from dplasso.fitting.fitted import Fitted
from dplasso.fitting.request import Request
from dplasso.fitting.task import BoundedTask
from dplasso.losses.base import Probabilities
from dplasso.solvers.correction import (
    SHARE,
    Correction,
    CorrectionPlan,
    MarginRows,
    Usual,
    correct,
    plan_correction,
)


def solver_share(request: Request) -> float:
    """Share of mu^2, or of rho after a bound on entries, that the solver gets."""
    corrected = request.private and isinstance(request.loss, Probabilities)
    return 1.0 - SHARE if corrected else 1.0


def correction_beside(request: Request, mu: float) -> CorrectionPlan | None:
    """Plan the correction for the share that `solver_share` leaves; ``mu`` is the solver's."""
    return plan_correction(
        request.loss,
        mu=mu,
        n_rows=request.n_rows.value,
        neighboring=request.neighboring,
        moves_intercept=request.fit_intercept,
    )


class Solved(NamedTuple):
    """The model that a solver releases, for the rows that it holds."""

    weights: sp.csr_array  # outputs x columns
    intercepts: Floats
    released: Ints
    steps: int


@dataclass(frozen=True, kw_only=True, eq=False)
class CorrectedTask(BoundedTask):
    """A fit whose solver knows nothing of the correction."""

    @abstractmethod
    def margins(self, solved: Solved, threads: int) -> Floats:
        """Margins of the rows, outputs x rows.

        Formal guarantees
        -----------------
        A row's margins are a function of that row, public numbers and ``solved`` alone, to the last
        bit: not of other rows, of the number of threads, or of how rows are stored.
        """

    @abstractmethod
    def usual(self, solved: Solved) -> Usual:
        """Usual margins and the scale that they need, from public numbers and releases alone."""

    def allowed(self, correction: Correction, solved: Solved) -> Correction:
        """Return the correction, reduced to what the solver's promises allow."""
        return correction

    def as_held_by_users(self, weights: sp.csr_array) -> sp.csr_array:
        """Return weights for rows as users pass them."""
        return weights

    def corrected(self, solved: Solved) -> Fitted:
        """Correct the solved model if the plan says so, and return the fitted model."""
        plan, drawing = self.plan.correction, self.drawing
        weights, intercepts, found = solved.weights, solved.intercepts, None
        if plan is not None:
            threads = drawing.n_threads or pool.available()
            rows = MarginRows(self.margins(solved, threads), self.labels, threads)
            usual = self.usual(solved)
            found = correct(rows, plan, usual, drawing.bits, threads, drawing.noise_of)
            found = self.allowed(found, solved)
            weights = sp.csr_array(weights * found.scale)
            intercepts = intercepts * found.scale + found.shifts
        weights = self.as_held_by_users(weights)
        return self.plan.fitted(weights, intercepts, solved.released, solved.steps, found)
