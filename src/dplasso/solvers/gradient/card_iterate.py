"""The iterate of a descent on a card."""

from dataclasses import dataclass

import numpy as np

from dplasso.base.arrays import Floats, Ints
from dplasso.kernels.cuda.device import Buffer, Device
from dplasso.kernels.cuda.source import TILE
from dplasso.solvers.exact_margins import MOST_GRAINS
from dplasso.solvers.gradient.card_conditioning import CardConditioning
from dplasso.solvers.gradient.conditioning import (
    LARGEST,
    LARGEST_LEFT,
    Conditioning,
    MeanLength,
)
from dplasso.solvers.gradient.cut import largest_weights

_WARP = 32
# How the bits of a number are read, from the leading ones on: where the last bit of a digit is, and
# how many values the digit has.
_DIGITS = ((49, 1 << 14), (35, 1 << 14), (21, 1 << 14), (7, 1 << 14), (0, 1 << 7))


@dataclass(frozen=True)
class CardSums:
    """Released sums on the card; those of the constants are in this machine's memory, too."""

    buffer: Buffer  # outputs x (columns, then the constant)
    constants: Ints
    damping: Buffer  # under which they were formed


class CardIterate:
    """An iterate in a card's memory (`dplasso.solvers.gradient.iterate.Iterate`).

    A move is made when its result is needed: that is at the next step, whose launches begin with
    `launch_move`, or before anything else is done or read.
    """

    def __init__(self, device: Device, outputs: int, n_columns: int) -> None:
        self._device, self._n_columns = device, n_columns
        shape = (outputs, n_columns)
        state = [device.zeros(shape, np.float64) for _ in range(3)]
        self.on_card, self._gathered, self._kept = state
        self._spread = device.zeros(n_columns, np.float64)
        # Steps whose damping is not yet in the spread, which no step reads.
        self._unspread, self._damping = 0, None
        self._dropped: Buffer | None = None
        # Of the next move: the step, and whether the weights are then kept.
        self._order = device.mailbox(2, np.float64)
        self._released: CardSums | None = None
        self._grid = 0.0
        self._present: tuple[Floats, Buffer] | None = None

    @property
    def moves(self) -> bool:
        """Whether there is a move to be made."""
        return self._released is not None

    def move(
        self, released: CardSums, conditioning: Conditioning, grid: float, step: float
    ) -> Ints:
        if released.damping is not self._damping:
            self._spread_out()
            self._damping = released.damping
        self._unspread += 1
        self._released, self._grid = released, grid
        self._order.host[:] = step, 0.0
        return released.constants

    def keep(self) -> None:
        if self.moves:
            self._order.host[1] = 1.0
        else:
            size = self.on_card.size
            self._device.launch("keep", size, size, self.on_card, self._kept)

    def launch_move(self) -> None:
        """Launch the move that is to be made; `moved` says that it was."""
        assert self._released is not None
        self._order.send()
        size, released = self._n_columns, self._released
        for k, sums in enumerate(released.buffer):
            dropped = None if self._dropped is None else self._dropped[k]
            facts = (sums, released.damping, self._grid, self._order.buffer, dropped)
            state = (self._gathered[k], self.on_card[k], self._kept[k])
            self._device.launch("move", size, size, *facts, *state)

    def moved(self) -> None:
        """Note that no move is to be made."""
        self._released = None

    def cut(self, count: int, conditioning: Conditioning, length: MeanLength) -> Conditioning:
        self._catch_up()
        outputs, size = self.on_card.shape
        present = self._present_on_card(length.present)
        self._drop(count, length.present, present)
        left = self._left()
        found = CardConditioning.on(self._device, conditioning, outputs)
        total, number = self._device.zeros(1, np.uint64), len(left)
        facts = (number, left, found.buffers[0], present, length.grains, MOST_GRAINS, total)
        self._device.launch("mean_length", number, *facts)
        factor = length.factor(int(self._device.get(total)[0]))
        return found.cut_to(left, factor, min(LARGEST_LEFT, LARGEST), outputs)

    def weights(self) -> Floats:
        self._catch_up()
        return self._device.get(self.on_card)

    def gathered(self) -> tuple[Floats, Floats]:
        self._catch_up()
        self._spread_out()
        return self._device.get(self._gathered), self._device.get(self._spread)

    def kept(self) -> Floats:
        self._catch_up()
        return self._device.get(self._kept)

    def _catch_up(self) -> None:
        """Make the move that is to be made."""
        if self.moves:
            self.launch_move()
            self._device.wait()  # until the order is read, which the next one overwrites
            self.moved()

    def _spread_out(self) -> None:
        """Add the dampings of the last steps to the spread, one step after the other."""
        if self._unspread:
            facts = (self._n_columns, self._unspread, self._damping, self._spread)
            self._device.launch("spread", self._n_columns, *facts)
        self._unspread = 0

    def _present_on_card(self, present: Floats) -> Buffer:
        if self._present is None or self._present[0] is not present:
            self._present = (present, self._device.put(present))
        return self._present[1]

    def _drop(self, count: int, present: Floats, on_card: Buffer) -> None:
        """Drop all but ``count`` weights (`dplasso.solvers.gradient.cut.largest_weights`)."""
        least = self._least(count, on_card)
        if self._dropped is None:
            self._dropped = self._device.empty(self.on_card.shape, np.uint8)
        if least is None:
            kept = largest_weights(self._device.get(self.on_card), present, None, count, 1)
            self._device.set(self._dropped, (~kept).view(np.uint8))
            state, size = (self._gathered, self.on_card), self.on_card.size
            self._device.launch("clear", size, size, self._dropped, *state)
            return
        size = self._n_columns
        for k, dropped in enumerate(self._dropped):
            facts = (on_card, least, dropped, self._gathered[k], self.on_card[k])
            self._device.launch("drop", size, size, *facts)

    def _least(self, count: int, present: Buffer) -> int | None:
        """Bits of the least reach that is kept; None if only some of that reach are."""
        leading, wanted, size, found = 0, count, self._n_columns, 0
        for shift, bins in _DIGITS:
            counts = self._device.zeros(bins, np.uint64)
            for weights in self.on_card:
                facts = (weights, present, shift, bins, leading, counts)
                self._device.launch("tally_reaches", size, size, *facts)
            tally = self._device.get(counts).astype(np.int64)
            reached = np.cumsum(tally[::-1])[::-1]  # numbers with this digit or a larger one
            if reached[0] < wanted:
                return 1  # all that are not 0
            digit = int(np.flatnonzero(reached >= wanted)[-1])
            found = int(tally[digit])
            wanted -= int(reached[digit]) - found
            leading = leading * bins + digit
        return leading if found == wanted else None

    def _left(self) -> Buffer:
        """The columns in which any weight is left, in order."""
        outputs, size = self.on_card.shape
        tiles = -(-size // TILE)
        counts = self._device.empty(tiles, np.uint64)
        facts = (tiles, outputs, size, self._dropped)
        self._device.launch("count_left", tiles * _WARP, *facts, counts)
        ends = np.cumsum(self._device.get(counts).astype(np.int64))
        starts = self._device.put(np.append(0, ends[:-1]))
        left = self._device.empty(int(ends[-1]), np.int64)
        self._device.launch("list_left", tiles * _WARP, *facts, starts, left)
        return left
