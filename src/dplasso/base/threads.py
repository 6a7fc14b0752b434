"""A small pool of threads for compiled loops that release the interpreter lock.

Work is always split so that the parts' results do not depend on how many threads there are.

A step of a descent is half a dozen loops of a millisecond or less, and on many cores most threads
would wake when others are nearly done. So threads take the calls of a loop one after the other, and
whoever waits for them waits until all calls are done, not until all threads have woken.
"""

import os
import queue
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SMALL = 1 << 14  # entries that are handled in less time than a thread takes to start
_TURNS = 8  # runs for every thread, where threads take runs in turns
_LONG = 10.0  # seconds that an interrupted loop is given to end


def available() -> int:
    """Number of threads used by default: one per core this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def worth(entries: int) -> int:
    """Number of threads for a loop over this many entries: one if they are few."""
    return available() if entries > _SMALL else 1


def run(function: Callable[..., Any], calls: Sequence[Iterable[Any]]) -> list[Any]:
    """Run ``function(*call)`` for all calls in parallel; results have the order of the calls.

    All calls have ended when it returns, or raises what the first of them raised.
    """
    if len(calls) == 1:
        return [function(*calls[0])]
    loop = _Loop(function, calls)
    _pool.help_with(loop, len(calls) - 1)
    return loop.results()


class _Loop:
    """The calls of one `run`, which any number of threads take one after the other."""

    def __init__(self, function: Callable[..., Any], calls: Sequence[Iterable[Any]]) -> None:
        self._function, self._calls = function, calls
        self._found: list[Any] = [None] * len(calls)
        self._errors: list[BaseException | None] = [None] * len(calls)
        # Steps of these iterators are not divided by other threads.
        self._places, self._others = iter(range(len(calls))), iter(range(len(calls) - 1))
        self._done = threading.Lock()
        self._done.acquire()

    def work(self) -> None:
        """Take calls as long as there are any."""
        for place in self._places:
            try:
                self._found[place] = self._function(*self._calls[place])
            except BaseException as error:  # raised by `results`
                self._errors[place] = error
            if next(self._others, None) is None:  # all others have ended
                self._done.release()

    def results(self) -> list[Any]:
        """Take calls, too, and wait for those that others have taken."""
        try:
            self.work()
            self._done.acquire()
        except BaseException:  # an interrupt; others still write to what the caller holds
            self._done.acquire(timeout=_LONG)
            raise
        for error in self._errors:
            if error is not None:
                raise error
        return self._found


class _Pool:
    """Threads that wait for loops; they are started when they are first needed."""

    def __init__(self) -> None:
        self._loops: queue.SimpleQueue[_Loop] = queue.SimpleQueue()
        self._starting, self._started = threading.Lock(), 0

    def help_with(self, loop: _Loop, most: int) -> None:
        """Ask as many threads as there are, up to ``most``, to take calls of a loop."""
        count = min(most, max(available(), 2) - 1)
        if self._started < count:
            with self._starting:
                while self._started < count:
                    threading.Thread(target=self._serve, name="dplasso", daemon=True).start()
                    self._started += 1
        for _ in range(count):
            self._loops.put(loop)

    def _serve(self) -> None:
        while True:
            self._loops.get().work()


_pool = _Pool()


def even_runs(length: int, parts: int) -> list[tuple[int, int]]:
    """Split ``range(length)`` into at most ``parts`` runs of equal length."""
    if parts == 1:
        return [(0, length)]
    edges = [length * part // parts for part in range(parts + 1)]
    return [(a, b) for a, b in zip(edges[:-1], edges[1:], strict=True) if a < b] or [(0, length)]


def balanced_runs(starts: NDArray[Any], parts: int, each: int = 0) -> list[tuple[int, int]]:
    """Split items into at most ``parts`` runs of about equal work; item k's work is
    ``starts[k + 1] - starts[k]``, and ``each`` besides."""
    items = len(starts) - 1
    if parts == 1:
        return [(0, items)]

    def before(item: int) -> int:
        return int(starts[item]) + each * item

    total = before(items)
    goals = (total * part // parts for part in range(1, parts))
    edges = [0, *(bisect_left(range(items), goal, key=before) for goal in goals), items]
    return [(a, b) for a, b in zip(edges[:-1], edges[1:], strict=True) if a < b] or [(0, items)]


def edges_of_turns(starts: NDArray[Any], threads: int, each: int = 0) -> NDArray[np.int64]:
    """Edges of the runs of `balanced_runs`, several for every thread, for `run_in_turns`."""
    return edges_of(balanced_runs(starts, 1 if threads == 1 else _TURNS * threads, each))


def edges_of(runs: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
    """Where runs that follow each other begin, and where the last one ends."""
    return np.array([runs[0][0], *(end for _, end in runs)], np.int64)


def run_in_turns(
    loop: Callable[..., Any],
    facts: tuple[Any, ...],
    edges: NDArray[np.int64],
    outs: Iterable[Any],
) -> None:
    """Run ``loop(*facts, edges, taken, out)`` for all ``outs`` in parallel.

    All of these loops take runs in turns, by the counter ``taken`` (`kernels/turns.py`).
    """
    taken = np.zeros(1, np.int64)
    run(loop, [(*facts, edges, taken, out) for out in outs])


def zeros(length: int, kind: Any, parts: int) -> NDArray[Any]:
    """``np.zeros``, in as many threads: new memory is cleared where it is first written."""
    made = np.empty(length, kind)
    clear(made, parts)
    return made


def clear(vector: NDArray[Any], parts: int) -> None:
    """Set all numbers of a vector to 0, in as many threads."""
    run(_clear, [(vector, *part) for part in even_runs(len(vector), parts)])


def _clear(array: NDArray[Any], first: int, last: int) -> None:
    array[first:last] = 0


def _forget_pool() -> None:
    """Forget the pool in a forked child, which has none of its parent's threads."""
    global _pool
    _pool = _Pool()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
