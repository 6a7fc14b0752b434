"""Fit a few columns: select them first, then run a descent on these columns only."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dplasso.base import threads as pool
from dplasso.base.arrays import Floats, Ints
from dplasso.base.progress import rounds_bar
from dplasso.data import ColumnMatrix
from dplasso.data.unit_rows import Scaling, UnitRows
from dplasso.fitting.corrected import HeldTask, Solved, correction_beside, solver_share
from dplasso.fitting.fitted import Fitted
from dplasso.fitting.gradient import UnitRowFitter, UnitRowPlan, UnitRowTask
from dplasso.fitting.release import Release, gaussian_release
from dplasso.fitting.request import Fact, Request, Sourced
from dplasso.fitting.task import Drawing
from dplasso.losses.encoded import EncodedLabels
from dplasso.privacy.statement import fact
from dplasso.solvers.few import Chosen, ColumnScores, FewPlan, choose, plan_few, refit
from dplasso.solvers.gradient.rows import unit_margins


class Select(UnitRowFitter):
    """Select columns, then run private gradient descent; only "auto" can choose this solver."""

    name = "select"
    named_by_users = False

    def plan(self, request: Request, reason: str, row_map: str) -> "SelectPlan":
        assert request.n_nonzero is not None
        few = plan_few(
            request.loss,
            epsilon=request.epsilon,
            delta=request.delta,
            n_rows=request.n_rows.value,
            n_chosen=request.n_nonzero,
            neighboring=request.neighboring,
            rows_per_person=request.unit.rows,
            bound_share=request.bound_share,
            share=solver_share(request),
        )
        spent = math.sqrt(2.0 * few.rho - few.bound_epsilon**2 / 4.0)
        return SelectPlan(
            request=request,
            fitter=self,
            reason=reason,
            row_map=row_map,
            bounds=request.bounds,
            few=few,
            correction=correction_beside(request, spent),
        )

    def chosen_columns(self, released: Ints) -> Ints | None:
        return released[:, 0]

    def course(self, n_released: int, steps: int) -> str:
        return (
            f"The columns of its {n_released:,} coefficients were chosen first, and then "
            f"fitted by {steps:,} steps."
        )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SelectPlan(UnitRowPlan):
    """The plan of a selection, and of the descent on the selected columns."""

    mechanism = "a choice of columns, then private gradient descent on rows of length 1"
    few: FewPlan

    @property
    def numbers(self) -> FewPlan:
        return self.few

    @property
    def steps(self) -> Sourced[int | None]:
        return Sourced(self.few.refit.steps, "public rule")

    @property
    def solver_rho(self) -> float:
        return self.few.rho

    def solver_releases(self) -> tuple[Release, ...]:
        few, descent = self.few, self.few.refit
        return (
            gaussian_release("the mean of the labels", few.centre_multiplier),
            Release(
                f"{few.n_chosen} columns with their signs, each",
                "exponential mechanism over all signed columns not drawn before",
                bounded_range=few.draw_epsilon,
            ),
            gaussian_release("the mean of the rows in these columns", descent.mass_multiplier),
            gaussian_release(
                f"{descent.steps} sums of row gradients, each", descent.step_multiplier
            ),
        )

    def solver_bounds(self) -> dict[str, Fact]:
        return {"residual": fact(self.few.refit.clip, "public rule")}

    def prepare(
        self, X: Any, labels: Floats, drawing: Drawing, weights: Floats | None = None
    ) -> "SelectTask":
        matrix, scaling = self.held_matrix(X)
        rows, loss = UnitRows.of(matrix, scaling), self.request.loss
        return SelectTask(
            plan=self,
            labels=labels,
            drawing=drawing,
            weights=weights,
            matrix=matrix,
            scaling=scaling,
            scores=ColumnScores.of(rows, EncodedLabels(labels, weights), loss, self.few),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class SelectTask(UnitRowTask, HeldTask):
    """One fit, ready to run."""

    plan: SelectPlan
    matrix: ColumnMatrix
    scaling: Scaling
    scores: ColumnScores

    def run(self) -> Fitted:
        """Select columns, fit them, and return the fitted model."""
        return self.refit(self.choose())

    def choose(self) -> Chosen:
        """Select the columns, which is the first part of the fit."""
        drawing = self.drawing
        return choose(self.scores, self.plan.few, drawing.bits, drawing.n_threads, drawing.noise_of)

    def refit(self, chosen: Chosen) -> Fitted:
        """Fit the selected columns, and correct the result: the rest of the fit."""
        return self.corrected(self.solved(chosen))

    def solved(self, chosen: Chosen) -> Solved:
        """Fit the selected columns, which is the second part."""
        drawing, steps = self.drawing, self.plan.few.refit.steps
        with rounds_bar(steps, shown=drawing.shows_progress) as progress:
            solution = refit(
                self.matrix,
                self.encoded_labels,
                chosen,
                loss=self.plan.request.loss,
                plan=self.plan.few,
                scaling=self.scaling,
                bits=drawing.bits,
                n_threads=drawing.n_threads,
                progress=progress,
                noise_of=drawing.noise_of,
            )
        released = np.stack([chosen.columns, chosen.signs], axis=1)
        return Solved(solution.weights, solution.intercepts, released, steps)

    def margins(self, solved: Solved, threads: int) -> Floats:
        """Margins of rows that have length 1 in the selected columns, as in the descent."""
        columns = np.sort(solved.released[:, 0])
        rows = UnitRows.of(self.matrix.picked(columns), self.scaling)
        weights = solved.weights[:, columns].toarray()
        runs = pool.balanced_runs(rows.indptr, threads)
        return unit_margins(rows, weights, solved.intercepts, runs)
