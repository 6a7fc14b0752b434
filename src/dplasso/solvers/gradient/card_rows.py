"""The rows of a descent on a card, and the exact sums over them."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from dplasso.base.arrays import Floats
from dplasso.data.unit_rows import UnitRows
from dplasso.kernels.cuda.device import Buffer, Device
from dplasso.kernels.cuda.entries import Entries
from dplasso.losses import Loss, residual_on_card
from dplasso.solvers.exact_margins import MARGIN_GRAINS, MOST_GRAINS
from dplasso.solvers.gradient.card_conditioning import CardConditioning
from dplasso.solvers.gradient.conditioning import WHOLE
from dplasso.solvers.gradient.plan import CONSTANT, GradientPlan
from dplasso.solvers.gradient.rows import SAFE

# Each of the two copies of a matrix may take this share of the memory that is free. Of data that
# do not fit, the two parts that are on the card at a time take that much.
_SHARE = 0.4
# Most rows and columns that are counted in 32 bits.
SMALL = (1 << 31) - 1


class CardRows:
    """Unit rows with their labels on a card, and the two kinds of exact sums over them.

    Formal guarantees
    -----------------
    Those of `PrivateRows`, whose sums these are, to the last bit: whole numbers of rows are
    computed by the same operations in the same order, and added as integers. The card's memory
    holds rows and exact sums; whoever can read it sees what is private.
    """

    def __init__(
        self,
        device: Device,
        rows: UnitRows,
        labels: Floats,
        loss: Loss,
        plan: GradientPlan,
        weights: Floats | None = None,
        room: int | None = None,
    ) -> None:
        self._residual = residual_on_card(loss)
        self._device, self._plan, self._n_rows = device, plan, len(labels)
        self._grains = MARGIN_GRAINS / rows.largest
        self._labels, self._units = device.put(labels), device.put(rows.units)
        self._weights = None if weights is None else device.put(weights)
        self._weighted = rows.units if weights is None else rows.units * weights
        # Per output and row: the unit, and the coefficient of the step.
        pairs = np.zeros((plan.outputs, self._n_rows, 2))
        pairs[:, :, 0] = rows.units
        self._pairs = device.put(pairs)
        self._margins = device.empty((plan.outputs, self._n_rows), np.float64)
        self._lengths = device.empty(self._n_rows, np.float64)
        # Sums of weights times the centre, of coefficients and of constants, per output.
        self._totals = device.empty((3, plan.outputs), np.uint64)
        self._columns, self._by_rows = _both_copies(
            device, rows, int(_SHARE * device.room()) if room is None else room
        )

    @property
    def resident(self) -> bool:
        """Whether the entries lie on the card, and need not be copied to it at every step."""
        return self._columns.resident and self._by_rows.resident

    def mass(self, out: Buffer) -> None:
        """Write the sums of the unit rows, by column."""
        units = self._device.put(self._weighted)
        self._columns.sum("unit_sums", units, self._plan.unit, out)

    def weigh(self, place: CardConditioning) -> None:
        """Compute the rows' lengths under a conditioning."""
        device, size = self._device, self._n_rows
        squares = device.empty(size, np.uint64)
        self._by_rows.sum("square_lengths", self._units, *place.buffers, WHOLE, squares)
        public = (place.square_centre, self._plan.unit * SAFE)
        device.launch("lengths", size, size, squares, *public, self._weights, self._lengths)

    def centres(self, place: CardConditioning, weights: Buffer) -> Any:
        """Start the weights' products with the centre, which `sums` waits for."""
        device, head = self._device, len(place.head)
        device.clear(self._totals)

        def launches() -> None:
            for k in range(self._plan.outputs if head else 0):
                centre = (*place.head_buffers, weights[k], MARGIN_GRAINS, MOST_GRAINS)
                device.launch("centre_margin", head, head, *centre, self._totals[0, k:])

        return device.beside(launches)

    def sums(
        self,
        place: CardConditioning,
        weights: Buffer,
        intercepts: Buffer,
        started: Any,
        out: Buffer,
    ) -> None:
        """Write the sums of the row gradients, outputs x (columns, then the constant).

        ``place`` is what rows were weighed under; ``intercepts`` are those of centred rows, and
        ``started`` is what `centres` returned.
        """
        device, plan, size = self._device, self._plan, self._n_rows
        centres, totals, constants = self._totals
        for k in range(plan.outputs):
            self._by_rows.sum("margins", weights[k], self._grains, MOST_GRAINS, self._margins[k])
        device.join(started)
        margins = (plan.clip, self._labels, self._grains, intercepts, centres, MARGIN_GRAINS)
        facts: tuple[Any, ...]
        scaled = (self._lengths, CONSTANT * plan.unit, self._weights)
        if self._residual is None:
            facts = (size, plan.outputs, *margins, self._pairs, self._margins)
            device.launch("class_residuals", size, *facts)
        for k in range(plan.outputs):
            mine = (self._pairs[k], totals[k:], constants[k:])
            if self._residual is None:
                facts = (size, self._margins[k], *scaled, *mine)
                device.launch("class_coefficients", size, *facts)
            else:
                facts = (size, *self._residual, *margins, self._margins[k], *scaled, *mine)
                device.launch("coefficients", size, *facts)
            whole = (self._pairs[k], *place.buffers, WHOLE, totals[k:])
            self._columns.sum("weighted_sums", *whole, out[k])
        device.launch("place_constants", plan.outputs, *out.shape, constants, out)


def _both_copies(device: Device, rows: UnitRows, room: int) -> tuple[Entries, Entries]:
    """The entries by columns and by rows."""
    index = np.int32 if max(rows.shape) <= SMALL else np.int64
    starts = rows.indptr.astype(np.int64, copy=False)
    others = rows.indices[: starts[-1]].astype(index, copy=False)
    columns = Entries(device, starts, others, rows.values, room)
    if columns.resident:
        return columns, Entries.transposed(columns, rows.shape[0], len(others))
    values = np.ones(len(others), np.int8) if rows.values is None else rows.values
    turned = sp.csc_array((values, others, starts), rows.shape).tocsr()
    held = None if rows.values is None else turned.data
    starts, others = turned.indptr.astype(np.int64), turned.indices.astype(index, copy=False)
    return columns, Entries(device, starts, others, held, room)
