"""A pool of processes, each on a core of its own."""

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from typing import Any


def one_core_each(jobs: int) -> ProcessPoolExecutor:
    """Return a pool of ``jobs`` fresh processes whose threads do not compete for cores."""
    context = multiprocessing.get_context("spawn")
    taken = context.Value("i", 0)
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=_take, initargs=(taken,))


def _take(taken: Any) -> None:
    if not hasattr(os, "sched_setaffinity"):
        return
    with taken.get_lock():
        mine = taken.value
        taken.value += 1
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[mine % len(cores)]})
