"""A small pool of threads for compiled loops that release the interpreter lock.

Work is always split so that the parts' results do not depend on how many threads there are.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

_pool: ThreadPoolExecutor | None = None
_SMALL = 1 << 14  # entries that are handled in less time than a thread takes to start


def available() -> int:
    """Number of threads used by default: one per core this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def worth(entries: int) -> int:
    """Number of threads for a loop over this many entries: one if they are few."""
    return available() if entries > _SMALL else 1


def run(function: Callable[..., Any], calls: Sequence[Iterable[Any]]) -> list[Any]:
    """Run ``function(*call)`` for all calls in parallel; results have the order of the calls."""
    global _pool
    if len(calls) == 1:
        return [function(*calls[0])]
    if _pool is None:
        _pool = ThreadPoolExecutor(max_workers=max(available(), 2), thread_name_prefix="dplasso")
    # The first call runs in this thread: handing it over would only cost a thread switch.
    others = [_pool.submit(function, *call) for call in calls[1:]]
    return [function(*calls[0])] + [other.result() for other in others]


def even_runs(length: int, parts: int) -> list[tuple[int, int]]:
    """Split ``range(length)`` into at most ``parts`` runs of equal length."""
    if parts == 1:
        return [(0, length)]
    edges = [length * part // parts for part in range(parts + 1)]
    return [(a, b) for a, b in zip(edges[:-1], edges[1:], strict=True) if a < b] or [(0, length)]


def balanced_runs(starts: NDArray[Any], parts: int) -> list[tuple[int, int]]:
    """Split items into at most ``parts`` runs of about equal work; item k's work is
    ``starts[k + 1] - starts[k]``."""
    items, total = len(starts) - 1, int(starts[-1])
    if parts == 1:
        return [(0, items)]
    # The goals have the type of the starts: searchsorted would otherwise copy all starts.
    goals = np.array([total * part // parts for part in range(1, parts)], starts.dtype)
    inner = np.minimum(np.searchsorted(starts, goals), items)
    edges = [0, *(int(edge) for edge in inner), items]
    return [(a, b) for a, b in zip(edges[:-1], edges[1:], strict=True) if a < b] or [(0, items)]


def zeros(length: int, kind: Any, parts: int) -> NDArray[Any]:
    """``np.zeros``, in as many threads: new memory is cleared where it is first written."""
    made = np.empty(length, kind)
    run(_clear, [(made, *part) for part in even_runs(length, parts)])
    return made


def _clear(array: NDArray[Any], first: int, last: int) -> None:
    array[first:last] = 0


def _forget_pool() -> None:
    """Forget the pool in a forked child, which has none of its parent's threads."""
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
