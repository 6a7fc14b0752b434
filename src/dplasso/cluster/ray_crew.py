"""Shards as actors of Ray, which are built again when they, or their machines, are lost."""

import contextlib
import secrets
from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from dplasso.cluster.connection import Connection
from dplasso.cluster.crew import Crew
from dplasso.cluster.shard import CHANGED, Shard
from dplasso.cluster.shared_memory import Handle, Message, SharedMemory

MOST_ATTEMPTS = 5  # to build a shard again for one question
PLACED_WITHIN = 120.0  # seconds that a machine may take to start the process of a shard
LARGE = 1 << 20  # bytes from which an argument is sent once to each machine, and not to each shard


class _Actor(Shard):
    """A shard as an actor. It shares memory with a driver on the same machine."""

    def meet(self, questions: Handle, answers: Handle) -> bool:
        """Join the driver's memory; returns whether that is possible."""
        asked, answered = SharedMemory.joined(questions), SharedMemory.joined(answers)
        if asked is None or answered is None:
            return False
        self._questions, self._answers = asked, answered
        self._room = answered.room
        return True

    def answered(self, method: str, question: Message, lent: bool) -> Message:
        """The answer of a method, in shared memory, as the question is.

        A question that is only ``lent`` is overwritten by the next one.
        """
        args = self._questions.read(question, copied=not lent)
        return self._answers.write(getattr(self, method)(*args))


class RayCrew(Crew):
    """Shards as actors (`Crew`). Closing it ends them, and the cluster if it was started for them.

    Nothing is left to Ray's own restarts: a new actor has to read its files, and to be told what
    the others know, before it is asked again. Actors on the driver's machine find the arrays of a
    question, and leave those of their answer, in shared memory. A new actor gets new memory for its
    answers, so that a lost one which still writes does no harm.
    """

    def __init__(
        self,
        connection: Connection,
        parts: Sequence[tuple[str, ...]],
        options: dict[str, Any],
        x_bound: float | None,
        threads: int,
    ) -> None:
        self._connection, self._ray = connection, connection.ray
        self.count, self._parts = len(parts), list(parts)
        self._reading = (options, x_bound, threads)
        self._told: list[tuple[str, tuple[Any, ...]]] = []
        self._digest_key, self._digests = secrets.token_bytes(32), list[bytes]()
        self._people_key: bytes | None = None
        self._runs: list[tuple[int, int]] = []  # blocks of columns of each shard, if any
        self._unshared: set[int] = set()  # shards that have not taken their columns
        self._actors: list[Any] = []
        self._questions = SharedMemory.made()
        self._shared: list[SharedMemory | None] = [None] * self.count  # memory of the answers
        errors = self._ray.exceptions
        self._lost = (
            *(errors.RayActorError, errors.ObjectLostError, errors.NodeDiedError),
            *(errors.WorkerCrashedError, errors.OutOfMemoryError),
        )
        self.lost = self._lost
        try:
            self._actors = [self._new_actor() for _ in parts]
            self._check_placed(self._actors)
            for k in range(self.count):
                self._patiently(k, partial(self._meet, k), self._replace)
            reads = [self._read(k) for k in range(self.count)]
            for k, read in enumerate(reads):
                self._patiently(k, partial(self._got, read), self._reread)
            self._digests = list(self._in_order("row_digests", self._digest_key))
        except BaseException:
            self.close()
            raise

    def ask(self, method: str, *args: Any) -> Iterator[Any]:
        # All at once: another question may come before the last answer is used.
        return iter([answer for _, answer in self._answers(method, *args)])

    def tell(self, method: str, *args: Any) -> None:
        for _ in self._answers(method, *args):
            pass
        self._told = [told for told in self._told if told[0] != method] + [(method, args)]

    def begin(self, method: str, *args: Any) -> None:
        self._told.clear()
        self._runs = []
        self.tell(method, *args)

    def ask_first(self, method: str, *args: Any) -> Any:
        def asked() -> Any:
            return self._got(self._call(0, method, args))

        return self._patiently(0, asked, self._rebuild)

    def count_people(self) -> int:
        self._people_key = secrets.token_bytes(32)
        return self._exchanged()

    def share(self, runs: Sequence[tuple[int, int]]) -> None:
        self._runs, self._unshared = list(runs), set(range(self.count))
        self.mend()

    def unshare(self) -> None:
        self._runs = []
        super().unshare()

    def call(self, shard: int, method: str, *args: Any, parts: int = 1) -> Any:
        found = getattr(self._actors[shard], method)
        return (found if parts == 1 else found.options(num_returns=parts)).remote(*args)

    def answer(self, handle: Any) -> Any:
        return self._got(handle)

    def mend(self) -> None:
        failures = 0
        while True:
            try:
                for k in range(self.count):
                    self._patiently(k, partial(self._alive, k), self._rebuild)
                self._share_again(sorted(self._unshared))
                self._unshared.clear()
                return
            except self._lost:
                failures += 1
                self._check_attempts(failures)

    def _share_again(self, takers: list[int]) -> None:
        """Shards send their parts of the takers' columns; the driver sees references only."""
        if not takers:
            return
        runs = [self._runs[k] for k in takers]
        own = [a.column_parts.options(num_returns=len(runs)).remote(runs) for a in self._actors]
        parts = [[one] for one in own] if len(runs) == 1 else own
        done = [
            self._call(k, "take_columns", (run, *(mine[place] for mine in parts)))
            for place, (k, run) in enumerate(zip(takers, runs, strict=True))
        ]
        for one in done:
            self._got(one)

    def close(self) -> None:
        for actor in self._actors:
            with contextlib.suppress(Exception):  # it may be dead, and so may the cluster
                self._ray.kill(actor, no_restart=True)
        self._actors = []
        for memory in (self._questions, *self._shared):
            if memory is not None:
                memory.close()
        self._connection.close()

    def _lent(self, method: str, *args: Any) -> Iterator[Any]:
        for _, answer in self._answers(method, *args, lent=True):
            yield answer

    def _answers(self, method: str, *args: Any, lent: bool = False) -> Iterator[tuple[int, Any]]:
        """The number of every shard and its answer, in the order in which they come."""
        near = None if self._questions is None else self._questions.write(args)

        @cache
        def far() -> tuple[Any, ...]:
            return tuple(self._ray.put(arg) if _is_large(arg) else arg for arg in args)

        def call(k: int) -> Any:
            if self._shared[k] is None:
                return self._call(k, method, far())
            return self._call(k, "answered", (method, near, lent))

        asked = {call(k): k for k in range(self.count)}
        failures = [0] * self.count
        while asked:
            (ready, *_), _ = self._ray.wait(list(asked), num_returns=1)
            k = asked.pop(ready)
            try:
                answer = self._got(ready)
            except self._lost:
                failures[k] += 1
                self._check_attempts(failures[k])
                self._revive(k)
                asked[call(k)] = k
                continue
            del ready  # the answer is freed as soon as the caller is done with it
            shared = self._shared[k]
            yield k, answer if shared is None else shared.read(answer, copied=not lent)

    def _in_order(self, method: str, *args: Any) -> Iterator[Any]:
        for _, answer in sorted(self._answers(method, *args), key=lambda found: found[0]):
            yield answer

    def _call(self, k: int, method: str, args: tuple[Any, ...]) -> Any:
        return getattr(self._actors[k], method).remote(*args)

    def _got(self, reference: Any) -> Any:
        """An answer; an error of a shard is raised as it was raised there."""
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            cause = error.cause
        if isinstance(cause, BaseException):
            raise cause
        raise RuntimeError("a shard failed, and cannot say why; see the logs of Ray")

    def _new_actor(self) -> Any:
        options = {
            "num_cpus": self._connection.cpus_per_actor,
            "max_restarts": 0,
            "max_task_retries": 0,
            "scheduling_strategy": "SPREAD",
        }
        return self._ray.remote(_Actor).options(**options).remote()

    def _meet(self, k: int) -> None:
        """Share memory with an actor, if it is on this machine."""
        if (old := self._shared[k]) is not None:
            old.close()
        self._shared[k] = made = SharedMemory.made()
        if self._questions is None or made is None:
            return
        if not self._got(self._call(k, "meet", (self._questions.handle, made.handle))):
            made.close()
            self._shared[k] = None

    def _read(self, k: int) -> Any:
        return self._call(k, "read", (self._parts[k], *self._reading))

    def _check_placed(self, actors: list[Any]) -> None:
        """Reject a cluster that has no room for all actors, instead of waiting for ever."""
        placed = [actor.load.remote() for actor in actors]
        _, waiting = self._ray.wait(placed, num_returns=len(placed), timeout=PLACED_WITHIN)
        if waiting:
            raise ValueError(
                "no machine of the cluster has a free processor for a shard; free some, add "
                "machines, or give fewer actors"
            )

    def _revive(self, k: int) -> None:
        self._patiently(k, lambda: self._rebuild(k), lambda _: None)

    def _patiently(self, k: int, work: Any, mend: Any) -> Any:
        """The result of ``work``; what is lost meanwhile is mended, a few times."""
        failures = 0
        while True:
            try:
                if failures:
                    mend(k)
                return work()
            except self._lost:
                failures += 1
                self._check_attempts(failures)

    @staticmethod
    def _check_attempts(failures: int) -> None:
        if failures >= MOST_ATTEMPTS:
            raise RuntimeError(
                f"a shard was lost {MOST_ATTEMPTS} times at the same place; its machine may lack "
                "memory: give more actors, or machines with more of it"
            )

    def _replace(self, k: int) -> None:
        """A new actor, without rows, for shard ``k``."""
        with contextlib.suppress(Exception):  # it is dead, or unreachable
            self._ray.kill(self._actors[k], no_restart=True)
        self._actors[k] = self._new_actor()
        self._check_placed([self._actors[k]])

    def _reread(self, k: int) -> None:
        """A new actor with the rows of shard ``k``."""
        self._replace(k)
        self._meet(k)
        self._got(self._read(k))
        if self._digests:
            found = self._got(self._call(k, "row_digests", (self._digest_key,)))
            if found != self._digests[k]:
                raise ValueError(CHANGED)

    def _rebuild(self, k: int) -> None:
        """A new actor that has the rows of shard ``k`` and knows what the others know."""
        self._reread(k)
        if self._people_key is not None:
            self._exchange()
        for method, args in self._told:
            self._got(self._call(k, method, args))
        if self._runs:
            self._unshared.add(k)

    def _exchanged(self) -> int:
        failures = 0
        while True:
            try:
                return self._exchange()
            except self._lost:
                failures += 1
                self._check_attempts(failures)
                for k in range(self.count):
                    self._patiently(k, partial(self._alive, k), self._reread)

    def _alive(self, k: int) -> None:
        self._got(self._call(k, "load", ()))

    def _exchange(self) -> int:
        """Shards tell each other the rows of their people; the driver sees references only."""
        n, key = self.count, self._people_key
        own = [a.people.options(num_returns=n).remote(key, n) for a in self._actors]
        parts = [[one] for one in own] if n == 1 else own
        merged = [
            actor.merged.options(num_returns=n + 1).remote(*(mine[k] for mine in parts))
            for k, actor in enumerate(self._actors)
        ]
        done = [
            actor.take_totals.remote(*(totals[k + 1] for totals in merged))
            for k, actor in enumerate(self._actors)
        ]
        for one in done:
            self._got(one)
        return sum(self._got(people) for people, *_ in merged)


def _is_large(arg: Any) -> bool:
    """Whether an argument is an array of that size, or may hold some."""
    if isinstance(arg, np.ndarray):
        return arg.nbytes >= LARGE
    return not isinstance(arg, bool | int | float | str | bytes | None)
