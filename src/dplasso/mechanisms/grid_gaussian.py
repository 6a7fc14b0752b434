"""Gaussian noise on a public grid, for sums of whole numbers: fast, exact, on all cores."""

import math
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dplasso.base import checks
from dplasso.base import threads as pool
from dplasso.base.arrays import Ints
from dplasso.kernels import grid_gaussian as kernel
from dplasso.mechanisms.gaussian_cells import GaussianCells
from dplasso.mechanisms.noise_key import NoiseKey


class AddsNoise(Protocol):
    """The interface of `GridGaussian`, for wrappers that record the noise."""

    def add_to(
        self, values: Ints, generator: np.random.Generator, threads: int | None = None
    ) -> None:
        """Add noise to ``values``, a vector, in place."""


# A mechanism for every standard deviation; `GridGaussian` is one.
NoiseOf = Callable[[float], AddsNoise]


class GridGaussian:
    """Adds floor(X) to whole numbers, X normal with standard deviation ``sigma``, in grid units.

    The mean of floor(X) is -1/2: add 1/2 to read a release as a real number.
    ``sigma=math.inf`` is rejected; ``sigma=0`` adds nothing, and promises nothing. A Decimal sigma
    is used to its last digit.

    Formal guarantees
    -----------------
    - Neighbouring: any relation under which the whole vector moves by at most Delta in the 2-norm,
      Delta a public number of grid units.
    - Cost: that of the continuous Gaussian mechanism of the same sigma, exactly: it is
      (Delta / sigma)-GDP (`dplasso.privacy.events.Gaussian`). Where v is whole,
      v + floor(X) = floor(v + X): the release is a function of one that adds the normal X itself.
      There is no loss from discreteness, which a discrete Gaussian would have compared with the
      Gaussian curve, and no low-order bits leak: releases are whole numbers.
    - Assumptions: values are whole and exact, so that Delta bounds the numbers that are actually
      added; the bits of the generator are fair and secret. Draws follow their law exactly
      (`dplasso.mechanisms.gaussian_cells`); no probability is set aside for their error.
    - Each call draws a key of 256 bits from the generator. Blocks of values have ChaCha20 streams
      of their own under that key, and so has each draw that is too close to call (`NoiseKey`, by
      its place). So no two draws share bits, what is drawn does not depend on the number of
      threads, and one more close call shifts no other draw.

    >>> from dplasso.mechanisms.random_bits import random_bits
    >>> values = np.zeros(3, np.int64)
    >>> GridGaussian(2.0**20).add_to(values, random_bits(0).generator)
    >>> bool(np.all(np.abs(values) < 10 * 2**20)), len(set(values.tolist()))
    (True, 3)
    """

    def __init__(self, sigma: float | Decimal) -> None:
        if not isinstance(sigma, Decimal):
            sigma = checks.budget("sigma", sigma)
        self.sigma = float(sigma)
        self.cells = None if sigma == 0 else _cells_of(GaussianCells, sigma)

    def add_to(
        self, values: Ints, generator: np.random.Generator, threads: int | None = None
    ) -> None:
        """Add a draw to each of ``values``, a vector, in place."""
        if values.dtype != np.int64 or values.ndim != 1:
            raise ValueError(f"values must be a vector of int64, got {values.dtype}; convert it")
        if self.cells is None:
            return
        secret = generator.bytes(32)
        key = np.frombuffer(secret, "<u4").astype(np.uint32)
        blocks = math.ceil(values.size / kernel.BLOCK)
        call = (self.cells, key, values, blocks, np.zeros(1, np.int64))
        calls = [call] * max(1, min(blocks, threads or pool.available()))
        for found in pool.run(_add_blocks, calls):
            for place, row in found:
                close_call = NoiseKey(secret, secure=False)  # nobody reads this key's `secure`
                values[place] += self.cells.decided(row, close_call.generator(place))


@lru_cache(maxsize=64)
def _cells_of(make: Callable[..., GaussianCells], sigma: float | Decimal) -> GaussianCells:
    """The table of a sigma, which takes milliseconds to build and never changes."""
    return make(sigma)


def _add_blocks(
    cells: GaussianCells, key: NDArray[np.uint32], values: Ints, blocks: int, taken: Ints
) -> list[tuple[int, Ints]]:
    """Add noise to blocks that threads take in turns; returns undecided draws and their places."""
    undecided = np.empty((min(kernel.BLOCK, values.size), kernel.FIELDS), np.int64)
    left: list[tuple[int, Ints]] = []
    while True:
        facts = (cells.table, key, values, blocks, taken, undecided)
        block, found = kernel.add_noise_to_blocks(*facts)
        if block == blocks:
            return left
        start = block * kernel.BLOCK
        left += [(start + int(row[kernel.PLACE]), row.copy()) for row in undecided[:found]]
