"""Noise in blocks of steps: within a block it is drawn only for the numbers that are looked at.

A release is the sum of all rows of finished blocks and of the rows of the open block so far. The
first changes once per block, and has the noise of a running sum whose steps are blocks. The second
has noise of its own, which starts anew with every block. So a step needs new noise only within its
block, and there number by number. The last step of a block finishes it, and needs no noise within.
"""

import math

import numpy as np
from numpy.typing import NDArray

from dplasso.base.arrays import Floats, Ints
from dplasso.kernels import blocks as kernel
from dplasso.kernels.buffered import FINE_BITS
from dplasso.kernels.grid_gaussian import FIELDS
from dplasso.mechanisms.gaussian_cells import GaussianCells, cells_of
from dplasso.mechanisms.noise_key import NoiseKey
from dplasso.streams.buffered import Echoes, echoes
from dplasso.streams.process import Arrays, Grid, Noise, NoiseProcess, toeplitz

# Steps of a block: the random bits of so many draws are made at once.
STEPS = 56
_WHOLE = "whole_"  # names in a state that belong to the noise of finished blocks
_FEW = 1024  # paths that there is room for at first


class BlockNoise(NoiseProcess):
    """The noise of finished blocks, plus noise within the open one; ``sigma`` is that of a draw.

    Formal guarantees
    -----------------
    - Neighbouring: one row of the stream differs, by at most Delta in the 2-norm. Rows may depend
      on earlier releases.
    - Cost: a release is the sum of two noisy values: the sum of all finished blocks (a release of a
      running sum with one block per step) and the sum of the open block's rows so far (a release of
      a whole stream of `STEPS` - 1 steps). A row is in one block. It moves one step of the first,
      and one whole stream of the second, and their noises are independent: the cost is mu with
      mu^2 = mu_whole^2 + mu_within^2. A window of W steps sees at most ceil(W / STEPS) releases of
      finished blocks that contain a given row.
    - Exactness: that of `BufferedNoise`, for both.
    - The noise within block b of number j is a ChaCha20 stream under one secret key, numbered by b
      and j: it is the same whenever, and in whatever order, numbers are looked at. What is looked
      at decides which noise is drawn, never its value.
    """

    def __init__(
        self, dimension: int, whole: NoiseProcess, sigma: float, grid: Grid, key: NoiseKey
    ) -> None:
        self._dimension, self._whole, self._deviation = dimension, whole, sigma / grid.reach
        self.within = Within(dimension, sigma, key)
        self._zero = Noise(np.zeros(dimension, np.int64), 0)
        self._open: OpenBlock | None = None

    def opened(self, step: int) -> tuple["OpenBlock", int]:
        """The finished blocks at a step, with what is open since, and the steps since then."""
        number, inside = divmod(step, STEPS)
        block = self._open
        if block is None or block.number != number:
            before = self._whole.at(number) if number else self._zero
            # One assignment: an interrupt leaves either the old block or the new one.
            self._open = block = OpenBlock(number, before, self.within)
        return block, inside

    def at(self, step: int) -> Noise:
        block, inside = self.opened(step)
        return Noise(block.noise(inside), block.floors(inside))

    def state(self) -> Arrays:
        return {_WHOLE + name: array for name, array in self._whole.state().items()}

    def resume(self, state: Arrays) -> None:
        self._open = None
        self._whole.resume(of_whole_blocks(state))

    def noise_matrix(self, steps: int) -> Floats:
        inside = np.vstack([np.zeros(STEPS - 1), self.within.noise_matrix() * self._deviation])
        count = steps // STEPS
        within = np.kron(np.eye(count + 1), inside)
        whole = self._whole.noise_matrix(max(1, count))[:count]
        before = np.repeat(np.vstack([np.zeros((1, whole.shape[1])), whole]), STEPS, axis=0)
        return np.hstack([within, before])[1 : steps + 1]  # number 0 is the empty sum


class Within:
    """How noise within a block is drawn."""

    def __init__(self, dimension: int, sigma: float, key: NoiseKey) -> None:
        self.dimension, self.key = dimension, key
        self.cells: GaussianCells = cells_of(sigma)
        self.echoes: Echoes = echoes(STEPS - 1)
        self.words = np.frombuffer(key.generator(0).bytes(32), "<u4").astype(np.uint32)
        # Standard deviation of the last, and largest, noise of a block.
        self.largest = sigma * math.sqrt(float(np.sum(self._responses() ** 2)))

    def _responses(self) -> Floats:
        kept = 1.0 - 2.0 ** -self.echoes.shifts.astype(np.float64)
        shares = self.echoes.shares * 2.0**-FINE_BITS
        later: Floats = (shares * kept ** np.arange(STEPS - 2)[:, None]).sum(axis=1)
        return np.concatenate(([1.0], later))

    def noise_matrix(self) -> Floats:
        """Steps x draws of one block, in standard deviations of a draw."""
        return toeplitz(self._responses())


class OpenBlock:
    """A block of steps whose noise is drawn number by number, when a number is first looked at.

    ``before`` is the noise of the blocks that are finished, ``number`` of them.
    """

    def __init__(self, number: int, before: Noise, within: Within) -> None:
        self.number, self._within = number, within
        self.before: Ints = before.values.copy()
        self._floors = before.floors
        self.places: NDArray[np.int32] = np.full(within.dimension, -1, np.int32)
        self.paths: Ints = np.empty((min(_FEW, within.dimension), STEPS - 1), np.int64)
        self._met = np.zeros(1, np.int64)
        self._undecided = np.empty((STEPS, FIELDS), np.int64)

    def floors(self, inside: int) -> int:
        """How often the noise of a step was rounded down."""
        return self._floors + (inside > 0)

    def meet(self, columns: NDArray[np.int32], outputs: int = 1) -> None:
        """Draw the noise of these columns, for each of ``outputs`` parts of the vector."""
        drawn, width = self._within, self.places.size // outputs
        while True:
            finding, number, found = kernel.meet(
                *(columns, outputs, width, self.places, self.paths, self._met, drawn.cells.table),
                *(drawn.words, self.number, *drawn.echoes, self._undecided),
            )
            if finding == kernel.MET:
                return
            if finding == kernel.FULL:
                more = np.empty((min(2 * len(self.paths), self.places.size), STEPS - 1), np.int64)
                more[: len(self.paths)] = self.paths
                self.paths = more
            else:
                self._decide(number, found)

    def _decide(self, number: int, found: int) -> None:
        """Complete a path with draws that were too close to call, by independent random bits."""
        drawn, path = self._within, self.paths[self._met[0]]
        for row in self._undecided[:found]:
            step = int(row[0])
            bits = drawn.key.generator(1, self.number, number, step)
            path[step] += drawn.cells.decided(row, bits)
        kernel.keep_path(number, self.places, self.paths, self._met, *drawn.echoes)

    def noise(self, inside: int) -> Ints:
        """The noise of all numbers, so many steps after the finished blocks."""
        if inside == 0:
            return self.before
        self.meet(np.arange(self.places.size, dtype=np.int32))
        out = np.empty(self.places.size, np.int64)
        kernel.gather(self.before, self.places, self.paths, inside - 1, out)
        return out


def of_whole_blocks(state: Arrays) -> Arrays:
    """The part of a state that belongs to finished blocks; empty for other constructions."""
    return {
        name.removeprefix(_WHOLE): array for name, array in state.items() if name.startswith(_WHOLE)
    }
