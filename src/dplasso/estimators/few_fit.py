"""A fit of a few chosen columns: what an estimator asks of it, and what it states."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplasso.base.progress import rounds_bar
from dplasso.data import ColumnBounds, ColumnMatrix
from dplasso.data.unit_rows import Scaling, UnitRows
from dplasso.estimators.gradient_fit import held_matrix, noisy_release
from dplasso.estimators.settings import rows_used
from dplasso.losses import Loss
from dplasso.mechanisms.grid_gaussian import GridGaussian, NoiseOf
from dplasso.mechanisms.random_bits import RandomBits
from dplasso.privacy.statement import fact, jsonable
from dplasso.solvers.few import Chosen, ColumnScores, FewPlan, choose, plan_few, refit


class FewTask(NamedTuple):
    """One fit, ready to run: all that is public has been fixed, nothing has been drawn."""

    matrix: ColumnMatrix
    scaling: Scaling
    scores: ColumnScores
    y: NDArray[Any]
    loss: Loss
    bounds: ColumnBounds
    plan: FewPlan
    rows_source: str
    bits: RandomBits
    noise_of: NoiseOf = GridGaussian


def prepare(
    model: Any,
    X: Any,
    y: Any,
    loss: Loss,
    bounds: ColumnBounds,
    planned: tuple[FewPlan, RandomBits] | None = None,
) -> FewTask:
    """Fix what the fit will do and cost, unless it is planned already, and hold the rows."""
    plan, bits = planned or (plan_for(model, X.shape, loss, bounds.largest), model._random_bits())
    matrix, scaling = held_matrix(X, model.rows_, bounds)
    scores = ColumnScores.of(UnitRows.of(matrix, scaling), y, loss, plan)
    source = rows_used(model, X.shape[0])[1]
    return FewTask(matrix, scaling, scores, y, loss, bounds, plan, source, bits)


def check_bound(
    model: Any, shape: tuple[int, int], loss: Loss, plan: FewPlan, x_bound: float
) -> None:
    """Rows are scaled to length 1: there is no bound on entries to refuse."""


def plan_for(
    model: Any, shape: tuple[int, int], loss: Loss, x_bound: float, bound_share: float = 0.0
) -> FewPlan:
    """What the fit will do and cost; bounds on entries do not change it."""
    return plan_few(
        loss,
        epsilon=model.epsilon,
        delta=model.delta,
        n_rows=rows_used(model, shape[0])[0],
        n_chosen=model._n_nonzero,
        neighboring=model.neighboring,
        bound_share=bound_share,
    )


def run(model: Any, task: FewTask) -> None:
    """Choose columns, fit them, and set what the releases come to."""
    chosen = choose_columns(model, task)
    model.vertices_ = np.stack([chosen.columns, chosen.signs], axis=1)
    refit_columns(model, task, chosen)


def choose_columns(model: Any, task: FewTask) -> Chosen:
    """The first part of the fit."""
    return choose(task.scores, task.plan, task.bits, model._thread_count, task.noise_of)


def refit_columns(model: Any, task: FewTask, chosen: Chosen) -> None:
    """The second."""
    steps = task.plan.refit.steps
    with rounds_bar(steps, shown=model.verbose > 0) as progress:
        solution = refit(
            task.matrix,
            task.y,
            chosen,
            loss=task.loss,
            plan=task.plan,
            scaling=task.scaling,
            bits=task.bits,
            n_threads=model._thread_count,
            progress=progress,
            noise_of=task.noise_of,
        )
    model._weights, model.intercept_ = solution.weights, solution.intercepts
    model.n_iter_ = steps


def statement(model: Any, task: FewTask) -> dict[str, Any]:
    """What differs from fits by the other solvers."""
    plan, fitting = task.plan, task.plan.refit
    draws = {
        "what": f"{plan.n_chosen} columns with their signs, each",
        "mechanism": "exponential mechanism over all signed columns not drawn before",
        "bounded_range": jsonable(plan.draw_epsilon),
    }
    releases = [
        noisy_release("the mean of the labels", plan.centre_multiplier),
        draws,
        noisy_release("the mean of the rows in these columns", fitting.mass_multiplier),
        noisy_release(f"{fitting.steps} sums of row gradients, each", fitting.step_multiplier),
    ]
    return {
        "rho": jsonable(plan.rho),
        "mechanism": "a choice of columns, then private gradient descent on rows of length 1",
        "releases": releases,
        "bounds": {"residual": fact(fitting.clip, "public rule")},
        "public": {
            "n_rows": fact(plan.n_rows, task.rows_source),
            "steps": fact(fitting.steps, "public rule"),
            "n_nonzero": fact(plan.n_chosen, "given"),
        },
    }
