"""How noisy sketches are sent: with only as many bits as their noise leaves meaningful."""

import math

import numpy as np

from dplasso.base.arrays import Floats, Ints
from dplasso.federated.count_plan import ENTRY
from dplasso.federated.terms import Terms

_NOISE_BITS = 7  # bits of a standard deviation that are kept


class Quantiser:
    """Cuts noisy integers to a public grid that is fine compared with their noise.

    Values saturate at 31 bits. This is post-processing of released numbers. Without noise all bits
    are kept.
    """

    def __init__(self, terms: Terms) -> None:
        self.width = 4 if terms.epsilon < math.inf else 8
        self._unit = ENTRY * math.sqrt(terms.sketch_size)

    def packed(self, noisy: Ints, noise: float) -> Ints:
        """Return the integers to send for a noisy sketch."""
        if self.width == 8:
            return noisy
        most = np.iinfo(np.int32).max
        cut: Ints = np.clip(noisy >> self._shift(noise), -most, most)
        return cut

    def unpacked(self, numbers: Ints, noise: float) -> Floats:
        """Return the sketch in units of an entry at its bound, for a matrix of unit columns."""
        if self.width == 8:
            return np.asarray(numbers / self._unit, np.float64)
        # The middle of each grid cell.
        middles: Floats = numbers.astype(np.float64) + 0.5
        return middles * (2.0 ** self._shift(noise) / self._unit)

    def _shift(self, noise: float) -> int:
        return max(0, math.floor(math.log2(noise)) - _NOISE_BITS)
