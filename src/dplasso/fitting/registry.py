"""The registry of solvers. Only this file looks up or compares their names."""

import math
from dataclasses import replace
from typing import Any

from dplasso.base.arrays import Floats
from dplasso.base.wording import ParameterError, Setting
from dplasso.data.row_maps import needs_bound
from dplasso.fitting.auto_rules import (
    FEW_NONZEROS,
    few_stand_out,
    is_table,
    is_table_beside,
    table_part,
)
from dplasso.fitting.fitter import Fitter
from dplasso.fitting.frank_wolfe import FrankWolfe
from dplasso.fitting.gradient import Gradient
from dplasso.fitting.plan import Plan
from dplasso.fitting.private_bound import UnboundedTask
from dplasso.fitting.request import Request
from dplasso.fitting.select_then_fit import Select
from dplasso.fitting.table import Table
from dplasso.fitting.task import Drawing, Task
from dplasso.solvers.gradient.plan import NARROW_COLUMNS

AUTO = "auto"
FITTERS: dict[str, Fitter] = {
    fitter.name: fitter for fitter in (FrankWolfe(), Gradient(), Select(), Table())
}
UNNAMED = FrankWolfe.name  # the solver of model files that name none
SOLVERS = (*(name for name, fitter in FITTERS.items() if fitter.named_by_users), AUTO)


def fitter_of(name: str) -> Fitter:
    """Return the solver with the name that a model or a file has."""
    if name not in FITTERS:
        raise ValueError(f"solver {name!r} is unknown; upgrade dplasso to read it")
    return FITTERS[name]


def candidates(solver: str, epsilon: float, in_ball: bool = False) -> tuple[Fitter, ...]:
    """Return the solvers that a fit may use, whatever the shape of its data."""
    if solver != AUTO:
        return (FITTERS[solver],)
    if in_ball or math.isinf(epsilon):
        return (FITTERS[FrankWolfe.name],)
    return FITTERS[Gradient.name], FITTERS[Select.name], FITTERS[Table.name]


def auto_solver(
    epsilon: float,
    delta: float,
    rows: float,
    columns: int,
    outputs: int = 1,
    n_nonzero: int | None = None,
    of_numbers: bool = False,
    in_ball: bool = False,
    n_ranges: int = 0,
    of_categories: bool = False,
    own_bounds: bool = False,
) -> tuple[str, str]:
    """Choose the solver for ``solver="auto"``, and return it with the reason.

    Narrow data are tables: their columns are standardised (`is_table`). For wide data, mostly text,
    the descent on rows of length 1 is more accurate, except for very few nonzeros, because it drops
    columns by the results of its first, noisiest steps. There the exponential mechanism is more
    accurate, provided that `few_stand_out` holds. From 5 to 10 nonzeros on, columns that are chosen
    before anything is fitted are the worse choice (benchmarks/results/gradient_ideas.txt).
    ``in_ball`` says that an option was given which only Frank-Wolfe has. ``n_ranges`` is the number
    of columns with ranges beside wide ones (`table_part`), which may be declared to be
    ``of_categories``. They are a table, unless the wide columns are words, or as many as only words
    are (`is_table_beside`). ``own_bounds`` says that columns have bounds or ranges of their own.

    >>> auto_solver(1.0, 1e-6, 15_000, 42_000)[0], auto_solver(math.inf, 1e-6, 15_000, 42_000)[0]
    ('gradient', 'frank_wolfe')
    >>> few = auto_solver(1.0, 1e-6, 15_000, 42_000, n_nonzero=3)
    >>> few[0], auto_solver(1.0, 1e-6, 15_000, 50)[0]
    ('select', 'table')
    """
    if math.isinf(epsilon):
        return FrankWolfe.name, "public rule: without privacy the LASSO itself is solved"
    if in_ball:
        return FrankWolfe.name, "public rule: options of the L1 ball are given"
    facts = (outputs, of_numbers, own_bounds)
    if is_table(epsilon, delta, rows, columns, *facts):
        return Table.name, "public rule: few columns are a table"
    n_wide = columns - n_ranges
    beside = n_ranges > 0 and is_table_beside(n_ranges, n_wide, of_categories, of_numbers)
    if beside and is_table(epsilon, delta, rows, n_ranges, *facts):
        return Table.name, "public rule: columns with ranges are a table, beside wide columns"
    is_wide = columns > NARROW_COLUMNS and outputs == 1
    if n_nonzero is None or n_nonzero > FEW_NONZEROS or not is_wide:
        return Gradient.name, "public rule: the more accurate one"
    if not few_stand_out(epsilon, delta, rows, columns, n_nonzero):
        return Gradient.name, "public rule: of so few rows a selection would be all noise"
    return (
        Select.name,
        "public rule: so few of so many columns are best selected first, then fitted",
    )


def plan(request: Request) -> Plan:
    """Choose the solver, the map of rows and the nonzeros, and fix all numbers of the fit."""
    name, reason = request.solver, "given"
    if name == AUTO:
        ranges = table_part(request.bounds, request.n_features.value)
        name, reason = auto_solver(
            request.epsilon,
            request.delta,
            request.rows_per_unit,
            request.n_features.value,
            outputs=request.loss.outputs,
            n_nonzero=request.n_nonzero,
            of_numbers=request.loss.of_numbers,
            in_ball=request.in_ball,
            n_ranges=0 if ranges is None else len(ranges),
            of_categories=request.bounds is not None and request.bounds.of_categories,
            own_bounds=request.bounds is not None and request.bounds.differ,
        )
    fitter = FITTERS[name]
    if request.n_nonzero_source == AUTO:
        kept = fitter.auto_nonzeros(request)
        request = replace(request, n_nonzero=kept.value, n_nonzero_source=kept.source)
    return fitter.plan(request, reason, _row_map(fitter, request))


def prepare(
    plan: Plan, X: Any, labels: Floats, drawing: Drawing, weights: Floats | None = None
) -> Task:
    """Prepare a task from checked rows, encoded labels and row weights; nothing is drawn."""
    plan.check_memory(len(labels))
    if plan.bounds is None:
        return UnboundedTask.of(plan, X, labels, drawing, weights)
    return plan.prepare(X, labels, drawing, weights)


def _row_map(fitter: Fitter, request: Request) -> str:
    """Return the map of rows; "auto" leaves entries unchanged if their bound is released."""
    if request.row_map == AUTO:
        return "as_is" if request.bounds is None else fitter.auto_row_map(request)
    if request.releases_bound and not needs_bound(request.row_map):
        raise ParameterError(
            "{private} has no use where {presence}, whose entries are 1; leave it out, or pass "
            "{as_is}",
            private=Setting("x_bound", "private"),
            presence=Setting("row_map", request.row_map),
            as_is=Setting("row_map", "as_is"),
        )
    return request.row_map
