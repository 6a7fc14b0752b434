"""Fit by Frank-Wolfe over the L1 ball, with one signed coordinate per round."""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from dplasso.base import threads as pool
from dplasso.base.arrays import Floats, Ints
from dplasso.base.progress import rounds_bar
from dplasso.base.wording import ParameterError, Setting
from dplasso.data import ColumnBounds, ColumnMatrix
from dplasso.data.clip_limit import clip_limit
from dplasso.data.row_maps import held_bound, held_bounds, row_view
from dplasso.fitting import auto_rules
from dplasso.fitting.corrected import (
    CorrectedTask,
    HeldTask,
    Solved,
    correction_beside,
    solver_share,
)
from dplasso.fitting.fitted import Fitted
from dplasso.fitting.fitter import Fitter
from dplasso.fitting.plan import UNRELEASED, Plan
from dplasso.fitting.private_bound import CANDIDATES
from dplasso.fitting.release import Release
from dplasso.fitting.request import Fact, Request, Sourced
from dplasso.fitting.shards import ColumnRounds, RowShards
from dplasso.fitting.sparsifier import keep_largest
from dplasso.fitting.task import Drawing
from dplasso.mechanisms.random_bits import random_bits
from dplasso.mechanisms.selection import ON_CARD
from dplasso.privacy.accountant import Receipt
from dplasso.privacy.plan import SelectionPlan, plan_selections
from dplasso.privacy.statement import BY_BOUNDS, BY_RANGES, OF_MAPPED, fact
from dplasso.solvers import Solution, check_range, frank_wolfe
from dplasso.solvers.column_walk import Terms
from dplasso.solvers.correction import Correction, MarginSums, Usual
from dplasso.solvers.exact_margins import MARGIN_GRAINS, exact_margins
from dplasso.solvers.frank_wolfe import solution_of
from dplasso.solvers.lasso import lasso

# A usual margin, over the 2-norm of the weights times the bound on entries.
USUAL_SHARE = 0.7
# The scale that usually corrects margins, and how far it may be off, relative to it.
USUAL_SCALE, SCALE_OFF = 1.8, 0.5
CONVERGED = 1e-5  # duality gap of the mean loss at which the solver without privacy stops


class FrankWolfe(Fitter):
    """Private Frank-Wolfe over the L1 ball; the LASSO itself without privacy."""

    name = "frank_wolfe"
    in_ball = releases_intercept = replays_rounds = True
    stated_bounds = ("radius",)
    # A vertex, a sign and a step, the arrays built from them, and the table that sums them.
    round_bytes = 128

    def on_card(self, selection: str) -> bool:
        return selection in ON_CARD

    def plan(self, request: Request, reason: str, row_map: str) -> "FrankWolfePlan":
        reach, rounds = _reach(request), _rounds(request)
        x_bound = 1.0  # a placeholder until `FrankWolfePlan.at` gets the released bound
        if request.bounds is not None:
            x_bound = held_bounds(row_map, request.bounds).largest
        radius = _radius(request, reach, x_bound)
        plan = FrankWolfePlan(
            request=request,
            fitter=self,
            reason=reason,
            row_map=row_map,
            bounds=request.bounds,
            rounds=rounds,
            reach=reach,
            radius=radius,
            selections=plan_selections(
                request.epsilon,
                request.delta,
                request.neighboring,
                rounds.value or 1,
                x_bound,
                _moved(request, radius, x_bound),
                _count_share(request),
                request.bound_share,
                solver_share(request),
            ),
        )
        spent = math.sqrt(2.0 * plan.selections.selections_rho)
        plan = replace(plan, correction=correction_beside(request, spent))
        if request.bounds is not None:
            check_range(request.loss, radius, x_bound, plan.selections.theta)
        else:
            for candidate in (CANDIDATES[0], CANDIDATES[-1]):  # any candidate may be released
                plan.at(candidate)
        return plan

    def auto_nonzeros(self, request: Request) -> Sourced[int | None]:
        return Sourced(None, "public rule: a round adds one at most")

    def column_bytes(self, outputs: int) -> int:
        return 24

    def course(self, n_released: int, steps: int) -> str:
        if n_released:
            return f"Each of {n_released:,} rounds chose one signed coordinate."
        return f"It was fitted until it converged, in {steps:,} steps."


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FrankWolfePlan(Plan):
    """Rounds and radius of a fit, and the budget of its selections.

    ``reach`` is the largest margin that the rule for the radius allows, or None if the radius was
    given. Until a bound is released, ``radius`` and ``selections.theta`` are those for a bound
    of 1.
    """

    mechanism = "private Frank-Wolfe over the L1 ball"
    rounds: Sourced[int | None]
    reach: float | None
    radius: float
    selections: SelectionPlan

    @property
    def numbers(self) -> SelectionPlan:
        return self.selections

    @property
    def steps(self) -> Sourced[int | None]:
        return self.rounds

    @property
    def solver_rho(self) -> float:
        return self.selections.rho

    @property
    def n_rows(self) -> Sourced[int | None]:
        """Number of rows: not used if radius and rounds were given and nothing is corrected."""
        by_rules = "auto" in (self.request.radius, self.request.max_iter)
        if self.request.n_rows.declared or by_rules or self.correction is not None:
            return super().n_rows
        return Sourced(None, "not used")

    def solver_releases(self) -> tuple[Release, ...]:
        selections = Release(
            f"{self.rounds.value} signed coordinates, one per round",
            "exponential mechanism over all signed coordinates",
            selection=self.request.selection,
            theta=None if self.bounds is None else self.selections.theta,
            bounded_range=self.selections.round_epsilon,
        )
        if not self.selections.count_epsilon:
            return (selections,)
        count = Release(
            "a count of nonzero coefficients",
            "double-geometric noise",
            epsilon=self.selections.count_epsilon,
        )
        return count, selections

    def solver_bounds(self) -> dict[str, Fact]:
        source = "given" if self.reach is None else "public rule"
        if self.bounds is None and self.reach is not None:
            return {"radius": fact(f"{self.reach:g} over x_bound, {UNRELEASED}", source)}
        return {"radius": fact(self.radius, source, self._counted_by_radius())}

    def _counted_by_radius(self) -> str:
        """What the radius bounds the sum of, if not simply that of the coefficients."""
        if self.centres:
            return OF_MAPPED if self.maps_rows else BY_RANGES
        stretched = self.bounds is not None and self.bounds.stretch is not None
        return BY_BOUNDS if stretched and not self.maps_rows else ""

    def solver_facts(self) -> dict[str, Fact]:
        if self.request.sparsifier is not None:
            return {"max_iter": self.rounds.fact()}
        return {"max_iter": self.rounds.fact(), "n_nonzero": self.n_nonzero.fact()}

    def at(self, bound: float) -> "FrankWolfePlan":
        x_bound, request = held_bound(self.row_map, bound), self.request
        radius = _radius(request, self.reach, x_bound)
        selections = self.selections.at(x_bound, _moved(request, radius, x_bound))
        check_range(request.loss, radius, x_bound, selections.theta)
        return replace(self, bounds=ColumnBounds(bound, None), radius=radius, selections=selections)

    def prepare(
        self, X: Any, labels: Floats, drawing: Drawing, weights: Floats | None = None
    ) -> "FrankWolfeTask":
        assert self.bounds is not None
        seen, held = row_view(X, self.row_map, self.bounds)
        matrix = ColumnMatrix.of(held.apply(seen), held.largest)
        if self.request.fit_intercept:
            matrix = matrix.with_constant()
        return FrankWolfeTask(
            plan=self, labels=labels, drawing=drawing, weights=weights, matrix=matrix
        )

    def over(self, shards: RowShards, drawing: Drawing) -> "ShardedFrankWolfeTask":
        self._check_sharded()
        columns = self.request.n_features.value + self.request.fit_intercept
        selections = shards.selections(columns, self.request.loss.outputs)
        rows: dict[str, Any] = {"labels": np.empty(0), "drawing": drawing}
        return ShardedFrankWolfeTask(plan=self, shards=shards, selections=selections, **rows)

    def _check_sharded(self) -> None:
        """Reject what needs all rows in one process."""
        request = self.request
        if not self.private:
            raise ParameterError(
                "{solver} fits shards with privacy only; declare a finite {epsilon}, choose "
                "{gradient}, or read all rows into memory",
                solver=Setting("solver", self.solver),
                gradient=Setting("solver", "gradient"),
            )
        if request.selection != "lazy":
            raise ParameterError(
                "{selection} is for rows in memory, not for shards; leave it out",
                selection=Setting("selection", request.selection),
            )
        if request.sparsifier is not None:
            raise ParameterError(
                "{n_nonzero} cannot be counted privately for shards; give a number, or None"
            )


@dataclass(frozen=True, kw_only=True, eq=False)
class BallTask(CorrectedTask):
    """A fit over the L1 ball, wherever its columns are. Those of an intercept are the last."""

    plan: FrankWolfePlan

    @property
    @abstractmethod
    def x_bound(self) -> float:
        """The bound on the entries that the solver sees."""

    def as_held_by_users(
        self, weights: sp.csr_array, intercepts: Floats
    ) -> tuple[sp.csr_array, Floats]:
        bounds = self.plan.bounds
        assert bounds is not None
        if self.plan.maps_rows:  # rows to predict are mapped, too
            return weights, intercepts
        if self.plan.centres:
            return bounds.uncentred(weights, intercepts)
        return sp.csr_array(bounds.unstretched(weights)), intercepts

    def usual(self, solved: Solved) -> Usual:
        """Rows have few of the columns. The ball, and noise, keep margins too small."""
        length = float(np.linalg.norm(solved.weights.data)) or self.plan.radius
        margin = USUAL_SHARE * length * self.x_bound
        return Usual(margin, USUAL_SCALE, SCALE_OFF, spread=USUAL_SHARE * margin)

    def allowed(self, correction: Correction, solved: Solved) -> Correction:
        """Stay in the ball of a radius that was given."""
        if self.plan.reach is not None:
            return correction
        scale = min(correction.scale, 1.0)
        intercepts = scale * solved.intercepts + correction.shifts
        # Rounded sums may exceed the radius by a hair; then no room is left.
        room = max(self.plan.radius - scale * float(np.sum(np.abs(solved.weights.data))), 0.0)
        length = float(np.sum(np.abs(intercepts))) / clip_limit(self.x_bound)
        if length > room:
            intercepts = intercepts * (room / length)
        return correction._replace(scale=scale, shifts=intercepts - scale * solved.intercepts)

    def vertices(self, solution: Solution) -> Ints:
        """The released vertices: column, sign of the step and, of several classes, the class."""
        moves = [solution.columns, -solution.signs.astype(np.int64)]
        if self.plan.request.loss.outputs > 1:
            moves.append(solution.classes)
        return np.stack(moves, axis=1)


@dataclass(frozen=True, kw_only=True, eq=False)
class FrankWolfeTask(BallTask, HeldTask):
    """One fit to rows in memory, ready to run."""

    matrix: ColumnMatrix

    @property
    def x_bound(self) -> float:
        return self.matrix.x_bound

    def run(self) -> Fitted:
        """Run the rounds, or converge without privacy; then drop coefficients if requested."""
        rounds = self.plan.rounds.value
        keep = self.count_to_keep()
        found = self.converge() if rounds is None else self.walk(rounds)
        weights = found.weights if keep is None else keep_largest(found.weights, keep)
        return self.corrected(replace(found, weights=weights))

    def margins(self, solved: Solved, threads: int) -> Floats:
        matrix, columns = self.matrix, np.unique(solved.weights.indices).astype(np.int64)
        weights = solved.weights[:, columns].toarray()
        # The columns are read where they are: copies of them would take memory by their entries.
        lengths = matrix.indptr[columns + 1] - matrix.indptr[columns]
        runs = pool.balanced_runs(np.append(0, np.cumsum(lengths, dtype=np.int64)), threads)
        return exact_margins(
            (matrix.indptr, matrix.indices, matrix.values),
            np.ones(matrix.shape[0]),
            MARGIN_GRAINS / self.usual(solved).margin,
            weights,
            solved.intercepts,
            runs,
            columns,
        )

    @property
    def terms(self) -> Terms:
        """The public numbers of the rounds."""
        return Terms(
            loss=self.plan.request.loss,
            radius=self.plan.radius,
            theta=self.plan.selections.theta,
            rounds=self.plan.rounds.value or 0,
            x_bound=self.matrix.x_bound,
            columns=self.matrix.shape[1],
        )

    def count_to_keep(self) -> int | None:
        """Number of coefficients to keep: a public number, or a private count."""
        request = self.plan.request
        if request.sparsifier is None:
            return request.n_nonzero
        return request.sparsifier.keep(
            self.matrix,
            self.labels,
            request.loss,
            self.plan.radius,
            size=request.n_features.value * request.loss.outputs,
            epsilon=self.plan.selections.count_epsilon,
            generator=self.drawing.bits.generator,
            weights=self.weights,
        )

    def walk(self, rounds: int) -> Solved:
        """Run Frank-Wolfe, and split its weights into coefficients and intercepts."""
        solution = self.solution(rounds)
        return Solved(*split(self, solution.weights), self.vertices(solution), rounds)

    def solution(self, rounds: int) -> Solution:
        """Run private Frank-Wolfe, or greedy Frank-Wolfe without privacy."""
        request, drawing = self.plan.request, self.drawing
        with rounds_bar(rounds, shown=drawing.shows_progress) as progress:
            return frank_wolfe(
                self.matrix,
                self.encoded_labels,
                loss=request.loss,
                radius=self.plan.radius,
                rounds=rounds,
                theta=self.plan.selections.theta,
                selection=request.selection,
                step="decreasing" if self.plan.private else "search",
                x_bound=self.matrix.x_bound,
                generator=drawing.bits,
                n_threads=drawing.n_threads,
                progress=progress,
                device=drawing.device if self.plan.fitter.on_card(request.selection) else "cpu",
            )

    def converge(self) -> Solved:
        """Compute the optimum without privacy, which releases no vertices."""
        loss = self.plan.request.loss
        solution = lasso(
            self.matrix,
            self.labels,
            loss,
            self.plan.radius,
            gap=CONVERGED,
            weights=self.weights,
        )
        released = np.empty((0, 3 if loss.outputs > 1 else 2), np.int64)
        weights = sp.csr_array(solution.weights.T)
        return Solved(*split(self, weights), released, solution.steps)


@dataclass(frozen=True, kw_only=True, eq=False)
class ShardedFrankWolfeTask(BallTask):
    """One fit to rows that other processes hold, ready to run; labels are theirs, too."""

    shards: RowShards
    selections: ColumnRounds

    @property
    def x_bound(self) -> float:
        assert self.plan.bounds is not None
        return held_bounds(self.plan.row_map, self.plan.bounds).largest

    def arrange(self) -> None:
        self.selections.share()

    def run(self) -> Fitted:
        """Run the rounds; then drop coefficients if requested."""
        rounds, request, drawing = self.plan.rounds.value, self.plan.request, self.drawing
        assert rounds is not None
        load = self.shards.load
        with rounds_bar(rounds, shown=drawing.shows_progress, beside=load) as progress:
            released = self.selections.run(rounds, random_bits(drawing.bits), progress)
        self.selections.close()
        columns = request.n_features.value + request.fit_intercept
        solution = solution_of(request.loss, self.plan.radius, columns, *released)
        weights, intercepts = split(self, solution.weights)
        if request.n_nonzero is not None:
            weights = keep_largest(weights, request.n_nonzero)
        found = Solved(weights, intercepts, self.vertices(solution), rounds)
        return self.corrected(found)

    def margin_sums(self, solved: Solved, threads: int) -> MarginSums:
        return self.shards.margin_sums(solved)

    def charged(self, charge: Callable[[str], Receipt | None]) -> Receipt | None:
        return self.shards.charged_once(charge)


def split(task: BallTask, weights: sp.csr_array) -> tuple[sp.csr_array, Floats]:
    """Split weights into those of the columns and the intercepts, in units of the labels."""
    request, columns = task.plan.request, task.plan.request.n_features.value
    if not request.fit_intercept:
        return weights, np.zeros(request.loss.outputs)
    # By hand: slices of a sparse matrix would take longer than the rounds of a small fit.
    outputs, last = weights.shape[0], weights.indices == columns
    owner = np.repeat(np.arange(outputs), np.diff(weights.indptr))
    intercepts = np.zeros(outputs)
    intercepts[owner[last]] = weights.data[last] * clip_limit(task.x_bound)
    starts = np.append(0, np.cumsum(np.bincount(owner[~last], minlength=outputs)))
    kept = weights.data[~last], weights.indices[~last], starts
    return sp.csr_array(kept, shape=(outputs, columns)), intercepts


def _reach(request: Request) -> float | None:
    """Return the largest margin that the rule allows, or None if the radius was given."""
    if request.radius != "auto":
        return None
    epsilon, delta, rows, columns, outputs = _facts(request)
    if _rounds(request).value is None:
        reach = auto_rules.converged_reach(rows, columns, outputs)
    else:
        reach = auto_rules.auto_reach(epsilon, delta, rows, columns, outputs)
    return reach * request.margin_unit


def _radius(request: Request, reach: float | None, x_bound: float) -> float:
    return float(request.radius) if reach is None else reach / x_bound


def _moved(request: Request, radius: float, x_bound: float) -> float:
    """Return how far one unit moves a score, per unit of an entry.

    A row does so by the bound on its gradient at most, and a person by the sum of the rows' weights
    times that.
    """
    return request.loss.gradient_bound(radius, x_bound) * request.unit.rows


def _rounds(request: Request) -> Sourced[int | None]:
    if request.max_iter != "auto":
        return Sourced(int(request.max_iter), "given")
    if not request.private:
        return Sourced(None, "until converged")
    return Sourced(auto_rules.auto_rounds(*_facts(request)), "public rule")


def _facts(request: Request) -> tuple[float, float, float, int, int]:
    rows, columns = request.rows_per_unit, request.n_features.value
    return request.epsilon, request.delta, rows, columns, request.loss.outputs


def _count_share(request: Request) -> float:
    """Return the budget share of a private count, after checking the bounds of the count."""
    if request.sparsifier is None:
        return 0.0
    request.sparsifier.bounds(request.n_features.value * request.loss.outputs)
    return request.sparsifier.budget_share
