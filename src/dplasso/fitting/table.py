"""Fit a table: narrow and dense data, numbers and categories with public ranges."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso.base import threads as pool
from dplasso.base.arrays import Floats, Ints
from dplasso.base.progress import rounds_bar
from dplasso.base.wording import ParameterError
from dplasso.data import ColumnBounds
from dplasso.data.row_maps import held_bounds, row_view
from dplasso.data.table_cells import table_cells
from dplasso.data.wide_cells import WideCells
from dplasso.fitting.auto_rules import table_part
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
from dplasso.fitting.private_bound import CANDIDATES
from dplasso.fitting.release import Release, gaussian_release
from dplasso.fitting.request import Fact, Request, Sourced
from dplasso.fitting.shards import RowShards
from dplasso.fitting.task import Drawing
from dplasso.mechanisms.random_bits import random_bits
from dplasso.privacy.accountant import Receipt
from dplasso.privacy.statement import fact
from dplasso.solvers.correction import MarginSums, Usual
from dplasso.solvers.table import (
    TablePlan,
    TableSolution,
    fit_table,
    plan_table,
    table_margins,
)
from dplasso.solvers.table.solve import ask

# Smallest bound on labels, and largest one per unit of an entry. Slopes may be many times that
# where columns fill a small part of their range.
SMALLEST_LABEL, MOST_PER_ENTRY = 1e-290, 1e280
# Matrices of all pairs of columns that are held at a time, besides one per output.
MATRICES = 12
# Margins are slightly too large, because residuals are clipped. Of two classes they are so by an
# amount that differs among tables; of more classes the products of columns predict their length.
# An intercept starts from the released share of a class, so it may be that of a very rare one.
USUAL = Usual(margin=4.0, scale=0.9, off=0.25, spread=2.5, shift_off=0.2, farthest=7.0)
USUAL_SCALE_OF_CLASSES, SCALE_OFF_OF_CLASSES, SHIFT_OFF_OF_CLASSES = 0.8, 0.15, 0.3


class Table(Fitter):
    """Standardise columns privately, precondition once, and descend."""

    name = "table"
    reads_ranges = True

    def plan(self, request: Request, reason: str, row_map: str) -> "TableFitPlan":
        _check_units(request)
        narrow, n_features = (
            table_part(request.bounds, request.n_features.value),
            request.n_features,
        )
        n_columns = n_features.value if narrow is None else len(narrow)
        table = plan_table(
            request.loss,
            epsilon=request.epsilon,
            delta=request.delta,
            n_rows=request.n_rows.value,
            n_columns=n_columns,
            indicators=_indicators(request, row_map, narrow),
            n_wide=n_features.value - n_columns,
            n_nonzero=request.n_nonzero,
            neighboring=request.neighboring,
            rows_per_person=request.unit.rows,
            counts_weights=request.counts_weights,
            account="zcdp" if request.charged else "gaussian",  # a ledger adds up rho
            bound_share=request.bound_share,
            share=solver_share(request),
        )
        return TableFitPlan(
            request=request,
            fitter=self,
            reason=reason,
            row_map=row_map,
            bounds=request.bounds,
            table=table,
            narrow=np.arange(n_columns) if narrow is None else narrow,
            correction=correction_beside(request, table.mu, known_scale=True),
        )

    def on_card(self, selection: str) -> bool:
        return True

    def auto_nonzeros(self, request: Request) -> Sourced[int | None]:
        rule = "public rule: a table cuts none of its columns; some may still be 0"
        if table_part(request.bounds, request.n_features.value) is not None:
            rule += ", and of the wide ones those that were found to be frequent"
        return Sourced(None, rule)


def _indicators(request: Request, row_map: str, narrow: Ints | None) -> list[int]:
    """Places of the declared indicators among the columns of the table; maps make all alike."""
    if request.bounds is None or row_map != "as_is":
        return []
    found = request.bounds.indicators
    places: list[int] = (found if narrow is None else np.searchsorted(narrow, found)).tolist()
    return places


def _check_units(request: Request) -> None:
    """Reject labels in units in which coefficients could not be written as numbers."""
    if not request.loss.of_numbers:
        return
    y_bound, narrowest = float(getattr(request.loss, "y_bound", 1.0)), 2.0 * CANDIDATES[0]
    if request.bounds is not None:
        low, high = request.bounds.ends(request.n_features.value)
        far = np.maximum(np.maximum(np.abs(low), np.abs(high)), 1.0)
        with np.errstate(over="ignore"):
            narrowest = float(np.min((high - low) / far, where=high > low, initial=1.0))
    if y_bound < SMALLEST_LABEL or y_bound > MOST_PER_ENTRY * min(narrowest, 1.0):
        raise ParameterError(
            "{y_bound} is too small for a number, or too large beside the narrowest range of "
            "{x_bound}; rescale the labels or X first"
        )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TableFitPlan(GaussianPlan):
    """The plan of a fit to a table."""

    mechanism = "private preconditioned descent on standardised columns"
    table: TablePlan
    narrow: Ints  # columns of the table; the others are wide

    @property
    def numbers(self) -> TablePlan:
        return self.table

    def solver_releases(self) -> tuple[Release, ...]:
        table = self.table
        labels = "mean and spread of the labels" if table.pace.of_numbers else "counts of classes"
        cells = "mean and mean square of all cells"
        found = [
            (
                f"{cells}, and sum of row weights" if table.counts_weights else cells,
                table.cell_multiplier,
            ),
            ("means of the columns", table.mean_multiplier),
            ("spreads of the columns", table.spread_multiplier),
            (labels, table.label_multiplier),
        ]
        if table.has_wide:
            found.insert(0, ("presences of the wide columns", table.presence_multiplier))
        if table.has_products:
            found.append(("products of all pairs of columns", table.product_multiplier))
        found.append((f"{table.steps} sums of row gradients, each", table.step_multiplier))
        if table.scale_steps:
            count = len(table.scale_steps)
            found.append((f"{count} sizes of residuals, each", table.scale_multiplier))
        return tuple(gaussian_release(what, multiplier) for what, multiplier in found)

    def solver_bounds(self) -> dict[str, Fact]:
        of = "times the spread of the labels, at first" if self.table.pace.of_numbers else ""
        return {"residual": fact(self.table.cut, "public rule", of)}

    def solver_facts(self) -> dict[str, Fact]:
        wide = Sourced(self.table.n_wide, "one bound instead of a range; kept if frequent").fact()
        return super().solver_facts() | ({"wide_columns": wide} if self.table.n_wide else {})

    def check_memory(self, found_rows: int | None = None) -> None:
        super().check_memory(found_rows)
        # Cells, standardised rows, margins, and matrices of all pairs of columns with the work
        # space of their eigenvalues. Wide columns count if they may be taken up, which the data
        # decide.
        columns = self.table.n_columns + self.table.most_taken
        of_matrices = 8 * (MATRICES + self.table.outputs) * (columns + 1) ** 2
        of_row = 12 * columns + 8 * self.table.outputs
        self.check_rows(of_row, found_rows, f"a table of {columns:,} columns", of_matrices)

    def prepare(
        self, X: Any, labels: Floats, drawing: Drawing, weights: Floats | None = None
    ) -> "TableTask":
        assert self.bounds is not None
        seen, held = X, self.bounds
        if self.row_map != "as_is":
            seen, held = row_view(X, self.row_map, self.bounds)
        cells = table_cells(seen, held, self.narrow)
        wide = WideCells.of(seen, held, self.wide) if self.table.n_wide else None
        return TableTask(
            plan=self,
            labels=labels,
            drawing=drawing,
            weights=weights,
            cells=cells,
            held=held,
            wide=wide,
        )

    def over(self, shards: RowShards, drawing: Drawing) -> "ShardedTableTask":
        assert self.bounds is not None
        held = held_bounds(self.row_map, self.bounds) if self.row_map != "as_is" else self.bounds
        return ShardedTableTask(
            plan=self, labels=np.empty(0), drawing=drawing, held=held, shards=shards
        )

    @property
    def wide(self) -> Ints:
        """The columns that are not in ``narrow``."""
        return np.setdiff1d(np.arange(self.request.n_features.value), self.narrow)

    def model_of(self, solution: TableSolution, held: ColumnBounds) -> tuple[sp.csr_array, Floats]:
        """Return weights and intercepts for entries in their own units."""
        columns = self.request.n_features.value
        own = np.concatenate([self.narrow, self.wide[np.array(solution.taken, np.int64)]])
        low, high = (ends[own] for ends in held.ends(columns))
        with np.errstate(divide="ignore"):
            per_unit = np.where(high > low, 1.0 / (high - low), 0.0)
        weights = solution.weights * per_unit
        intercepts = solution.intercepts - weights @ low
        outputs, places = np.nonzero(weights)
        shape = len(weights), columns
        found = sp.csr_array((weights[outputs, places], (outputs, own[places])), shape=shape)
        return found, intercepts


@dataclass(frozen=True, eq=False)
class TableSolved(Solved):
    """The model that the table solver releases, also as a model of standardised rows."""

    solution: TableSolution


@dataclass(frozen=True, kw_only=True, eq=False)
class TableRowsTask(CorrectedTask):
    """One fit to a table, wherever its rows are."""

    plan: TableFitPlan
    held: ColumnBounds

    def usual(self, solved: Solved) -> Usual:
        assert isinstance(solved, TableSolved)
        if self.plan.table.outputs == 1:
            return USUAL
        return Usual(
            margin=solved.solution.margin_length or 1.0,
            scale=USUAL_SCALE_OF_CLASSES,
            off=SCALE_OFF_OF_CLASSES,
            shift_off=SHIFT_OFF_OF_CLASSES,
        )

    def model_of(self, solution: TableSolution) -> Fitted:
        """The fitted model of a solution."""
        table = self.plan.table
        none = np.empty((0, 2 if table.outputs == 1 else 3), np.int64)
        weights, intercepts = self.plan.model_of(solution, self.held)
        found = self.corrected(TableSolved(weights, intercepts, none, table.steps, solution))
        return replace(found, only_noise=found.only_noise or solution.length == 0.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class TableTask(TableRowsTask, HeldTask):
    """One fit to a table, ready to run."""

    cells: NDArray[np.int32]
    wide: WideCells | None

    def run(self) -> Fitted:
        """Ask all questions, and return the fitted model."""
        table, drawing = self.plan.table, self.drawing
        with rounds_bar(table.steps, shown=drawing.shows_progress) as progress:
            solution = fit_table(
                self.cells,
                self.encoded_labels,
                loss=self.plan.request.loss,
                plan=table,
                generator=drawing.bits,
                n_threads=drawing.n_threads,
                progress=progress,
                noise_of=drawing.noise_of,
                wide=self.wide,
                device=drawing.device,
            )
        return self.model_of(solution)

    def margins(self, solved: Solved, threads: int) -> Floats:
        """Margins of rows as the steps saw them."""
        assert isinstance(solved, TableSolved)
        return table_margins(
            self.cells,
            solved.solution,
            loss=self.plan.request.loss,
            plan=self.plan.table,
            n_threads=threads,
            wide=self.wide,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class ShardedTableTask(TableRowsTask):
    """One fit to a table whose rows other processes hold; labels are theirs, too."""

    shards: RowShards

    def run(self) -> Fitted:
        """Ask all questions, and return the fitted model."""
        table, drawing = self.plan.table, self.drawing
        shown, load = drawing.shows_progress, self.shards.load
        with rounds_bar(table.steps, shown=shown, beside=load) as progress:
            solution = ask(
                self.shards.table(table),
                self.plan.request.loss,
                table,
                random_bits(drawing.bits),
                drawing.n_threads or pool.available(),
                progress=progress,
                noise_of=drawing.noise_of,
            )
        return self.model_of(solution)

    def margin_sums(self, solved: Solved, threads: int) -> MarginSums:
        return self.shards.margin_sums(solved)

    def charged(self, charge: Callable[[str], Receipt | None]) -> Receipt | None:
        return self.shards.charged_once(charge)
