"""DP-GD and DP-SGD on tables: logistic, softmax and squared loss, with clipped gradients.

Accounts and tuning are those of ``benchmarks/rivals/clipped_descent.py``. Grid, at every epsilon:
maps of rows (cells, centred) x two or three schedules x clipping bound (.1 and .5 of the length of
the longest row with its constant) x 5 learning rates 2.5 apart x last iterate or mean of the last
quarter; then, around the best, rates 1.6 apart, the next clipping bounds, momentum .9, an intercept
that moves faster, half and twice the steps, and twice the sampling rate. Schedules of DP-GD: 20 to
600 steps (10 to 300 for many classes), more for larger epsilon. Schedules of DP-SGD: 10 % of the
rows in 60 or 250 steps, and 3 % in 1,000 steps.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from rivals.clipped_descent import ClippedDescent, Schedule, batches, column, shared
from rivals.dp_sgd import schedules as sparse_sgd_schedules
from rivals.problem import Problem, Request
from threadpoolctl import threadpool_limits

from rivals_tables.dense_descent import descend
from rivals_tables.problem import TableProblem

SQUARED_RATES = [10.0, 4.0, 1.6, 0.64, 0.26]  # the curvature is at most 1.09


def gd_schedules(problem: TableProblem, epsilon: float) -> list[Schedule]:
    if problem.is_large:
        steps = (10, 30) if epsilon < 0.2 else (30, 100) if epsilon < 3.0 else (100, 300)
    else:
        steps = (20, 60) if epsilon < 0.2 else (60, 200) if epsilon < 3.0 else (200, 600)
    return [(1.0, count) for count in steps]


def sgd_schedules(problem: TableProblem, epsilon: float) -> list[Schedule]:
    longer = [(0.03, 1000)] if epsilon >= 0.2 else []
    return [(0.1, 60), (0.1, 250), *longer]


class DenseDescent(ClippedDescent):
    """The same rival with squared loss for numbers and softmax loss for many classes."""

    def rates(
        self, problem: TableProblem, epsilon: float, clip: float, sampling: float, steps: int
    ) -> list[float]:
        if problem.n_classes:
            return super().rates(problem, epsilon, clip, sampling, steps)
        return SQUARED_RATES

    def scores(
        self, problem: TableProblem | Problem, requests: Sequence[Request]
    ) -> Iterator[tuple[Request, dict[str, float]]]:
        for batch in batches(requests):
            yield from _run(problem, batch)


def _run(
    problem: TableProblem | Problem, batch: list[Request]
) -> Iterator[tuple[Request, dict[str, float]]]:
    runs = [column(problem, request) for request in batch]
    distinct = list(dict.fromkeys(runs))  # last iterate and average come of one fit
    name, bias, steps, sampling, _ = shared(batch[0])
    train, test = problem.rows(name)
    with threadpool_limits(1, user_api="blas"), np.errstate(all="ignore"):
        found = descend(
            *(train, problem.labels, distinct),
            n_classes=problem.n_classes,
            bias=bias,
            steps=steps,
            sampling=sampling,
        )
        for request, run in zip(batch, runs, strict=True):
            weights = found[request.settings["averaged"]][distinct.index(run)]
            yield request, problem.judge(test @ weights[:-1] + bias * weights[-1])


LOGISTIC = [
    ClippedDescent("DP-GD", gd_schedules, longest=600),
    ClippedDescent("DP-SGD", sgd_schedules, longest=1000),
]
DENSE = [
    DenseDescent("DP-GD", gd_schedules, longest=600),
    DenseDescent("DP-SGD", sgd_schedules, longest=1000),
]
SPARSE_SOFTMAX = [DenseDescent("DP-SGD", sparse_sgd_schedules, longest=1000)]
