"""The standard private selection: every round computes all scores."""

from typing import Any

import numpy as np

from dplasso.base import threads as pool
from dplasso.kernels import noisy_max as kernels
from dplasso.kernels.gradients import row_gradients
from dplasso.mechanisms.selection.base import Rule

# With fewer entries than this a round ends before a second thread has started.
THREADED_ENTRIES = 300_000
# The same limit for row gradients, in rows.
THREADED_ROWS = 100_000


class NoisyMax(Rule):
    """Draws (j, s) with probability proportional to exp(theta * s * alpha_j), all alpha computed.

    This is the standard algorithm: the law of the largest of all scores with Gumbel noise added.
    Row gradients are those of the current iterate. Rounds run on all cores; the releases do not
    depend on their number.

    Formal guarantees
    -----------------
    Those of `Rule`. *Why*: a row changes every score by at most ``B Q``, exactly, because scores
    are sums of whole numbers; so the log-weights move inside a range of ``2 theta B Q``. The draw
    has exactly this law: tickets are whole numbers too, and the tickets of a vertex that exceed its
    weight make a trial void.
    """

    def _prepare(self) -> None:
        problem = self.problem
        self.blocks = cut(problem.indptr)
        blocks = len(self.blocks.slots) - 1
        cells = blocks * problem.classes + 1
        self.cells = kernels.Cells(np.zeros(cells, np.int64), np.zeros(cells, np.int64))
        kernels.count_empty(problem, self.blocks, self.cells)
        self.gradients = np.empty(len(problem.labels) * problem.classes)
        self._row_calls = self._calls_by_rows()
        self._block_calls = self._calls_by_blocks()

    def advance(self, until: int) -> None:
        state = (self.problem, self.walk, self.blocks, self.cells, self.gradients, self.generator)
        if int(self.problem.indptr[-1]) * self.problem.classes < THREADED_ENTRIES:
            kernels.advance(*state, self.done, until)
            self.done = until
        while self.done < until:
            pool.run(row_gradients, self._row_calls)
            pool.run(kernels.count_blocks, self._block_calls)
            kernels.finish_round(*state, self.done)
            self.done += 1

    def _calls_by_rows(self) -> list[tuple[Any, ...]]:
        rows = len(self.problem.labels)
        parts = self.threads if rows * self.problem.classes >= THREADED_ROWS else 1
        runs = pool.even_runs(rows, parts)
        return [(self.problem, self.walk, self.gradients, *run) for run in runs]

    def _calls_by_blocks(self) -> list[tuple[Any, ...]]:
        # The overhead of a column is about that of two entries.
        runs = pool.balanced_runs(self.blocks.entries + 2 * self.blocks.slots, self.threads)
        return [(self.problem, self.blocks, self.cells, self.gradients, *run) for run in runs]


def cut(indptr: Any) -> kernels.Blocks:
    """Cut columns into blocks."""
    nothing = np.empty(0, np.int64)
    blocks, slots = kernels.cut(indptr, nothing, nothing)
    result = kernels.Blocks(
        entries=np.empty(blocks + 1, np.int64),
        slots=np.empty(blocks + 1, np.int64),
        offsets=np.empty(slots, np.uint16),
        lengths=np.empty(slots, np.uint16),
        empty=np.flatnonzero(indptr[1:] == indptr[:-1]),
    )
    kernels.cut(indptr, result.entries, result.slots)
    kernels.list_by_length(indptr, result)
    return result
