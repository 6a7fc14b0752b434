"""Fit by private gradient descent on rows of length 1."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from dplasso.base import threads as pool
from dplasso.base.arrays import Floats, Ints
from dplasso.base.progress import rounds_bar
from dplasso.data import ColumnBounds, ColumnMatrix
from dplasso.data.row_maps import needs_bound, rooted, row_view
from dplasso.data.unit_rows import NO_BOUND, Scaling, UnitRows
from dplasso.fitting.auto_rules import auto_nonzeros, roots_pay
from dplasso.fitting.corrected import (
    CorrectedTask,
    HeldTask,
    Solved,
    correction_beside,
    solver_share,
)
from dplasso.fitting.fitted import Fitted
from dplasso.fitting.fitter import Fitter
from dplasso.fitting.gaussian_plan import GaussianPlan
from dplasso.fitting.plan import Plan
from dplasso.fitting.release import Release, gaussian_release
from dplasso.fitting.request import Fact, Request, Sourced
from dplasso.fitting.shards import RowShards
from dplasso.fitting.task import Drawing
from dplasso.mechanisms.random_bits import random_bits
from dplasso.privacy.accountant import Receipt
from dplasso.privacy.statement import fact
from dplasso.solvers.correction import SHARE, MarginSums, Usual
from dplasso.solvers.gradient import (
    GradientPlan,
    GradientSolution,
    gradient_descent,
    plan_descent,
)
from dplasso.solvers.gradient.backend import ThreadBackend
from dplasso.solvers.gradient.plan import NARROW_COLUMNS
from dplasso.solvers.gradient.rows import unit_margins
from dplasso.solvers.gradient.solve import descend

# Margins that a descent usually ends with. Of many columns they are too large, because residuals
# are clipped at a fifth of where they start, and some of them is noise.
USUAL = Usual(margin=4.0, scale=0.65, off=0.25, noise=0.8, shift_off=0.3)
USUAL_OF_NARROW = Usual(margin=4.0, scale=1.2, off=0.35)
# Margins of many columns spread by the first of these if there is no signal, and beyond it by a
# root of n_rows * mu over the second, up to a limit.
SPREAD_OF_NOISE, SIGNAL_OF_SPREAD, MOST_SIGNAL = 1.2, 60.0, 1500.0


class UnitRowFitter(Fitter):
    """Base class of solvers that scale rows to length 1 and choose the length of the weights."""

    scales_rows = True

    def auto_row_map(self, request: Request) -> str:
        """Return "presence" or "sqrt" for wide data, which are mostly text, and "as_is" otherwise.

        What the presence of a word says is learnt from fewer rows than what its weight says, so
        that the root of entries pays where rows are many. And whoever declares a bound other than 1
        has numbers, or counts: the root keeps what they say, and keeps large ones from hiding small
        ones. The columns of narrower data may be numbers, too. Columns with a range are numbers,
        which no map changes, so they do not count. The storage of a matrix, dense or sparse, in
        memory or on disk, is not used: a loader may have chosen it by the data.
        """
        bounds = request.bounds
        assert bounds is not None
        if request.n_features.value - len(bounds.ranged) <= NARROW_COLUMNS:
            return "as_is"
        pays = roots_pay(request.epsilon, request.delta, request.rows_per_unit)
        return "sqrt" if pays or not bounds.others_are_one else "presence"

    def auto_nonzeros(self, request: Request) -> Sourced[int | None]:
        rows, columns = request.rows_per_unit, request.n_features.value
        if columns <= NARROW_COLUMNS:
            return Sourced(None, "public rule: few columns are all kept")
        if request.loss.outputs > 1:
            return Sourced(None, "public rule: several classes need all columns")
        kept = auto_nonzeros(request.epsilon, request.delta, rows, columns)
        if kept == columns:
            return Sourced(None, "public rule: so few rows cannot tell which columns to drop")
        share = f"1 of {columns / kept:.3g} columns"
        return Sourced(kept, f"public rule: {share}, more would gain little")


class Gradient(UnitRowFitter):
    """Private gradient descent: dense and accurate, or cut to a public number of nonzeros."""

    name = "gradient"

    def on_card(self, selection: str) -> bool:
        return True

    def plan(self, request: Request, reason: str, row_map: str) -> "DescentPlan":
        descent = plan_descent(
            request.loss,
            epsilon=request.epsilon,
            delta=request.delta,
            n_rows=request.n_rows.value,
            n_columns=request.n_features.value,
            n_nonzero=request.n_nonzero,
            neighboring=request.neighboring,
            rows_per_person=request.unit.rows,
            account="zcdp" if request.charged else "gaussian",  # a ledger adds up rho
            bound_share=request.bound_share,
            share=solver_share(request),
            numbers=_numbers(request),
        )
        return DescentPlan(
            request=request,
            fitter=self,
            reason=reason,
            row_map=row_map,
            bounds=request.bounds,
            descent=descent,
            correction=correction_beside(request, descent.mu),
        )


def _numbers(request: Request) -> Ints | None:
    """Columns that are centred by their range, beside very many others."""
    if request.bounds is None or request.n_features.value <= NARROW_COLUMNS:
        return None
    ranged = request.bounds.ranged
    return ranged if len(ranged) else None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class UnitRowPlan(Plan):
    """A plan for rows of length 1: the noise does not depend on a bound on entries."""

    def held_matrix(self, X: Any) -> tuple[ColumnMatrix, Scaling]:
        """Return the mapped entries, and how rows are then scaled to length 1."""
        assert self.bounds is not None
        return held_matrix(X, self.row_map, self.bounds)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DescentPlan(GaussianPlan, UnitRowPlan):
    """The plan of a descent on all columns."""

    mechanism = "private gradient descent on rows of length 1"
    descent: GradientPlan

    @property
    def numbers(self) -> GradientPlan:
        return self.descent

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

    def prepare(
        self, X: Any, labels: Floats, drawing: Drawing, weights: Floats | None = None
    ) -> "DescentTask":
        rows = UnitRows.of(*self.held_matrix(X))
        return DescentTask(plan=self, labels=labels, drawing=drawing, rows=rows, weights=weights)

    def over(self, shards: RowShards, drawing: Drawing) -> "ShardedDescentTask":
        return ShardedDescentTask(plan=self, labels=np.empty(0), drawing=drawing, shards=shards)


@dataclass(frozen=True, kw_only=True, eq=False)
class UnitRowTask(CorrectedTask):
    """A fit to rows of length 1."""

    def usual(self, solved: Solved) -> Usual:
        plan = self.plan.correction
        assert plan is not None
        if solved.weights.shape[1] <= NARROW_COLUMNS:
            return USUAL_OF_NARROW
        signal = min(plan.n_rows * plan.mu / math.sqrt(SHARE), MOST_SIGNAL)
        spread = SPREAD_OF_NOISE * math.sqrt(1.0 + signal / SIGNAL_OF_SPREAD)
        return USUAL._replace(spread=spread)


@dataclass(frozen=True, kw_only=True, eq=False)
class DescentTask(UnitRowTask, HeldTask):
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
                device=drawing.device,
            )
        return self.corrected(solved_by(descent, solution))

    def margins(self, solved: Solved, threads: int) -> Floats:
        runs = pool.balanced_runs(self.rows.indptr, threads)
        return unit_margins(self.rows, solved.weights.toarray(), solved.intercepts, runs)


@dataclass(frozen=True, kw_only=True, eq=False)
class ShardedDescentTask(UnitRowTask):
    """One descent on rows that other processes hold, ready to run; labels are theirs, too."""

    plan: DescentPlan
    shards: RowShards

    def run(self) -> Fitted:
        """Run the descent and return the fitted model."""
        descent, drawing = self.plan.descent, self.drawing
        threads = drawing.n_threads or pool.available()
        backend = ThreadBackend(self.shards.descent(descent), descent, threads)
        shown, load = drawing.shows_progress, self.shards.load
        with rounds_bar(descent.steps, shown=shown, beside=load) as progress:
            solution = descend(
                backend,
                descent,
                random_bits(drawing.bits),
                progress=progress,
                noise_of=drawing.noise_of,
            )
        return self.corrected(solved_by(descent, solution))

    def margin_sums(self, solved: Solved, threads: int) -> MarginSums:
        return self.shards.margin_sums(solved)

    def charged(self, charge: Callable[[str], Receipt | None]) -> Receipt | None:
        return self.shards.charged_once(charge)


def solved_by(plan: GradientPlan, solution: GradientSolution) -> Solved:
    """The model that a descent releases."""
    none = np.empty((0, 2 if plan.outputs == 1 else 3), np.int64)
    weights = sp.csr_array(solution.weights)
    return Solved(weights, solution.intercepts, none, plan.steps, own=solution.own_margin)


def held_matrix(X: Any, row_map: str, bounds: ColumnBounds) -> tuple[ColumnMatrix, Scaling]:
    """Return the mapped entries, and how rows are then scaled to length 1."""
    if not needs_bound(row_map) and bounds.ranges is None:
        return X if isinstance(X, ColumnMatrix) else ColumnMatrix.of(X, NO_BOUND), "presence"
    if row_map == "sqrt" and not bounds.differ:
        return rooted(ColumnMatrix.of(X, bounds.largest)), "unit"
    seen, held = row_view(X, row_map, bounds)
    return ColumnMatrix.of(held.apply(seen), held.largest), "unit"
