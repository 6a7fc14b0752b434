"""The registry of solvers. Only this file looks up or compares their names."""

import math
from typing import Any

from dplasso.base import memory
from dplasso.base.arrays import Floats
from dplasso.data.row_maps import needs_bound
from dplasso.fitting.fitter import Fitter
from dplasso.fitting.frank_wolfe import FrankWolfe
from dplasso.fitting.gradient import Gradient
from dplasso.fitting.plan import Plan
from dplasso.fitting.private_bound import UnboundedTask
from dplasso.fitting.request import Request
from dplasso.fitting.rules import FEW_NONZEROS, few_stand_out
from dplasso.fitting.select import Select
from dplasso.fitting.task import Drawing, Task
from dplasso.solvers.gradient.plan import NARROW_COLUMNS

AUTO = "auto"
_LITTLE_MEMORY = 64 << 20  # bytes that are available wherever Python runs
# The first solver is the default, and the solver of model files that name none.
FITTERS: dict[str, Fitter] = {
    fitter.name: fitter for fitter in (FrankWolfe(), Gradient(), Select())
}
DEFAULT = next(iter(FITTERS))
SOLVERS = (*(name for name, fitter in FITTERS.items() if fitter.named_by_users), AUTO)


def fitter_of(name: str) -> Fitter:
    """Return the solver with the name that a model or a file has."""
    if name not in FITTERS:
        raise ValueError(f"solver {name!r} is unknown; upgrade dplasso to read it")
    return FITTERS[name]


def candidates(solver: str, epsilon: float) -> tuple[Fitter, ...]:
    """Return the solvers that a fit may use, whatever the shape of its data."""
    if solver != AUTO:
        return (FITTERS[solver],)
    if math.isinf(epsilon):
        return (FITTERS[FrankWolfe.name],)
    return FITTERS[Gradient.name], FITTERS[Select.name]


def auto_solver(
    epsilon: float,
    delta: float,
    rows: int,
    columns: int,
    outputs: int = 1,
    n_nonzero: int | None = None,
) -> tuple[str, str]:
    """Choose the solver for ``solver="auto"``, and return it with the reason.

    The descent is more accurate, except for very few nonzeros in many columns, because it drops
    columns by the results of its first, noisiest steps. There the exponential mechanism is more
    accurate, provided that `few_stand_out` holds. From 5 to 10 nonzeros on, columns that are chosen
    before anything is fitted are the worse choice (benchmarks/results/gradient_ideas.txt).

    >>> auto_solver(1.0, 1e-6, 15_000, 42_000)[0], auto_solver(math.inf, 1e-6, 15_000, 42_000)[0]
    ('gradient', 'frank_wolfe')
    >>> auto_solver(1.0, 1e-6, 15_000, 42_000, n_nonzero=3)[0]
    'select'
    """
    if math.isinf(epsilon):
        return FrankWolfe.name, "public rule: without privacy the LASSO itself is solved"
    wide = columns > NARROW_COLUMNS and outputs == 1
    if n_nonzero is None or n_nonzero > FEW_NONZEROS or not wide:
        return Gradient.name, "public rule: the more accurate one"
    if not few_stand_out(epsilon, delta, rows, columns, n_nonzero):
        return Gradient.name, "public rule: of so few rows a selection would be all noise"
    return (
        Select.name,
        "public rule: so few of so many columns are best selected first, then fitted",
    )


def choose(
    solver: str,
    *,
    epsilon: float,
    delta: float,
    n_rows: int,
    n_features: int,
    outputs: int = 1,
    n_nonzero: int | None = None,
) -> tuple[str, str]:
    """Return the solver of a fit and the reason, which is empty for the default."""
    if solver == AUTO:
        return auto_solver(epsilon, delta, n_rows, n_features, outputs, n_nonzero)
    return solver, "" if solver == DEFAULT else "given"


def plan(request: Request) -> Plan:
    """Choose the solver and the map of rows, and fix all numbers of the fit."""
    name, reason = choose(
        request.solver,
        epsilon=request.epsilon,
        delta=request.delta,
        n_rows=request.n_rows.value,
        n_features=request.n_features.value,
        outputs=request.loss.outputs,
        n_nonzero=request.n_nonzero,
    )
    return FITTERS[name].plan(request, reason, _row_map(FITTERS[name], request))


def prepare(plan: Plan, X: Any, labels: Floats, drawing: Drawing) -> Task:
    """Prepare a task from checked rows and encoded labels; nothing is drawn."""
    _check_memory(plan)
    if plan.bounds is None:
        return UnboundedTask.of(plan, X, labels, drawing)
    return plan.prepare(X, labels, drawing)


def _check_memory(plan: Plan) -> None:
    """Reject a fit that needs too much memory, based on the public numbers of its plan."""
    fitter, columns, rounds = plan.fitter, plan.request.n_features.value, plan.steps.value or 0
    of_columns = columns * fitter.column_bytes(plan.request.loss.outputs)
    if of_columns > _LITTLE_MEMORY:
        memory.check(of_columns, f"a fit on {columns:,} columns", "give fewer")
    if (of_rounds := rounds * fitter.round_bytes) > _LITTLE_MEMORY:
        memory.check(of_rounds, f"a fit of {rounds:,} rounds", "lower max_iter")


def _row_map(fitter: Fitter, request: Request) -> str:
    """Return the map of rows; "auto" leaves entries unchanged if their bound is released."""
    if request.row_map == AUTO:
        releases = request.releases_bound
        return "as_is" if releases else fitter.auto_row_map(request.n_features.value)
    if request.releases_bound and not needs_bound(request.row_map):
        raise ValueError(
            "x_bound='private' has no use where rows='presence', whose entries are 1; leave it "
            "out, or pass rows='as_is'"
        )
    return request.row_map
