"""Fit by private gradient descent on rows of length 1."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from dplasso.base.arrays import Floats
from dplasso.base.progress import rounds_bar
from dplasso.data import ColumnBounds, ColumnMatrix
from dplasso.data.row_maps import needs_bound, row_view
from dplasso.data.unit_rows import NO_BOUND, Scaling, UnitRows
from dplasso.fitting.fitted import Fitted
from dplasso.fitting.fitter import Fitter
from dplasso.fitting.plan import Plan
from dplasso.fitting.release import Release, gaussian_release
from dplasso.fitting.request import Fact, Request, Sourced
from dplasso.fitting.task import BoundedTask, Drawing
from dplasso.privacy.events import Event
from dplasso.privacy.statement import fact
from dplasso.solvers.gradient import GradientPlan, gradient_descent, plan_descent
from dplasso.solvers.gradient.plan import NARROW_COLUMNS


class UnitRowFitter(Fitter):
    """Base class of solvers that scale rows to length 1 and choose the length of the weights."""

    scales_rows = True

    def auto_row_map(self, n_features: int) -> str:
        """Return "presence" for wide data, which are mostly text, and "as_is" otherwise.

        In text, the presence of a word is more informative than its count. The columns of narrower
        data may be numbers, whose information "presence" would remove. The storage of a matrix,
        dense or sparse, in memory or on disk, is not used: a loader may have chosen it by the data.
        """
        return "presence" if n_features > NARROW_COLUMNS else "as_is"

    def column_bytes(self, outputs: int) -> int:
        return 96 * outputs


class Gradient(UnitRowFitter):
    """Private gradient descent: dense and accurate, or cut to a public number of nonzeros."""

    name = "gradient"

    def plan(self, request: Request, reason: str, row_map: str) -> "DescentPlan":
        descent = plan_descent(
            request.loss,
            epsilon=request.epsilon,
            delta=request.delta,
            n_rows=request.n_rows.value,
            n_columns=request.n_features.value,
            n_nonzero=request.n_nonzero,
            neighboring=request.neighboring,
            account="zcdp" if request.charged else "gaussian",  # a ledger adds up rho
            bound_share=request.bound_share,
        )
        return DescentPlan(
            request=request,
            fitter=self,
            reason=reason,
            row_map=row_map,
            bounds=request.bounds,
            descent=descent,
        )

    def course(self, n_released: int, steps: int) -> str:
        return f"It was fitted by {steps:,} steps; no rounds to show."


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class UnitRowPlan(Plan):
    """A plan for rows of length 1: the noise does not depend on a bound on entries."""

    def at(self, bound: float) -> "UnitRowPlan":
        return replace(self, bounds=ColumnBounds(bound, None))

    def held_matrix(self, X: Any) -> tuple[ColumnMatrix, Scaling]:
        """Return the mapped entries, and how rows are then scaled to length 1."""
        assert self.bounds is not None
        return held_matrix(X, self.row_map, self.bounds)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DescentPlan(UnitRowPlan):
    """The plan of a descent on all columns."""

    mechanism = "private gradient descent on rows of length 1"
    descent: GradientPlan

    @property
    def event(self) -> Event:
        return self.descent.event

    @property
    def steps(self) -> Sourced[int | None]:
        return Sourced(self.descent.steps, "public rule")

    @property
    def rho(self) -> float:
        return 0.5 * self.descent.mu**2 + self.descent.bound_epsilon**2 / 8.0

    @property
    def mu(self) -> float | None:
        # If a bound on entries is released, not all releases are Gaussian.
        return None if self.bound_epsilon else self.descent.mu

    @property
    def bound_epsilon(self) -> float:
        return self.descent.bound_epsilon

    def solver_releases(self) -> tuple[Release, ...]:
        descent = self.descent
        return (
            gaussian_release("the mean of the rows", descent.mass_multiplier),
            gaussian_release(
                f"{descent.steps} sums of row gradients, each", descent.step_multiplier
            ),
        )

    def solver_bounds(self) -> dict[str, Fact]:
        return {"residual": fact(self.descent.clip, "public rule")}

    def solver_facts(self) -> dict[str, Fact]:
        kept = self.request.n_nonzero
        return {
            "steps": self.steps.fact(),
            **({} if kept is None else {"n_nonzero": fact(kept, "given")}),
        }

    def prepare(self, X: Any, labels: Floats, drawing: Drawing) -> "DescentTask":
        rows = UnitRows.of(*self.held_matrix(X))
        return DescentTask(plan=self, labels=labels, drawing=drawing, rows=rows)


@dataclass(frozen=True, kw_only=True, eq=False)
class DescentTask(BoundedTask):
    """One descent, ready to run."""

    plan: DescentPlan
    rows: UnitRows

    def run(self) -> Fitted:
        """Run the descent and return the fitted model."""
        descent, drawing = self.plan.descent, self.drawing
        with rounds_bar(descent.steps, shown=drawing.shows_progress) as progress:
            solution = gradient_descent(
                self.rows,
                self.encoded_labels,
                loss=self.plan.request.loss,
                plan=descent,
                generator=drawing.bits,
                n_threads=drawing.n_threads,
                progress=progress,
                noise_of=drawing.noise_of,
            )
        none = np.empty((0, 2 if descent.outputs == 1 else 3), np.int64)
        weights = sp.csr_array(solution.weights)
        return self.plan.fitted(weights, solution.intercepts, none, descent.steps)


def held_matrix(X: Any, row_map: str, bounds: ColumnBounds) -> tuple[ColumnMatrix, Scaling]:
    """Return the mapped entries, and how rows are then scaled to length 1."""
    if not needs_bound(row_map):
        return X if isinstance(X, ColumnMatrix) else ColumnMatrix.of(X, NO_BOUND), "presence"
    seen, held = row_view(X, row_map, bounds)
    return ColumnMatrix.of(held.apply(seen), held.largest), "unit"
