"""The rows of a table on a card, where the steps of a fit are summed."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplasso.base.arrays import Floats, Ints
from dplasso.data.wide_cells import WideCells
from dplasso.kernels.cuda.device import Buffer, Device
from dplasso.kernels.row_weights import ROOM
from dplasso.kernels.table import CELL_BITS
from dplasso.losses import Loss, residual_on_card
from dplasso.solvers.table.plan import CELL, TablePlan
from dplasso.solvers.table.questions import Position, Standard
from dplasso.solvers.table.rows import PrivateTable, WholeWeights, triangle

# Share of the card's free memory that rows may take. Of a table that does not fit, the two parts
# that are on the card at a time take that much.
_SHARE = 0.8
# Rows whose products are computed at a time, in a copy with the constant as one more column.
_WEIGHED_ROWS = 1 << 16
# Rows with more columns than this take a warp each, and the others eight lanes.
_NARROW = 64
_WARP, _ROWS_OF_WARP = 32, 128


class _Part(NamedTuple):
    """Standardised rows, one after the other, with the numbers of each row.

    Arrays are in the device's memory, or all of them in this machine's.
    """

    rows: Any
    ratios: Any
    labels: Any
    weights: Any | None

    @property
    def n_rows(self) -> int:
        return len(self.labels)


class CardTable(PrivateTable):
    """A table whose steps are summed on a card: products, gradients and sizes of residuals.

    The sums before the first step, a few passes over the rows, and the standardised rows are
    computed by threads. Rows that do not fit into ``room`` bytes stream through the card.

    Formal guarantees
    -----------------
    Those of `PrivateTable`, whose answers these are, to the last bit: whole numbers of rows are
    computed by the same operations in the same order, and added as integers. The card's memory
    holds rows and exact sums; whoever can read it sees what is private.
    """

    def __init__(
        self,
        device: Device,
        cells: NDArray[np.int32],
        labels: Floats,
        loss: Loss,
        plan: TablePlan,
        threads: int,
        wide: WideCells | None = None,
        weights: Floats | None = None,
        room: int | None = None,
    ) -> None:
        super().__init__(cells, labels, loss, plan, threads, wide, weights)
        self._device = device
        # Of several margins, the kernel reads neither number.
        self._residual = residual_on_card(loss) or (0, 0.0)
        self._room = int(_SHARE * device.room()) if room is None else room
        self._parts: Any = []
        self._resident = True
        self._margins_of_part: Buffer = None

    def _scale(self, standard: Standard) -> None:
        if standard is not self._standard:
            self._parts, self._margins_of_part = [], None  # free the former rows first
            super()._scale(standard)
            self._send()

    def _send(self) -> None:
        """Cut the standardised rows into parts that fit, and copy them if it is one part."""
        n_rows, columns = self._rows.shape
        row_bytes = 4 * columns + 8 * (3 + self._plan.outputs)
        self._resident = n_rows * row_bytes <= self._room
        size = n_rows if self._resident else max(self._room // (2 * row_bytes), 1)
        parts = [
            _Part(
                self._rows[begin : begin + size].reshape(-1),
                self._ratios[begin : begin + size],
                self._labels[begin : begin + size],
                None if self._weights is None else self._weights[begin : begin + size],
            )
            for begin in range(0, n_rows, max(size, 1))
        ]
        put = self._device.put
        self._parts = (
            [_Part(*(None if array is None else put(array) for array in part)) for part in parts]
            if self._resident
            else self._device.staged(parts)
        )
        self._margins_of_part = self._device.empty((self._plan.outputs, size), np.float64)

    def _on_device(self) -> Iterator[_Part]:
        if self._resident:
            yield from self._parts
            return
        for arrays in self._device.through(self._parts):
            yield _Part(*arrays)

    def _products(self) -> Ints:
        columns, constant = self._rows.shape[1], self._plan.constant
        size, launch = columns + 1, self._device.launch
        found = self._device.zeros((size, size), np.int64)
        weighed = self._device.empty(min(_WEIGHED_ROWS, len(self._rows)) * size, np.int32)
        limits = (float(self._plan.square_length), ROOM)
        for part in self._on_device():
            for begin in range(0, part.n_rows, _WEIGHED_ROWS):
                count = min(_WEIGHED_ROWS, part.n_rows - begin)
                rows = part.rows[begin * columns : (begin + count) * columns]
                weights = None if part.weights is None else part.weights[begin : begin + count]
                facts = (count, columns, rows, constant, weights, *limits)
                launch("table_weighed", count, *facts, weighed)
                launch(
                    "table_products", count * math.ceil(size / _WARP), count, size, weighed, found
                )
        return triangle(self._device.get(found))

    def _gradient_sums(self, at: Position) -> Ints:
        self._scale(at.standard)
        plan, columns = self._plan, self._rows.shape[1]
        sums = self._device.zeros((plan.outputs, columns + 1), np.int64)
        whole = self._whole_weights_of(at)
        for part in self._on_device():
            residuals = self._residuals_of(part, whole, at.cut, plan.unit, part.weights)
            tasks = plan.outputs * (columns // _WARP + 1) * math.ceil(part.n_rows / _ROWS_OF_WARP)
            facts = (part.n_rows, columns, plan.outputs, part.rows, plan.constant, residuals)
            self._device.launch("table_sums", tasks * _WARP, *facts, sums)
        found: Ints = self._device.get(sums).reshape(-1)
        return found

    def _residual_size(self, at: Position) -> Ints:
        self._scale(at.standard)
        total = self._device.zeros(1, np.int64)
        whole = self._whole_weights_of(at)
        for part in self._on_device():
            residuals = self._residuals_of(part, whole, at.cut, CELL, None)
            facts = (part.n_rows, self._plan.outputs, residuals, CELL_BITS, part.weights)
            self._device.launch("table_residual_size", part.n_rows, *facts, total)
        found: Ints = self._device.get(total)
        return found

    def _whole_weights_of(self, at: Position) -> tuple[Buffer, float, Buffer]:
        """Whole weights, their unit, and intercepts."""
        whole, put = WholeWeights(at, self._plan), self._device.put
        return put(whole.weights.astype(np.int64)), whole.unit, put(whole.intercepts)

    def _residuals_of(
        self,
        part: _Part,
        whole: tuple[Buffer, float, Buffer],
        cut: float,
        unit: int,
        weights: Buffer | None,
    ) -> Buffer:
        """Whole residuals of a part, outputs x rows."""
        columns, outputs, launch = self._rows.shape[1], self._plan.outputs, self._device.launch
        lanes, found = 8 if columns <= _NARROW else _WARP, self._margins_of_part
        facts = (part.n_rows, columns, outputs, part.rows, part.ratios, *whole, found)
        launch(f"table_margins_{lanes}", part.n_rows * lanes, *facts)
        rule = (*self._residual, float(cut), part.labels, float(unit), weights, ROOM)
        launch("table_residuals", part.n_rows, part.n_rows, outputs, *rule, found)
        return found
