"""The rounds of Frank-Wolfe over columns that shards hold. Nothing here ever sees a row."""

import pickle
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dplasso.base.arrays import Ints
from dplasso.cluster.crew import Crew
from dplasso.cluster.run_log import RunLog
from dplasso.mechanisms.random_bits import RandomBits
from dplasso.mechanisms.selection.block_draws import KEY, Standing, Trial, draw_trial, edges

LEAST_TRIALS, MOST_TRIALS = 1, 8  # at the same time
MOST_UNSENT = 64  # steps that a shard may not know of
SHOW_EVERY = 0.2  # seconds between two calls of ``progress``
MOST_ATTEMPTS = 5  # to take one step


class BehindError(Exception):
    """A shard has not taken all steps: it, or what it was sent, was lost."""


class Selections:
    """Rounds over the blocks of all shards: the driver draws blocks, and their shards decide.

    A round costs one question to one shard, unless its trial is void. A shard learns of the steps
    since it was last asked, and gets their columns, with the next question. It is asked at once if
    a step has made its bounds outdated.

    Formal guarantees
    -----------------
    *Released*: one signed vertex per round, by the exponential mechanism (`ColumnBlock`). It is
    durable before any shard learns of it (`RunLog`). Trials are numbered, their random bits depend
    on the secret, the round and the number alone, and the first that is not void counts, whichever
    is answered first. So the vertices are the same for any number of shards, and after any loss: a
    round that is repeated gives the same vertex. A driver that is started again uses the stored
    vertices and draws the others with a secret of its own, or, with a seed, the same ones.
    """

    def __init__(self, crew: Crew, log: RunLog, columns: int, classes: int) -> None:
        self._crew, self._log, self._classes = crew, log, classes
        self._edges = edges(columns)
        blocks = len(self._edges) - 1
        self._owner = np.empty(blocks, np.int64)
        self._tickets, self._exponents = np.zeros(blocks, np.int64), np.zeros(blocks, np.int64)
        self._horizons = np.zeros(blocks)
        self._shared = False
        self._vertices, self._signs = list[int](), list[int]()
        self._sent = [0] * crew.count  # steps that each shard was sent
        self._columns: dict[int, Any] = {}  # handles of the columns of steps not sent to all
        self._width = 1.0  # trials at the same time, rounded

    def share(self) -> None:
        """Divide the blocks among the shards, by their entries."""
        work = np.append(0, np.cumsum(self._crew.total("block_entries") + 2 * np.diff(self._edges)))
        goals = [int(work[-1]) * k // self._crew.count for k in range(self._crew.count)]
        ends = [*(int(end) for end in np.searchsorted(work, goals)), len(self._owner)]
        runs = list(zip(ends[:-1], ends[1:], strict=True))
        for k, (first, last) in enumerate(runs):
            self._owner[first:last] = k
        self._crew.share(runs)
        self._shared = True

    def run(
        self, rounds: int, bits: RandomBits, progress: Callable[[int], None] | None
    ) -> tuple[Ints, Ints]:
        """The vertices and signs of all rounds."""
        if not self._shared:
            self.share()
        self._vertices, self._signs = [], []
        with bits.exclusive() as generator:
            secret = generator.bytes(KEY)
        while len(self._vertices) < rounds and (stored := self._log.taken()) is not None:
            self._vertices.append(int(stored[0]))
            self._signs.append(int(stored[1]))
        if len(self._vertices) < rounds:
            self._catch_up()
        recoverable: tuple[type[Exception], ...] = (BehindError, *self._crew.lost)
        shown, failures = time.monotonic(), 0
        while len(self._vertices) < rounds:
            try:
                self._round(secret)
                failures = 0
            except recoverable:
                failures += 1
                if failures >= MOST_ATTEMPTS:
                    raise RuntimeError(
                        f"shards were lost {MOST_ATTEMPTS} times in the same round; their machines "
                        "may lack memory: give more actors, or machines with more of it"
                    ) from None
                self._catch_up()
            if progress is not None and time.monotonic() - shown > SHOW_EVERY:
                shown = time.monotonic()
                progress(len(self._vertices))
        return np.array(self._vertices, np.int64), np.array(self._signs, np.int8)

    def close(self) -> None:
        """Let go of the columns."""
        self._crew.unshare()
        self._shared = False

    def _round(self, secret: bytes) -> None:
        """Draw a vertex and store it; ask the shards whose bounds are outdated by its step."""
        done = len(self._vertices)
        found, column = self._drawn(secret, done)
        self._log.keep(np.array([found.vertex, found.sign], np.int64))
        self._vertices.append(found.vertex)
        self._signs.append(found.sign)
        self._columns[done] = column
        outdated = set(self._owner[found.path > self._horizons].tolist())
        outdated.update(k for k, sent in enumerate(self._sent) if done - sent > MOST_UNSENT)
        for answer, _ in [self._ask(k, []) for k in sorted(outdated)]:
            self._answered(answer)
        for step in range(min(self._columns), min(self._sent)):
            del self._columns[step]

    def _drawn(self, secret: bytes, done: int) -> tuple[Any, Any]:
        """The outcome of the first trial that is not void, and a handle of its column."""
        number, lot = 0, max(LEAST_TRIALS, min(MOST_TRIALS, round(self._width)))
        while True:
            by_shard: dict[int, list[Trial]] = {}
            for k in range(number, number + lot):
                trial = draw_trial(secret, done, k, self._tickets, self._exponents)
                if trial is not None:
                    by_shard.setdefault(int(self._owner[trial.block]), []).append(trial)
            number += lot
            asked = [self._ask(shard, trials) for shard, trials in by_shard.items()]
            found = [(self._answered(answer), column) for answer, column in asked]
            settled = [own for own in found if own[0] is not None]
            if settled:
                best = min(settled, key=lambda own: own[0].number)
                self._width += 0.05 * (best[0].number + 1 - self._width)
                return best

    def _ask(self, shard: int, trials: list[Trial]) -> Any:
        """Send a shard the steps that it does not know, and trials to decide after them."""
        first, last = self._sent[shard], len(self._vertices)
        steps = list(zip(self._vertices[first:last], self._signs[first:last], strict=True))
        columns = [
            self._columns[first + k]
            for k, (vertex, _) in enumerate(steps)
            if self._owner_of(vertex) != shard
        ]
        self._sent[shard] = last
        message = pickle.dumps((first, steps, trials))
        return self._crew.call(shard, "advance", message, *columns, parts=2)

    def _owner_of(self, vertex: int) -> int:
        column = vertex // self._classes
        return int(self._owner[np.searchsorted(self._edges, column, side="right") - 1])

    def _answered(self, handle: Any) -> Any:
        """The outcome of a shard's trials, after its blocks' worth was taken over."""
        found = pickle.loads(self._crew.answer(handle))
        if found is None:
            raise BehindError
        if found.changed is not None:
            self._take(found.changed)
        return found.outcome

    def _take(self, standing: Standing) -> None:
        self._tickets[standing.blocks] = standing.tickets
        self._exponents[standing.blocks] = standing.exponents
        self._horizons[standing.blocks] = standing.horizons

    def _catch_up(self) -> None:
        """Bring all shards to the current round, those that were lost as well."""
        crew, failures = self._crew, 0
        self._columns.clear()
        while True:
            try:
                crew.mend()
                found = [crew.answer(crew.call(k, "standing")) for k in range(crew.count)]
                behind = [k for k, (done, _) in enumerate(found) if done != len(self._vertices)]
                if not behind:
                    for _, standing in found:
                        self._take(standing)
                    self._sent = [len(self._vertices)] * crew.count
                    return
                self._repeat_steps(behind)
            except crew.lost:
                failures += 1
                if failures >= MOST_ATTEMPTS:
                    raise

    def _repeat_steps(self, behind: list[int]) -> None:
        """Shards send the columns of released vertices to those that have not taken all steps."""
        crew = self._crew
        vertices, signs = np.array(self._vertices, np.int64), np.array(self._signs, np.int64)
        columns = [crew.call(k, "columns_of", vertices) for k in range(crew.count)]
        for one in [crew.call(k, "catch_up", vertices, signs, *columns) for k in behind]:
            crew.answer(one)
