"""Running the columns of the table: ours and theirs, by the names they have there."""

import statistics
import subprocess
import time
from typing import Any

import numpy as np
from rivals.amp import AMP
from rivals.diffprivlib_rival import DIFFPRIVLIB
from rivals.dp_gd import DP_GD
from rivals.dp_sgd import DP_SGD
from rivals.problem import Problem, Request
from rivals.tuning import FRESH, contest

from comparison.memory import Memory
from comparison.ours import OURS, score, why_not

RIVALS: dict[str, Any] = {rival.name: rival for rival in (DP_SGD, DP_GD, AMP, DIFFPRIVLIB)}
COLUMNS = (*OURS, *RIVALS)


def run(column: str, problem: Problem, epsilons: list[float], seeds: int, memory: Memory) -> None:
    """Fit what is not remembered of a column on a set, and say how it went."""
    note = run_ours if column in OURS else run_rival
    start = time.perf_counter()
    missing = note(column, problem, epsilons, seeds, memory)
    if missing is not None:
        print(f"{problem.name:<18}{column:<15}{missing}", flush=True)
        return
    means = [statistics.fmean(known(memory, problem.name, column, e, seeds)) for e in epsilons]
    figures = " ".join(f"{mean:.3f}" for mean in means)
    seconds = time.perf_counter() - start
    print(f"{problem.name:<18}{column:<15}{figures}  {seconds:.0f} s", flush=True)


def run_ours(
    column: str, problem: Problem, epsilons: list[float], seeds: int, memory: Memory
) -> str | None:
    missing = why_not(column, problem)
    if missing is not None:
        return missing
    for epsilon in epsilons:
        memory.pick(problem.name, column, epsilon, {})
        for seed in range(FRESH, FRESH + seeds):
            request = Request(epsilon, {}, seed)
            if memory.get(problem.name, column, request) is None:
                value = score(column, problem, epsilon, seed)
                memory.put(problem.name, column, request, value)
    return None


def run_rival(
    column: str, problem: Problem, epsilons: list[float], seeds: int, memory: Memory
) -> str | None:
    rival = RIVALS[column]
    if rival is DIFFPRIVLIB and not rival.can(problem):
        return "dense only"
    try:
        found = contest(rival, problem, epsilons, seeds, memory)
    except subprocess.CalledProcessError as error:
        return f"not run: {error}"
    for epsilon, (settings, _) in zip(epsilons, found, strict=True):
        memory.pick(problem.name, column, epsilon, settings)
    return None


def known(memory: Memory, data: str, column: str, epsilon: float, seeds: int) -> list[float]:
    """The scores of a cell on fresh seeds, as far as they are known."""
    settings = memory.picked(data, column, epsilon)
    if settings is None:
        return []
    requests = [Request(epsilon, settings, seed) for seed in range(FRESH, FRESH + seeds)]
    values = [memory.get(data, column, request) for request in requests]
    return [value for value in values if value is not None]


def facts(problem: Problem, measure: str) -> dict[str, Any]:
    share = float(np.mean(problem.test_labels))
    return {
        "rows": problem.n_rows,
        "columns": problem.n_columns,
        "majority": max(share, 1.0 - share),
        "measure": measure,
    }
