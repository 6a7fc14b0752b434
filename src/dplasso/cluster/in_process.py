"""Shards in this process, one after the other: for files that one machine can hold."""

import secrets
from collections.abc import Iterator, Sequence
from typing import Any

from dplasso.cluster.crew import Crew
from dplasso.cluster.shard import Shard


class InProcess(Crew):
    """Shards as objects of this process (`Crew`)."""

    def __init__(
        self,
        parts: Sequence[tuple[str, ...]],
        options: dict[str, Any],
        x_bound: float | None,
        threads: int,
    ) -> None:
        self.count = len(parts)
        self._shards = [Shard() for _ in parts]
        for shard, paths in zip(self._shards, parts, strict=True):
            shard.read(paths, options, x_bound, threads)

    def ask(self, method: str, *args: Any) -> Iterator[Any]:
        for shard in self._shards:
            yield getattr(shard, method)(*args)

    def tell(self, method: str, *args: Any) -> None:
        list(self.ask(method, *args))

    def ask_first(self, method: str, *args: Any) -> Any:
        return getattr(self._shards[0], method)(*args)

    def count_people(self) -> int:
        key = secrets.token_bytes(32)
        found = [shard.people(key, self.count) for shard in self._shards]
        parts = [[one] for one in found] if self.count == 1 else found
        people, *totals = zip(
            *(shard.merged(*(own[k] for own in parts)) for k, shard in enumerate(self._shards)),
            strict=True,
        )
        for shard, own in zip(self._shards, totals, strict=True):
            shard.take_totals(*own)
        return sum(people)

    def share(self, runs: Sequence[tuple[int, int]]) -> None:
        found = [shard.column_parts(runs) for shard in self._shards]
        parts = [[one] for one in found] if self.count == 1 else found
        for k, shard in enumerate(self._shards):
            shard.take_columns(runs[k], *(own[k] for own in parts))

    def call(self, shard: int, method: str, *args: Any, parts: int = 1) -> Any:
        return getattr(self._shards[shard], method)(*args)

    def answer(self, handle: Any) -> Any:
        return handle

    def close(self) -> None:
        self._shards = []
