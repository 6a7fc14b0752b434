"""Gaussian noise of several sizes, each for some of the entries that are opened."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dplasso.base.arrays import Ints
from dplasso.mechanisms.grid_gaussian import NoiseOf


class NoiseOnEntries:
    """Draws noise for the entries of a matrix, row by row.

    ``parts`` are standard deviations, and which entries each is for; others get no noise.
    """

    def __init__(self, parts: Sequence[tuple[float, NDArray[np.bool_]]], noise_of: NoiseOf) -> None:
        self._size = len(parts[0][1])
        self._parts = [(noise_of(sigma), where) for sigma, where in parts]

    def drawn(self, generator: np.random.Generator) -> Ints:
        """Return fresh noise."""
        noise = np.zeros(self._size, np.int64)
        for mechanism, where in self._parts:
            values = np.zeros(int(where.sum()), np.int64)
            mechanism.add_to(values, generator)
            noise[where] = values
        return noise
