"""A fit by private gradient descent: what an estimator asks of it, and what it states."""

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso.base.progress import rounds_bar
from dplasso.data import ColumnBounds, ColumnMatrix
from dplasso.data.row_maps import row_view
from dplasso.data.unit_rows import NO_BOUND, Scaling, UnitRows
from dplasso.estimators.settings import rows_used
from dplasso.losses import Loss
from dplasso.mechanisms.grid_gaussian import GridGaussian, NoiseOf
from dplasso.mechanisms.random_bits import RandomBits
from dplasso.privacy.statement import fact, jsonable
from dplasso.solvers.gradient import GradientPlan, gradient_descent, plan_descent


class GradientTask(NamedTuple):
    """One descent, ready to run: all that is public has been fixed, nothing has been drawn."""

    rows: UnitRows
    y: NDArray[Any]
    loss: Loss
    bounds: ColumnBounds
    plan: GradientPlan
    rows_source: str
    bits: RandomBits
    noise_of: NoiseOf = GridGaussian


def prepare(
    model: Any,
    X: Any,
    y: Any,
    loss: Loss,
    bounds: ColumnBounds,
    planned: tuple[GradientPlan, RandomBits] | None = None,
) -> GradientTask:
    """Fix what a descent will do and cost, unless it is planned already, and hold the rows."""
    plan, bits = planned or (plan_for(model, X.shape, loss, bounds.largest), model._random_bits())
    source = rows_used(model, X.shape[0])[1]
    loss.encode(y)  # labels that the descent would refuse are refused now
    rows = UnitRows.of(*held_matrix(X, model.rows_, bounds))
    return GradientTask(rows, y, loss, bounds, plan, source, bits)


def check_bound(
    model: Any, shape: tuple[int, int], loss: Loss, plan: GradientPlan, x_bound: float
) -> None:
    """Rows are scaled to length 1: there is no bound on entries to refuse."""


def plan_for(
    model: Any, shape: tuple[int, int], loss: Loss, x_bound: float, bound_share: float = 0.0
) -> GradientPlan:
    """What the descent will do and cost. A ledger counts in rho: so does then the plan.

    ``bound_share`` is for a bound released beforehand; bounds on entries do not change the rest.
    """
    return plan_descent(
        loss,
        epsilon=model.epsilon,
        delta=model.delta,
        n_rows=rows_used(model, shape[0])[0],
        n_columns=shape[1],
        n_nonzero=model._n_nonzero,
        neighboring=model.neighboring,
        account="gaussian" if model.accountant is None else "zcdp",
        bound_share=bound_share,
    )


def run(model: Any, task: GradientTask) -> None:
    """Descend, and set what the releases come to."""
    plan = task.plan
    with rounds_bar(plan.steps, shown=model.verbose > 0) as progress:
        solution = gradient_descent(
            task.rows,
            task.y,
            loss=task.loss,
            plan=plan,
            generator=task.bits,
            n_threads=model._thread_count,
            progress=progress,
            noise_of=task.noise_of,
        )
    model._weights = sp.csr_array(solution.weights)
    model.intercept_ = solution.intercepts
    model.vertices_ = np.empty((0, 2 if plan.outputs == 1 else 3), np.int64)
    model.n_iter_ = plan.steps


def statement(model: Any, task: GradientTask) -> dict[str, Any]:
    """What differs from a fit by selections."""
    plan = task.plan
    releases = [
        noisy_release("the mean of the rows", plan.mass_multiplier),
        noisy_release(f"{plan.steps} sums of row gradients, each", plan.step_multiplier),
    ]
    private = not math.isinf(plan.epsilon)
    # With a bound on entries the releases are not all Gaussian.
    cost = {"rho": jsonable(0.5 * plan.mu**2 + plan.bound_epsilon**2 / 8.0)}
    return {
        **(cost if plan.bound_epsilon else cost | {"mu": jsonable(plan.mu)}),
        "mechanism": "private gradient descent on rows of length 1",
        "releases": releases if private else [],
        "bounds": {"residual": fact(plan.clip, "public rule")},
        "public": {
            "n_rows": fact(plan.n_rows, task.rows_source),
            "steps": fact(plan.steps, "public rule"),
            **({} if plan.n_nonzero is None else {"n_nonzero": fact(plan.n_nonzero, "given")}),
        },
    }


def noisy_release(what: str, multiplier: float) -> dict[str, Any]:
    """A Gaussian release, as statements have it."""
    mechanism = "Gaussian noise on a grid"
    return {"what": what, "mechanism": mechanism, "noise_multiplier": jsonable(multiplier)}


def held_matrix(X: Any, rows: str, bounds: ColumnBounds) -> tuple[ColumnMatrix, Scaling]:
    """Entries as the map of rows has them, and how rows are then scaled to length 1."""
    if rows == "presence":
        return X if isinstance(X, ColumnMatrix) else ColumnMatrix.of(X, NO_BOUND), "presence"
    seen, held = row_view(X, rows, bounds)
    return ColumnMatrix.of(held.apply(seen), held.largest), "unit"
