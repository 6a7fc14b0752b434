"""The noise of `GridGaussian` on whole numbers that lie on a card."""

import math

import numpy as np
from numpy.typing import NDArray

from dplasso.base.arrays import Ints
from dplasso.kernels import grid_gaussian as kernel
from dplasso.kernels.cuda.device import Buffer, Device
from dplasso.kernels.cuda.source import MOST_BUFFERS
from dplasso.mechanisms.gaussian_cells import GaussianCells
from dplasso.mechanisms.noise_key import NoiseKey

# Draws of a buffer at most; threads that parse one, and that add the draws of a block.
_SLOTS, _WARP, _ADDING_THREADS = kernel.BUFFER_WORDS // 2, 32, 1024
# Close calls that are listed at first; a longer list is made if there are more.
_LISTED = 1 << 10
# Fields of a close call: its buffer, its place among the buffer's draws, then its state.
_FIELDS = 2 + kernel.FIELDS - 1


class CardNoise:
    """Adds the draws of one `GaussianCells` to vectors on a device, of up to ``most`` values.

    Formal guarantees
    -----------------
    Those of `GridGaussian`: for the same secret every number is the one that it adds, to the last
    bit. The device parses the same streams; draws that are too close to call are decided in this
    machine's memory, each from its own stream.
    """

    def __init__(
        self, device: Device, cells: GaussianCells, most: int, buffers: int | None = None
    ) -> None:
        self._device, self._cells = device, cells
        self._buffers = min(buffers or buffers_for(cells), MOST_BUFFERS)
        table = cells.table
        self._table = (
            *(device.put(array) for array in (table.cut, table.alias, table.sure, table.lead)),
            *(len(table.sure), table.width_bits, table.sigma, table.margin),
        )
        drawn = math.ceil(most / kernel.BLOCK) * self._buffers
        self._draws = device.empty(drawn * _SLOTS, np.int64)
        self._counts = device.empty(drawn, np.uint64)
        self._list = device.empty((_LISTED, _FIELDS), np.int64)

    def draw(self, size: int, key: Buffer, news: Buffer) -> None:
        """Draw for ``size`` values; ``key`` holds the secret.

        The number of close calls is added to the first of ``news``.
        """
        self._draw(math.ceil(size / kernel.BLOCK), key, news)

    def add_to(
        self, values: Buffer, out: Buffer, news: Buffer, places: Buffer | None = None
    ) -> None:
        """Write ``values`` with a draw each to ``out``, all or those at some ``places``.

        Nothing is written elsewhere: only what has noise leaves. ``out`` may be ``values``. Close
        calls have no noise yet, and blocks for which there were too few draws are left out; their
        number is added to the second of ``news``. `settle` makes up for both.
        """
        size = len(values if places is None else places)
        facts = (size, self._buffers, self._draws, self._counts, places, values, out, news[1:])
        blocks = math.ceil(size / kernel.BLOCK)
        self._device.launch("add_draws", blocks * _ADDING_THREADS, *facts)

    def settle(
        self,
        values: Buffer,
        out: Buffer,
        key: Buffer,
        secret: bytes,
        news: NDArray[np.uint64],
        places: Ints | None = None,
    ) -> None:
        """Add the noise that `add_to` left out; ``news`` says how much that is."""
        close, short = int(news[0]), int(news[1])
        if not (close or short):
            return
        size = len(values if places is None else places)
        starts = np.arange(0, size, kernel.BLOCK)
        lengths, blocks = np.minimum(size - starts, kernel.BLOCK), len(starts)
        if close > len(self._list):
            self._list = self._device.empty((close, _FIELDS), np.int64)
            self._draw(blocks, key, self._device.zeros(1, np.uint64))
        counts = self._device.get(self._counts[: blocks * self._buffers]).astype(np.int64)
        counts = counts.reshape(blocks, self._buffers)
        full = counts.sum(axis=1) >= lengths
        undecided = []
        for row in self._device.get(self._list)[:close]:
            block, buffer = divmod(int(row[0]), self._buffers)
            at = int(counts[block, :buffer].sum() + row[1])
            if full[block] and at < lengths[block]:
                undecided.append((int(starts[block]) + at, np.append(at, row[2:])))
        for short_block in np.flatnonzero(~full).tolist():
            undecided += self._add_block(values, out, short_block, secret, places)
        for place, row in undecided:
            close_call = NoiseKey(secret, secure=False)  # nobody reads this key's `secure`
            amount = self._cells.decided(row, close_call.generator(place))
            own = place if places is None else int(places[place])
            self._device.launch("add_one", 1, out, own, amount)

    def _draw(self, blocks: int, key: Buffer, close_calls: Buffer) -> None:
        shape = (blocks, self._buffers)
        found = (self._draws, self._counts, close_calls, len(self._list), self._list)
        threads = _WARP * blocks * self._buffers
        self._device.launch("draw_buffers", threads, *shape, key, *self._table, *found)

    def _add_block(
        self, values: Buffer, out: Buffer, block: int, secret: bytes, places: Ints | None
    ) -> list[tuple[int, Ints]]:
        """Add the noise of a whole block in this machine's memory; returns its close calls."""
        start = block * kernel.BLOCK
        run = slice(start, start + kernel.BLOCK)
        own = run if places is None else places[run]
        part = self._device.get(values)[own]
        undecided = np.empty((len(part), kernel.FIELDS), np.int64)
        key = np.frombuffer(secret, "<u4").astype(np.uint32)
        found = kernel.add_noise(self._cells.table, key, block, part, undecided)
        released = self._device.get(out)
        released[own] = part
        self._device.set(out, released)
        return [(start + int(row[kernel.PLACE]), row.copy()) for row in undecided[:found]]


def buffers_for(cells: GaussianCells) -> int:
    """Buffers of random words that nearly always hold the draws of a block.

    A draw takes two words, or three where the first two do not decide, and is then kept or not.
    """
    table = cells.table
    tickets = np.array([float(number) for number in cells.tickets]) / 2.0**63
    sure = np.append(table.sure / 2.0 ** (64 - table.width_bits), 1.0)
    kept = float(tickets @ np.append((table.lead + sure[:-1]) / 2.0, 1.0))
    words = 2.0 + float(tickets @ (1.0 - sure))
    draws = (kernel.BUFFER_WORDS - 3) / words * kept
    # The number of draws kept varies by a fifth of this.
    spare = math.sqrt(kernel.BLOCK)
    return math.ceil((kernel.BLOCK + spare) / draws) + 1
