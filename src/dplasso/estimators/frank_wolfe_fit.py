"""A fit by Frank-Wolfe: what an estimator asks of it, and what it states."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso.base.progress import rounds_bar
from dplasso.data import ColumnBounds, ColumnMatrix
from dplasso.data.row_maps import row_view
from dplasso.estimators.settings import Settings, settings_of
from dplasso.estimators.sparsifier import Sparsifier, keep_largest
from dplasso.losses import Loss
from dplasso.mechanisms.random_bits import RandomBits
from dplasso.privacy.plan import Plan, make_plan
from dplasso.privacy.statement import BY_BOUNDS, fact, jsonable
from dplasso.solvers import check_range, frank_wolfe
from dplasso.solvers.lasso import lasso

CONVERGED = 1e-5  # duality gap, of the mean loss, at which the solver without privacy stops


class Task(NamedTuple):
    """One fit, ready to run: all that is public has been fixed, nothing has been drawn."""

    matrix: ColumnMatrix  # an intercept's column last
    columns: int  # without it
    y: NDArray[Any]
    labels: NDArray[np.float64]
    loss: Loss
    bounds: ColumnBounds  # as declared
    settings: Settings
    plan: Plan
    bits: RandomBits


def prepare(
    model: Any,
    X: Any,
    y: Any,
    loss: Loss,
    bounds: ColumnBounds,
    planned: tuple[Plan, RandomBits] | None = None,
) -> Task:
    """Fix radius and rounds, split the budget unless it is planned already, hold the matrix."""
    labels, columns = loss.encode(y), X.shape[1]
    seen, held = row_view(X, model.rows_, bounds)
    settings = _settings(model, X.shape, loss, held.largest)
    if planned is None:
        plan, bits = plan_for(model, X.shape, loss, held.largest), model._random_bits()
        check_bound(model, X.shape, loss, plan, held.largest)
    else:
        gradient_bound = loss.gradient_bound(settings.radius, held.largest)
        plan, bits = planned[0].at(held.largest, gradient_bound), planned[1]
    matrix = ColumnMatrix.of(held.apply(seen), held.largest)
    if model.fit_intercept:
        matrix = matrix.with_constant()
    return Task(matrix, columns, y, labels, loss, bounds, settings, plan, bits)


def check_bound(model: Any, shape: tuple[int, int], loss: Loss, plan: Plan, x_bound: float) -> None:
    """Refuse a bound on entries with which the solver would refuse to run, by public facts."""
    radius = _settings(model, shape, loss, x_bound).radius
    gradient_bound = loss.gradient_bound(radius, x_bound)
    check_range(loss, radius, x_bound, plan.at(x_bound, gradient_bound).theta)


def plan_for(
    model: Any, shape: tuple[int, int], loss: Loss, x_bound: float, bound_share: float = 0.0
) -> Plan:
    """What the fit will release and cost; ``bound_share`` is for a bound released beforehand."""
    settings, share = _settings(model, shape, loss, x_bound), 0.0
    if isinstance(model._sparsify, Sparsifier):
        model._sparsify.bounds(shape[1] * loss.outputs)
        share = model._sparsify.budget_share
    return make_plan(
        model.epsilon,
        model.delta,
        model.neighboring,
        settings.rounds or 1,
        x_bound,
        loss.gradient_bound(settings.radius, x_bound),
        share,
        bound_share,
    )


def _settings(model: Any, shape: tuple[int, int], loss: Loss, x_bound: float) -> Settings:
    return settings_of(model, *shape, loss.outputs, x_bound, model._margin_unit())


def run(model: Any, task: Task) -> None:
    """Select round by round, or without privacy converge; keep what is to be kept."""
    keep = count_to_keep(model, task)
    if task.settings.rounds is None:
        _converge(model, task)
    else:
        walk(model, task, task.settings.rounds)
    if keep is not None:
        model._weights = keep_largest(model._weights, keep)
    if model.rows_ == "as_is":  # else rows to predict are stretched, too
        model._weights = sp.csr_array(task.bounds.unstretched(model._weights))


def count_to_keep(model: Any, task: Task) -> int | None:
    """How many coefficients to keep: a public number, or a private count."""
    if isinstance(model._sparsify, Sparsifier):
        return model._sparsify.keep(
            task.matrix,
            task.labels,
            task.loss,
            task.settings.radius,
            size=task.columns * task.loss.outputs,
            epsilon=task.plan.count_epsilon,
            generator=task.bits.generator,
        )
    found: int | None = model._n_nonzero
    return found


def walk(model: Any, task: Task, rounds: int) -> None:
    """Private Frank-Wolfe, or greedy without privacy. Sets what the vertices add up to."""
    with rounds_bar(rounds, shown=model.verbose > 0) as progress:
        solution = frank_wolfe(
            task.matrix,
            task.y,
            loss=task.loss,
            radius=task.settings.radius,
            rounds=rounds,
            theta=task.plan.theta,
            selection=model.selection,
            step="decreasing" if task.plan.private else "search",
            x_bound=task.matrix.x_bound,
            generator=task.bits,
            n_threads=model._thread_count,
            progress=progress,
        )
    _split(model, task, solution.weights)
    moves = [solution.columns, -solution.signs.astype(np.int64)]
    if task.loss.outputs > 1:
        moves.append(solution.classes)
    model.vertices_ = np.stack(moves, axis=1)
    model.n_iter_ = rounds


def statement(model: Any, task: Task) -> dict[str, Any]:
    """What differs from a fit by gradient descent."""
    settings = task.settings
    stretched = task.bounds.stretch is not None and model.rows_ == "as_is"
    radius_of = BY_BOUNDS if stretched else ""
    return {
        "rho": jsonable(task.plan.rho),
        "mechanism": "private Frank-Wolfe over the L1 ball",
        "releases": _releases(model, task.plan),
        "bounds": {"radius": fact(settings.radius, settings.radius_source, radius_of)},
        "public": {
            "n_rows": fact(settings.rows, settings.rows_source),
            "max_iter": fact(settings.rounds, settings.rounds_source),
        },
    }


def _converge(model: Any, task: Task) -> None:
    """The optimum without privacy, which has no vertices to release."""
    solution = lasso(task.matrix, task.labels, task.loss, task.settings.radius, gap=CONVERGED)
    _split(model, task, sp.csr_array(solution.weights.T))
    model.vertices_ = np.empty((0, 3 if task.loss.outputs > 1 else 2), np.int64)
    model.n_iter_ = solution.steps


def _split(model: Any, task: Task, weights: sp.csr_array) -> None:
    """Weights of the columns, and the intercept in units of the labels."""
    model._weights, model.intercept_ = weights, np.zeros(task.loss.outputs)
    if model.fit_intercept:
        intercept = weights[:, [task.columns]].toarray()[:, 0]
        model.intercept_ = intercept * task.matrix.constant
        model._weights = weights[:, : task.columns]


def _releases(model: Any, plan: Plan) -> list[dict[str, Any]]:
    selections = {
        "what": f"{model.n_iter_} signed coordinates, one a round",
        "mechanism": "exponential mechanism over all signed coordinates",
        "selection": model.selection,
        "theta": jsonable(plan.theta),
        "bounded_range": jsonable(plan.round_epsilon),
    }
    if not plan.private:
        return []
    if not plan.count_epsilon:
        return [selections]
    count = {
        "what": "a count of nonzero coefficients",
        "mechanism": "double-geometric noise",
        "epsilon": jsonable(plan.count_epsilon),
    }
    return [count, selections]
