"""Tasks on several processes, each noted in the cache when it ends."""

import os
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from harness.options import allow_seeds

from comparison.memory import Memory
from comparison.methods import Task, perform

# Every process works on one thread: the tasks are what runs side by side.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Outcome(NamedTuple):
    """What became of a task. ``missing`` says why it has no figure, else it is None."""

    task: Task
    missing: str | None
    seconds: float


def run(tasks: list[Task], jobs: int, path: Path, seeds: int) -> Iterator[Outcome]:
    """Do tasks and hand out what became of them, in the order in which they end."""
    if jobs == 1:
        for task in tasks:
            yield _do(task, path, seeds)
        return
    os.environ.update(dict.fromkeys(THREADS, "1"))  # seen by the processes that start now
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(_do, task, path, seeds) for task in tasks]
        for future in as_completed(waiting):
            yield future.result()


def _do(task: Task, path: Path, seeds: int) -> Outcome:
    allow_seeds()
    memory, start = _memory(path), time.process_time()
    try:
        missing = perform(task, memory, seeds)
    except Exception as error:  # one fit that fails must not end a run of hours
        traceback.print_exc()
        missing = f"failed: {type(error).__name__}"
    seconds = time.process_time() - start
    if missing is None:
        memory.took(*task, seconds)
    return Outcome(task, missing, seconds)


@lru_cache(maxsize=1)
def _memory(path: Path) -> Memory:
    """The memory of this process: no other has the fits of its tasks."""
    return Memory(path)


def report(outcomes: Iterable[Outcome], tasks: list[Task]) -> None:
    """Print a line where all tasks of a method on a set have ended."""
    left = Counter((task.data, task.method) for task in tasks)
    spent: dict[tuple[str, str], float] = defaultdict(float)
    why: dict[tuple[str, str], str] = {}
    start, done = time.perf_counter(), 0
    for task, missing, seconds in outcomes:
        cell, done = (task.data, task.method), done + 1
        left[cell] -= 1
        spent[cell] += seconds
        if missing is not None:
            why[cell] = missing
        if not left[cell]:
            said = why.get(cell) or f"{spent[cell]:.1f} s of the processor"
            wall = time.perf_counter() - start
            where = f"{wall:6.0f} s {done:>6}/{len(tasks)}"
            print(f"{where}  {cell[0]:<18}{cell[1]:<15}{said}", flush=True)


def estimate(memory: Memory, tasks: list[Task]) -> str:
    """The minutes of the processor that tasks take, by set, as far as a seed of each is known.

    The first task of a process on a set includes reading the set and compiling.
    """
    by_cell: dict[tuple, list[float]] = defaultdict(list)
    for (data, method, epsilon, _), seconds in memory.seconds().items():
        by_cell[data, method, epsilon].append(seconds)
    total: dict[str, float] = defaultdict(float)
    unknown = 0
    for task in tasks:
        found = by_cell.get(task[:3])
        unknown += found is None
        total[task.data] += 0.0 if found is None else min(found)
    lines = [f"{name:<18}{seconds / 60.0:8.2f} minutes" for name, seconds in total.items()]
    everything = sum(total.values())
    last = f"{'all':<18}{everything / 60.0:8.2f} minutes of the processor"
    return "\n".join([*lines, last + (f"; {unknown} tasks are not known" if unknown else "")])
