"""The best a rival can do: settings picked on the test rows at no charge, then fresh seeds.

No user can have that. A coarse grid is run on one seed; the best few of it on three, beside what
is near to the best of them (fewer where fits are slow: `Effort`); the winner by its mean runs again
on seeds that were not used to pick.
"""

import statistics
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from rivals.problem import Effort, Problem, Request

FRESH = 1000  # seeds from here on were not used to pick


class Rival(Protocol):
    @property
    def name(self) -> str: ...

    def effort(self, problem: Problem) -> Effort: ...

    def coarse(self, problem: Problem, epsilon: float) -> list[dict[str, Any]]: ...

    def nearby(
        self, problem: Problem, epsilon: float, best: dict[str, Any]
    ) -> list[dict[str, Any]]: ...

    def scores(
        self, problem: Problem, requests: Sequence[Request]
    ) -> Iterator[tuple[Request, dict[str, float]]]: ...


class Memory(Protocol):
    """Fits that were made before: each is put with all its measures, and got as one score."""

    def get(self, data: str, column: str, request: Request) -> float | None: ...

    def put(self, data: str, column: str, request: Request, value: dict[str, float]) -> None: ...


def evaluate(rival: Rival, problem: Problem, requests: list[Request], memory: Memory) -> list:
    """Scores in the order of the requests; only what is not remembered is run."""
    missing = [r for r in requests if memory.get(problem.name, rival.name, r) is None]
    for request, value in rival.scores(problem, missing):
        memory.put(problem.name, rival.name, request, value)
    return [memory.get(problem.name, rival.name, request) for request in requests]


def tune(rival: Rival, problem: Problem, epsilons: list[float], memory: Memory) -> list[dict]:
    """The best settings at every epsilon. All epsilons are run together: batches are larger."""
    grids = [rival.coarse(problem, epsilon) for epsilon in epsilons]
    first = [
        Request(e, settings, 0)
        for e, grid in zip(epsilons, grids, strict=True)
        for settings in grid
    ]
    values = dict(zip(map(str, first), evaluate(rival, problem, first, memory), strict=True))
    finalists, effort = [], rival.effort(problem)
    for epsilon, grid in zip(epsilons, grids, strict=True):
        ranked = sorted(grid, key=lambda s, e=epsilon: -values[str(Request(e, s, 0))])
        near = rival.nearby(problem, epsilon, ranked[0])
        chosen = ranked[: effort.finalists] + near
        finalists.append([s for k, s in enumerate(chosen) if s not in chosen[:k]])
    second = [
        Request(e, settings, seed)
        for e, few in zip(epsilons, finalists, strict=True)
        for settings in few
        for seed in range(effort.seeds)
    ]
    evaluate(rival, problem, second, memory)

    def mean(epsilon: float, settings: dict) -> float:
        seeds = [Request(epsilon, settings, seed) for seed in range(effort.seeds)]
        return statistics.fmean(evaluate(rival, problem, seeds, memory))

    return [
        max(few, key=lambda settings, e=epsilon: mean(e, settings))
        for epsilon, few in zip(epsilons, finalists, strict=True)
    ]


def contest(
    rival: Rival, problem: Problem, epsilons: list[float], seeds: int, memory: Memory
) -> list[tuple[dict, list[float]]]:
    """The picked settings at every epsilon, and their scores on fresh seeds."""
    picked = tune(rival, problem, epsilons, memory)
    requests = [
        Request(epsilon, settings, FRESH + seed)
        for epsilon, settings in zip(epsilons, picked, strict=True)
        for seed in range(seeds)
    ]
    values = evaluate(rival, problem, requests, memory)
    return [
        (settings, values[seeds * place : seeds * (place + 1)])
        for place, settings in enumerate(picked)
    ]
