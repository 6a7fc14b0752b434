"""Learning from sparse rows of many columns: only the weights that rows touch are computed.

Noise in blocks (`dplasso.streams.blocks`) is drawn number by number. The point that a leader
follows is then computed where a row touches it, as long as it lies inside the ball. Whether it does
is known without drawing all noise, but for an event that never happens.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.base.arrays import Floats
from dplasso.base.one_at_a_time import OneAtATime
from dplasso.domains import L2Ball
from dplasso.kernels import blocks, stream_steps
from dplasso.online.leaders import Leader, ProjectedLeader

# Fewest numbers for which the length of noise is as good as known, and how much longer than
# expected it is assumed to be.
FEWEST, _LONGER = 1 << 13, 1.25
_CLOSE = 1.0 - 1e-6  # covers the rounding of lengths
_MOST_FLOORS = 64  # far more than noises that are added up


class FewColumns:
    """The weights of a `ProjectedLeader` over a Euclidean ball, computed where rows touch them.

    When a block is finished, all weights are computed: the average of the points of finished blocks
    (`stream_steps.fresh_share`; without averaging, the latest point). Until the next one is
    finished, weights are that average, moved towards the latest point by the share of the rows
    since.

    Formal guarantees
    -----------------
    - Weights are functions of released sums and public numbers. They cost nothing beyond the sum.
    - Only what is looked at is computed, and nothing else depends on what is looked at. This holds
      but for an event of probability below 1e-190 per release: that the noise within a block, of at
      least `FEWEST` independent normal numbers, is 1.25 times as long as expected. By Chernoff's
      bound for d numbers this has probability exp(-d (0.5625 - ln 1.5625) / 2), and d is at least
      2^13. Otherwise, the length of the released sum is at most that of the sum of finished blocks
      with its noise, which is computed, plus the lengths of the rows since, plus that of the noise
      within the block. Where this bound does not show that the point is inside the ball, all of it
      is computed and projected.
    - Nobody looks while rows are learned from or noise is drawn, not even a signal handler in the
      same thread: it would see a sum with noise that another sum will have. After an
      interrupt, nobody looks until further rows are learned from. A stream with a journal refuses
      these, since it will repeat the interrupted steps, with the same noise and all their rows.
    """

    def __init__(
        self, leader: ProjectedLeader, total: Any, outputs: int, count: Callable[[int], int]
    ) -> None:
        self._leader, self._total, self._outputs, self._count = leader, total, outputs, count
        assert isinstance(leader.domain, L2Ball)
        self._radius = leader.domain.radius
        self._scratch = np.zeros(leader.dimension)
        noise = total.blocks.within.largest * _LONGER + 0.5 * _MOST_FLOORS
        self._noise = noise * math.sqrt(leader.dimension)
        # The number of finished blocks, the average of their points, and the rows up to there.
        self._average: tuple[int, Floats, int] = (0, leader.weights, 0)
        # A block, and the most that the length of its sum without the noise within can be.
        self._known: tuple[Any, float] = (None, 0.0)
        self._alone = OneAtATime()
        self._complete = True  # whether all rows of the steps taken were added

    def learn(
        self, rows: Any, labels: Floats, margins: Floats, batch: int, loss: tuple[Any, float]
    ) -> int:
        """Learn from the first batches, which look at releases of one block; returns their rows."""
        with self._alone:
            return self._learned(rows, labels, margins, batch, loss)

    def _learned(
        self, rows: Any, labels: Floats, margins: Floats, batch: int, loss: tuple[Any, float]
    ) -> int:
        indptr, indices, values = rows
        block, inside, seen = self._opened()
        steps = min(int(block.paths.shape[1]) + 1 - inside, len(labels) // batch)
        block.meet(indices[indptr[0] : indptr[steps * batch]], self._outputs)
        most, row_length = self._longest(block), math.ldexp(1.0, self._total.bits)
        self._complete = False
        self._count(steps * batch)
        self._total.advance(steps)
        # Before rows are added: if an interrupt loses their count, the bound covers them.
        self._known = (block, most + steps * batch * row_length)
        done = 0
        while done < steps:
            mine = slice(done * batch, steps * batch)
            part = (indptr[mine.start : mine.stop + 1], indices, values)
            what = (part, labels[mine], margins[mine], batch, loss)
            now = (seen + mine.start, most + mine.start * row_length)
            done += self._run(what, block, inside + done, *now)
        self._complete = True
        return steps * batch

    def _run(self, what: Any, block: Any, inside: int, seen: int, most: float) -> int:
        """Run steps that look at releases of one block; returns how many."""
        rows, labels, margins, batch, loss = what
        total, bits, average = self._total.total, self._total.bits, self._average[1]
        ran = blocks.learn_in_block(
            *(rows, labels, batch, loss, bits, total, margins, _drawn(block), inside),
            *(self._numbers(seen, most), average, self._scratch),
        )
        if ran:
            return int(ran)
        weights = self._all(block, inside, seen)
        stream_steps.add_rows(rows, labels, 0, batch, weights, loss, bits, total, margins)
        return 1

    def _opened(self) -> tuple[Any, int, int]:
        """The open block after the latest release, the steps in it, and the rows so far."""
        block, inside = self._total.open_block(self._total.position)
        seen, (number, average, then) = self._count(0), self._average
        if number != block.number:
            if inside == 0:
                average, then = self._moved(block, 0, seen), seen
            # If the end of the block was missed, as by an interrupt, its sum is not released.
            self._average = (block.number, average, then)
        return block, inside, seen

    def _longest(self, block: Any) -> float:
        """The most that the length of the sum without the noise within a block can be."""
        known, most = self._known
        if known is not block:
            most = blocks.length(self._total.total, block.before)
            self._known = (block, most)
        return most

    def _numbers(self, seen: int, most: float) -> tuple[float, ...]:
        objective, total = self._leader.objective, self._total
        mu, start_rows = objective.regularisation, objective.start_rows
        limit = self._radius * _CLOSE
        own = (self._leader.averaging, float(self._average[2]))
        return (total.unit, mu, start_rows, float(seen), most + self._noise, limit, *own)

    def check_process(self) -> None:
        """Raise in a forked child, which must not draw noise."""
        self._total.check_process()

    def weights_at(self, columns: NDArray[Any]) -> Floats:
        """The weights after the latest release, right at these columns; valid until the next call.

        They are right at these columns of every output, and may be outdated elsewhere.
        """
        with self._alone:
            return self._weights_at(columns)

    def _weights_at(self, columns: NDArray[Any]) -> Floats:
        block, inside, seen = self._opened()
        self._check_complete()
        numbers = self._numbers(seen, self._longest(block))
        unit, mu, start_rows, _, most, limit, _, _ = numbers
        if inside and most * unit > limit * mu * (seen + start_rows):
            return self._all(block, inside, seen)
        columns = columns.astype(np.int32, copy=False)
        block.meet(columns, self._outputs)
        blocks.set_weights(
            *(columns, self._outputs, self._scratch.size // self._outputs, self._total.total),
            *(_drawn(block), inside, unit, 1.0 / (mu * (seen + start_rows))),
            *(self._share(seen), self._average[1], self._scratch),
        )
        return self._scratch

    def all_weights(self) -> Floats:
        """The weights of all columns after the latest release."""
        with self._alone:
            self._check_complete()
            return self._all(*self._opened())

    def _check_complete(self) -> None:
        if not self._complete:
            raise RuntimeError(
                "the stream was interrupted while it learned from rows, and has no weights for "
                "them; learn from further rows, or open the folder of the stream again"
            )

    def _all(self, block: Any, inside: int, seen: int) -> Floats:
        return self._moved(block, inside, seen) if inside else self._average[1]

    def _moved(self, block: Any, inside: int, seen: int) -> Floats:
        """The average, moved towards the latest point by the share of the rows since."""
        average = self._average[1]
        moved: Floats = average + self._share(seen) * (self._point(block, inside, seen) - average)
        return moved

    def _share(self, seen: int) -> float:
        since = float(seen - self._average[2])
        share: float = stream_steps.fresh_share(self._leader.averaging, float(seen), since)
        return share

    def _point(self, block: Any, inside: int, seen: int) -> Floats:
        """The point that the leader follows."""
        total, noise = self._total, block.noise(inside)
        x: Floats = stream_steps.released(total.total, noise, block.floors(inside), total.unit)
        x *= -(1.0 / self._leader.objective.curvature(seen))
        bounds = np.array([0.0]), np.array([self._radius])
        if not stream_steps.is_inside(x, stream_steps.L2, bounds[1]):
            x = stream_steps.projected(x, stream_steps.L2, *bounds)
        return x

    def state(self) -> dict[str, Any]:
        """Arrays from which `resume` continues, to the last bit."""
        with self._alone:
            self._leader.weights = self._all(*self._opened())
        _, average, rows = self._average
        return {"average": average.copy(), "averaged_rows": np.array([rows])}

    def resume(self, state: dict[str, Any]) -> None:
        """Continue where `state` was taken; the running sum must be in its state of that time."""
        found, (rows,) = np.array(state["average"], np.float64), state["averaged_rows"].tolist()
        if found.shape != self._scratch.shape or not np.all(np.isfinite(found)):
            raise ValueError("state must have one finite average per column; it has not")
        block, _ = self._total.open_block(self._total.position)
        self._average = (block.number, found, int(rows))


def _drawn(block: Any) -> tuple[Any, ...]:
    return block.before, block.places, block.paths, block.floors(0)


def few_columns(
    leader: Leader, total: Any, outputs: int, count: Callable[[int], int]
) -> FewColumns | None:
    """Return how weights are computed where rows touch them; None where all are needed.

    ``count`` counts rows that will be learned from, and returns those before them. The choice
    depends on public numbers only.
    """
    plain = type(leader) is ProjectedLeader and type(leader.domain) is L2Ball
    if not plain or leader.objective.pull is not None:
        return None
    if getattr(total, "blocks", None) is None or leader.dimension < FEWEST:
        return None
    assert isinstance(leader, ProjectedLeader)
    return FewColumns(leader, total, outputs, count)
