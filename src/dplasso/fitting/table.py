"""Fit a table: narrow and dense data, numbers and categories with public ranges."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso.base import memory
from dplasso.base.arrays import Floats, Ints
from dplasso.base.progress import rounds_bar
from dplasso.base.wording import ParameterError
from dplasso.data import ColumnBounds
from dplasso.data.row_maps import row_view
from dplasso.data.table_cells import table_cells
from dplasso.data.wide_cells import WideCells
from dplasso.fitting.auto_rules import table_part
from dplasso.fitting.fitted import Fitted
from dplasso.fitting.fitter import Fitter
from dplasso.fitting.gaussian_plan import GaussianPlan
from dplasso.fitting.private_bound import CANDIDATES
from dplasso.fitting.release import Release, gaussian_release
from dplasso.fitting.request import Fact, Request, Sourced
from dplasso.fitting.task import BoundedTask, Drawing
from dplasso.privacy.statement import fact
from dplasso.solvers.calibration import STEPS
from dplasso.solvers.table import TablePlan, TableSolution, fit_table, plan_table

# Smallest bound on labels, and largest one per unit of an entry. Slopes may be many times that
# where columns fill a small part of their range.
SMALLEST_LABEL, MOST_PER_ENTRY = 1e-290, 1e280
# Matrices of all pairs of columns that are held at a time, besides one per output.
MATRICES = 12


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
            n_wide=n_features.value - n_columns,
            n_nonzero=request.n_nonzero,
            neighboring=request.neighboring,
            account="zcdp" if request.charged else "gaussian",  # a ledger adds up rho
            bound_share=request.bound_share,
        )
        return TableFitPlan(
            request=request,
            fitter=self,
            reason=reason,
            row_map=row_map,
            bounds=request.bounds,
            table=table,
            narrow=np.arange(n_columns) if narrow is None else narrow,
        )

    def auto_nonzeros(self, request: Request) -> Sourced[int | None]:
        return Sourced(None, "public rule: a table keeps all of its columns")


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
        found = [
            ("mean and mean square of all cells", table.cell_multiplier),
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
        if table.pace.calibrated:
            found.append(
                (f"{STEPS} corrections of probabilities, each", table.calibration_multiplier)
            )
        return tuple(gaussian_release(what, multiplier) for what, multiplier in found)

    def solver_bounds(self) -> dict[str, Fact]:
        of = "times the spread of the labels, at first" if self.table.pace.of_numbers else ""
        return {"residual": fact(self.table.cut, "public rule", of)}

    def solver_facts(self) -> dict[str, Fact]:
        wide = Sourced(self.table.n_wide, "one bound instead of a range; kept if frequent").fact()
        return super().solver_facts() | ({"wide_columns": wide} if self.table.n_wide else {})

    def check_memory(self) -> None:
        super().check_memory()
        # Cells, standardised rows, and matrices of all pairs of columns with the work space of
        # their eigenvalues. Wide columns count if they may be taken up, which the data decide.
        columns = self.table.n_columns + self.table.most_taken
        matrices = MATRICES + self.table.outputs
        needed = 12 * self.table.n_rows * columns + 8 * matrices * (columns + 1) ** 2
        # A number of rows that is not declared may be private.
        check = memory.check_private_size if self.reads_row_count else memory.check
        if needed > memory.LITTLE:
            check(needed, f"a table of {columns:,} columns", "give fewer")

    def prepare(self, X: Any, labels: Floats, drawing: Drawing) -> "TableTask":
        assert self.bounds is not None
        seen, held = row_view(X, self.row_map, self.bounds)
        cells = table_cells(seen, held, self.narrow)
        wide = WideCells.of(seen, held, self.wide) if self.table.n_wide else None
        return TableTask(
            plan=self, labels=labels, drawing=drawing, cells=cells, held=held, wide=wide
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


@dataclass(frozen=True, kw_only=True, eq=False)
class TableTask(BoundedTask):
    """One fit to a table, ready to run."""

    plan: TableFitPlan
    cells: NDArray[np.int32]
    held: ColumnBounds
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
            )
        none = np.empty((0, 2 if table.outputs == 1 else 3), np.int64)
        weights, intercepts = self.plan.model_of(solution, self.held)
        found = self.plan.fitted(weights, intercepts, none, table.steps)
        return replace(found, only_noise=solution.length == 0.0)
