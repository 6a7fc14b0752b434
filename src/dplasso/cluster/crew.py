"""The driver's handle of all shards: one question to all, one answer from each."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from dplasso.base import threads as pool
from dplasso.base.arrays import Ints
from dplasso.base.rooms import Room, new_room


class Load(NamedTuple):
    """How busy the process of a shard was, and how much memory it uses."""

    seconds: float  # of processor time so far
    memory: int  # bytes
    process: int


class Crew(ABC):
    """Shards, wherever they are, in an order that does not change.

    Formal guarantees
    -----------------
    A shard that is lost is built again from its files, checked to hold the same rows, and asked
    again. Shards draw nothing, except from keys that the driver sends, so every answer is the one
    that the lost shard would have given. No row passes through the driver: answers are public
    facts, exact sums, numbers of rows and of people, outcomes of trials, and loads. Digests of
    people, and columns, go from shard to shard.
    """

    count: int

    @abstractmethod
    def ask(self, method: str, *args: Any) -> Iterator[Any]:
        """Call a method of every shard; the answers come in any order."""

    @abstractmethod
    def tell(self, method: str, *args: Any) -> None:
        """Call a method that changes shards; a shard that is built again is told again.

        What the same method was told before no longer matters.
        """

    def begin(self, method: str, *args: Any) -> None:
        """`tell`, and forget what shards were told before, which no longer matters."""
        self.tell(method, *args)

    @abstractmethod
    def ask_first(self, method: str, *args: Any) -> Any:
        """Call a method of the first shard only."""

    @abstractmethod
    def count_people(self) -> int:
        """Count the rows of every person in all shards; returns the number of people."""

    # Columns instead of rows: every shard has some blocks of columns, and is asked by itself.

    lost: tuple[type[Exception], ...] = ()  # what `answer` raises when a shard is lost

    @abstractmethod
    def share(self, runs: Sequence[tuple[int, int]]) -> None:
        """Shards send each other their rows' columns; shard k takes the blocks of run k."""

    def unshare(self) -> None:
        """Shards let go of their columns."""
        self.tell("drop_columns")

    @abstractmethod
    def call(self, shard: int, method: str, *args: Any, parts: int = 1) -> Any:
        """Start a call of one shard's method; calls of a shard are carried out in their order.

        Returns a handle of the answer, or of each of its ``parts``, which can be an argument of
        other calls.
        """

    @abstractmethod
    def answer(self, handle: Any) -> Any:
        """What a call has returned."""

    def mend(self) -> None:  # noqa: B027  # shards of this process are not lost
        """Build lost shards again, with their columns as they were before the first step."""

    @abstractmethod
    def close(self) -> None:
        """End all shards, and whatever was started for them."""

    def total(self, method: str, *args: Any, room: Room = new_room) -> Ints:
        """The sum of all shards' answers, in ``room``.

        The method must not keep its arguments.
        """
        answers = self._lent(method, *args)
        first = next(answers)
        found = room(first.shape)
        flat, added = found.reshape(-1), first.reshape(-1)
        runs = pool.even_runs(flat.size, pool.worth(flat.size))
        # The first two answers are added as one pass over all numbers, not as a copy and a sum.
        if (second := next(answers, None)) is None:
            pool.run(_copy, [(flat, added, *run) for run in runs])
            return found
        pool.run(_add, [(added, second.reshape(-1), flat, *run) for run in runs])
        for other in answers:
            pool.run(_add, [(flat, other.reshape(-1), flat, *run) for run in runs])
        return found

    def _lent(self, method: str, *args: Any) -> Iterator[Any]:
        """`ask`, where arrays of questions and answers may last until the next question only."""
        return self.ask(method, *args)

    def loads(self) -> list[Load]:
        """How busy the shards are."""
        return sorted((Load(*load) for load in self.ask("load")), key=lambda load: load.process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _copy(to: Ints, source: Ints, first: int, last: int) -> None:
    to[first:last] = source[first:last]


def _add(one: Ints, other: Ints, to: Ints, first: int, last: int) -> None:
    np.add(one[first:last], other[first:last], out=to[first:last])
