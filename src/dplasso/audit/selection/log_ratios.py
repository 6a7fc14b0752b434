"""The effect of one row on the log-ratio of a round, from the engine's own scores."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dplasso.audit.account import ranges_of_event
from dplasso.audit.reference_rows import held_rows
from dplasso.audit.selection import data
from dplasso.audit.selection.engine import problem_of, walk_of
from dplasso.audit.selection.facts import SelectionFacts
from dplasso.audit.synthetic import random_form, random_row
from dplasso.base.arrays import Floats
from dplasso.kernels.gradients import row_gradients
from dplasso.kernels.problem import SCALE, Problem, Walk
from dplasso.kernels.rivals.pushes import step_and_push
from dplasso.kernels.scores import BUFFER, grain_size, score, scores_from
from dplasso.kernels.steps import release
from dplasso.mechanisms.selection.rivals.pushed import hold

if TYPE_CHECKING:
    from dplasso.audit.selection.subject import Prepared, SelectionSubject

_SHOWN = (0, 1, 3, 8)  # rounds before those whose laws are compared


def widest(subject: "SelectionSubject", rng: np.random.Generator) -> dict[str, float]:
    """The widest log-ratio over the rounds of one walk on two neighbours, divided by the charge.

    Both data sets pass the estimator's own validation and the engine's own scoring, up to theta;
    both walk along the same vertices, which may drive the row's gradient to its bound.
    """
    facts, columns = subject.facts, subject.columns
    X, y = data.mixed_rows(columns, 1.0, facts, rng)
    row, label = random_row(columns, facts, rng)
    rival, other = random_row(columns, facts, rng)
    at = int(rng.integers(len(X) + 1)) if rng.random() < 0.5 else len(X)
    base = (X, y)
    if facts.neighboring == "replace_one":
        # The replacement with the largest effect: the same row with another label.
        rival = row if rng.random() < 0.5 else rival
        base = np.insert(X, at, rival, axis=0), np.insert(y, at, other)
    more = np.insert(X, at, row, axis=0), np.insert(y, at, label)
    path = _path(row, label, columns, facts, rng)
    both, form = [], random_form(rng)
    for rows, labels in (base, more):
        prepared = subject.prepare(form(rows), labels)
        both.append(_log_weights(prepared, path, facts))
    change = both[0] - both[1]
    widest = float(np.max(change.max(axis=1) - change.min(axis=1)))
    charged = ranges_of_event(prepared.task.plan.event)[-1]
    return {"widest log-ratio of a round, over that charged": widest / charged}


def _path(
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


def _log_weights(
    prepared: "Prepared", path: list[tuple[int, int]], facts: SelectionFacts
) -> Floats:
    """Log-weights of all outcomes, one row per compared round and way of scoring."""
    task = prepared.task
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
