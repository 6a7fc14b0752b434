"""The engine of Frank-Wolfe, for checks that run it step by step or compare its scores."""

import importlib
from typing import Any

import numpy as np

from dplasso.audit.reference import held_rows
from dplasso.audit.selection.reference import SelectionFacts
from dplasso.base.arrays import Floats
from dplasso.fitting.frank_wolfe import FrankWolfeTask
from dplasso.kernels.gradients import row_gradients
from dplasso.kernels.problem import DECREASING, SCALE, Problem, Walk
from dplasso.kernels.rivals.pushes import step_and_push
from dplasso.kernels.scores import BUFFER, grain_size, score, scores_from
from dplasso.kernels.steps import release
from dplasso.mechanisms.selection.rivals.pushed import hold

_SHOWN = (0, 1, 3, 8)  # rounds before those whose laws are compared
_solver = importlib.import_module("dplasso.solvers.frank_wolfe")  # its name is also a function


def problem_of(task: FrankWolfeTask, radius: float, theta: float) -> Problem:
    """The rows and public numbers of a fit, as the engine holds them."""
    facts = (task.matrix, task.labels, task.plan.request.loss, radius, theta, DECREASING)
    return _solver.problem_of(*facts, task.weights)


def walk_of(problem: Problem, rounds: int) -> Walk:
    """A walk before its first round."""
    return _solver.empty_walk(problem, rounds)


def path_for(
    row: Floats, label: float, columns: int, facts: SelectionFacts, rng: np.random.Generator
) -> list[tuple[int, int]]:
    """Signed vertices: at random, or all against the row, whose gradient then nears its bound."""
    length = min(max(_SHOWN), facts.rounds)
    vertices = (columns + facts.fit_intercept) * facts.outputs
    if rng.random() < 0.5:
        return [(int(rng.integers(vertices)), int(rng.choice([-1, 1]))) for _ in range(length)]
    row = held_rows(row[None, :], facts)[0]
    column, k = int(np.argmax(np.abs(row))), 0
    wanted = -1.0
    if facts.outputs > 1:
        k = int(label)
    elif facts.classes:
        wanted = -1.0 if label > 0 else 1.0
    else:
        wanted = -np.sign(label)
    # A weight moves against the sign: the margin then moves in the wanted direction.
    sign = -1 if wanted * row[column] > 0 else 1
    return [(column * facts.outputs + k, sign)] * length


def log_weights(task: FrankWolfeTask, path: list[tuple[int, int]], facts: SelectionFacts) -> Floats:
    """Log-weights of all outcomes, one row per compared round and way of scoring."""
    problem = problem_of(task, task.plan.radius, task.plan.selections.theta)
    walk = walk_of(problem, len(path) + 1)
    pushed: Any = hold(problem, walk, 1) if facts.stale else None
    found = []
    for done in range(len(path) + 1):
        if done in _SHOWN:
            ways = [pushed.scores * _grain(problem)] if facts.stale else _scores(problem, walk)
            found += [np.concatenate([way, -way]) * problem.theta for way in ways]
        if done == len(path):
            break
        vertex, sign = path[done]
        if facts.stale:
            touched = step_and_push(problem, walk, pushed, vertex, sign, done)
            pushed.flags[pushed.touched[:touched]] = 0
        else:
            release(problem, walk, vertex, sign, 2.0 / (done + 3.0), done)
    return np.stack(found)


def _scores(problem: Problem, walk: Walk) -> list[Floats]:
    """All scores, computed in both ways of the engine: from row gradients, and by column."""
    vertices = np.arange((len(problem.indptr) - 1) * problem.classes)
    together, rows = np.empty(len(vertices)), len(problem.labels)
    all_gradients = np.empty(rows * problem.classes)
    row_gradients(problem, walk, all_gradients, 0, rows)
    scores_from(problem, all_gradients, vertices, together)
    margins, scale, buffer = walk.margins, walk.scalars[SCALE], np.empty(BUFFER)
    alone = np.array([score(problem, margins, scale, v, buffer) for v in vertices])
    return [together, alone]


def _grain(problem: Problem) -> float:
    return float(grain_size.py_func(problem))
