"""Fits whose probabilities are corrected after the solver, for a share of the budget."""

from abc import abstractmethod
from dataclasses import dataclass, field, replace

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
    CountedRows,
    MarginRows,
    MarginSums,
    Usual,
    correct,
    counted_rows,
    plan_correction,
    without_own,
)


def solver_share(request: Request) -> float:
    """Share of mu^2, or of rho after a bound on entries, that the solver gets."""
    corrected = request.private and isinstance(request.loss, Probabilities)
    return 1.0 - SHARE if corrected else 1.0


def correction_beside(
    request: Request, mu: float, known_scale: bool = False
) -> CorrectionPlan | None:
    """Plan the correction for the share that `solver_share` leaves; ``mu`` is the solver's.

    ``known_scale`` is whether the solver's margins of more than two classes have a usual scale.
    """
    return plan_correction(
        request.loss,
        mu=mu,
        n_rows=request.n_rows.value,
        neighboring=request.neighboring,
        moves_intercept=request.fit_intercept,
        rows_per_person=request.unit.rows,
        known_scale=known_scale,
    )


@dataclass(frozen=True, eq=False)
class Solved:
    """The model that a solver releases, for the rows that it holds.

    ``own`` is what a row of the fit has added to its own margin (`without_own`), if that counts.
    """

    weights: sp.csr_array  # outputs x columns
    intercepts: Floats
    released: Ints
    steps: int
    own: float = field(default=0.0, kw_only=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class CorrectedTask(BoundedTask):
    """A fit whose solver knows nothing of the correction."""

    @abstractmethod
    def margin_sums(self, solved: Solved, threads: int) -> MarginSums:
        """Exact sums over the margins that the solved model gives the rows."""

    @abstractmethod
    def usual(self, solved: Solved) -> Usual:
        """Usual margins and the scale that they need, from public numbers and releases alone."""

    def allowed(self, correction: Correction, solved: Solved) -> Correction:
        """Return the correction, reduced to what the solver's promises allow."""
        return correction

    def as_held_by_users(
        self, weights: sp.csr_array, intercepts: Floats
    ) -> tuple[sp.csr_array, Floats]:
        """Return weights and intercepts for rows as users pass them."""
        return weights, intercepts

    def corrected(self, solved: Solved) -> Fitted:
        """Correct the solved model if the plan says so, and return the fitted model."""
        plan, drawing = self.plan.correction, self.drawing
        weights, intercepts, found = solved.weights, solved.intercepts, None
        releases: list[Ints] = []
        if plan is not None:
            threads = drawing.n_threads or pool.available()
            rows, usual = self.margin_sums(solved, threads), self.usual(solved)
            found = correct(rows, plan, usual, drawing.bits, threads, drawing.noise_of, releases)
            found = self.allowed(found, solved)
            weights = sp.csr_array(weights * found.scale)
            intercepts = intercepts * found.scale + found.shifts
        weights, intercepts = self.as_held_by_users(weights, intercepts)
        fitted = self.plan.fitted(weights, intercepts, solved.released, solved.steps, found)
        hidden = found is not None and found.only_noise
        return replace(fitted, only_noise=hidden, miscounted=self._miscounted(releases))

    def _miscounted(self, releases: list[Ints]) -> CountedRows | None:
        """The number of rows by the released counts, if the one that was planned with is far off.

        Rows that count less than 1, because of their class or their person, do not add up to it.
        """
        plan, request = self.plan.correction, self.plan.request
        if plan is None or request.weighs_classes or request.unit.rows > 1:
            return None
        counted = counted_rows(plan, releases[0])
        return counted if counted.contradicts(plan.n_rows) else None


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldTask(CorrectedTask):
    """A corrected fit whose rows are in memory."""

    @abstractmethod
    def margins(self, solved: Solved, threads: int) -> Floats:
        """Margins of the rows, outputs x rows.

        Formal guarantees
        -----------------
        A row's margins are a function of that row, public numbers and ``solved`` alone, to the last
        bit: not of other rows, of the number of threads, or of how rows are stored.
        """

    def margin_sums(self, solved: Solved, threads: int) -> MarginRows:
        margins = without_own(self.margins(solved, threads), self.labels, solved.own)
        return MarginRows(margins, self.labels, threads, self.weights)
