"""The standard private selection on a card."""

import numpy as np

from dplasso.base.arrays import Floats, Ints
from dplasso.kernels import noisy_max as kernels
from dplasso.kernels.cuda.device import Device
from dplasso.kernels.cuda.entries import Entries
from dplasso.kernels.lottery import draw_cell
from dplasso.kernels.problem import ENTRIES, EVALUATIONS, PROPOSALS, SCALE, Problem, Walk
from dplasso.kernels.scores import GRAIN
from dplasso.kernels.steps import SMALLEST_SCALE, step_size
from dplasso.mechanisms.selection.base import Rule
from dplasso.mechanisms.selection.noisy_max import cut

_WARP = 32
# Share of the card's free memory that the entries may take.
_SHARE = 0.7


class CardNoisyMax(Rule):
    """`NoisyMax` with gradients, scores, tickets and margins on a card.

    ``residual`` is the number of the loss's residual on a card (`Loops`), and not used for several
    classes. A round reads the tickets of all blocks of columns, and the scores of one block.

    Formal guarantees
    -----------------
    Those of `NoisyMax`, whose releases these are, to the last bit: gradients, scores and tickets
    are the same numbers, and the draw from them is made by the same code.
    """

    def __init__(
        self,
        problem: Problem,
        walk: Walk,
        generator: np.random.Generator,
        threads: int,
        *,
        device: Device,
        residual: int | None,
    ) -> None:
        self._device, self._residual = device, residual
        super().__init__(problem, walk, generator, threads)

    def _prepare(self) -> None:
        problem, device = self.problem, self._device
        rows, columns = len(problem.labels), len(problem.indptr) - 1
        self.blocks = cut(problem.indptr)
        self._starts = problem.indptr.astype(np.int64, copy=False)
        held = int(self._starts[-1])
        values = None if problem.values is None else problem.values[:held]
        self._first_columns = self._columns_of(self.blocks.entries[:-1])
        blocks = len(self._first_columns)
        cells = blocks * problem.classes + 1
        self._cells = kernels.Cells(np.zeros(cells, np.int64), np.zeros(cells, np.int64))
        kernels.count_empty(problem, self.blocks, self._cells)
        room = int(_SHARE * device.room())
        self._entries = Entries(device, self._starts, problem.indices[:held], values, room)
        self._labels = device.put(problem.labels)
        self._weights = device.put(problem.weights) if len(problem.weights) else None
        self._margins = device.put(self.walk.margins)
        self._gradients = device.empty((problem.classes, rows), np.float64)
        self._scores = device.empty((problem.classes, columns), np.int64)
        self._lengths = device.put(self._starts)
        self._edges = device.put(np.append(self._first_columns, columns))
        self._counted = device.empty((2, max(blocks, 1) * problem.classes), np.int64)

    def advance(self, until: int) -> None:
        while self.done < until:
            self._count()
            self._release(*self._draw())
            self.done += 1

    def _count(self) -> None:
        """Compute the gradients, the scores and the tickets of all blocks."""
        problem, device = self.problem, self._device
        rows, classes = len(problem.labels), problem.classes
        scale, grains = float(self.walk.scalars[SCALE]), 1.0 / self._grain
        state = (scale, grains, self._labels, self._weights, self._margins, self._gradients)
        if classes > 1:
            device.launch("class_gradients", rows, rows, classes, *state)
        else:
            loss = (self._residual, float(problem.loss.shape))
            device.launch("row_gradients", rows, rows, *loss, *state)
        blocks, (tickets, exponents) = len(self._first_columns), self._counted
        for label in range(classes):
            self._entries.sum("scores", self._gradients[label], self._scores[label])
            facts = (self._edges, self._lengths, self._scores[label], problem.theta * self._grain)
            found = (kernels.TOP_BITS, tickets[label:], exponents[label:])
            device.launch("count_blocks", blocks * _WARP, blocks, classes, *facts, *found)
        if blocks:
            self._cells.tickets[:-1], self._cells.exponents[:-1] = device.get(self._counted)

    def _draw(self) -> tuple[int, int]:
        """A signed vertex, drawn as `NoisyMax` draws it."""
        classes, empty, counters = self.problem.classes, self.blocks.empty, self.walk.counters
        theta, (tickets, exponents) = self.problem.theta * self._grain, self._cells
        while True:
            counters[PROPOSALS] += 1
            cell, place = draw_cell(self.generator, tickets, exponents)
            if place < 0:
                continue
            if cell < len(tickets) - 1:
                block, label = divmod(cell, classes)
                columns, scores = self._block(block, label)
                facts = (scores, theta, exponents[cell], place)
                at, sign = kernels.settle_among(self.generator, *facts)
                column = int(columns[at])
            else:
                each = int(tickets[cell]) // (len(empty) * classes)
                slot, place = divmod(place, each)
                column, label = int(empty[slot // classes]), slot % classes
                facts = (np.zeros(1), theta, exponents[cell], place)
                _, sign = kernels.settle_among(self.generator, *facts)
            if sign:
                return column * classes + label, sign

    def _block(self, block: int, label: int) -> tuple[Ints, Floats]:
        """The columns of a block, by slot, and their scores."""
        slots = slice(self.blocks.slots[block], self.blocks.slots[block + 1])
        columns = self._columns_of(self.blocks.entries[block] + self.blocks.offsets[slots])
        first = int(columns.min())
        held = self._device.get(self._scores[label][first : int(columns.max()) + 1])
        return columns, held[columns - first].astype(np.float64)

    def _release(self, vertex: int, sign: int) -> None:
        """Record the vertex and move the margins towards it (`dplasso.kernels.steps`)."""
        problem, walk, device = self.problem, self.walk, self._device
        column, label = divmod(vertex, problem.classes)
        eta = float(step_size(problem.step, self.done + 1))
        shrunk = float(walk.scalars[SCALE]) * (1.0 - eta)
        added = -sign * eta * problem.radius / shrunk
        walk.scalars[SCALE] = shrunk
        self._entries.one("move_margins", column, (problem.classes, label, added), self._margins)
        if shrunk < SMALLEST_SCALE:
            factor = 1.0
            while walk.scalars[SCALE] < 0.5:
                walk.scalars[SCALE] *= 2.0
                factor *= 0.5
            size = len(walk.margins)
            device.launch("multiply", size, size, factor, self._margins)
        walk.vertices[self.done], walk.signs[self.done] = vertex, sign
        walk.counters[EVALUATIONS] += (len(problem.indptr) - 1) * problem.classes
        walk.counters[ENTRIES] += int(self._starts[-1]) * problem.classes

    def _columns_of(self, first_entries: Ints) -> Ints:
        """Columns of which these entries are the first."""
        return np.searchsorted(self._starts, first_entries, side="right") - 1

    @property
    def _grain(self) -> float:
        return float(GRAIN * self.problem.x_bound * self.problem.gradient_bound)
