"""A noisy matrix of products made fit to be inverted, by a public rule."""

import math

import numpy as np

from dplasso.base.arrays import Floats


class Shrunk:
    """The products of features about their means, with the noise's part of them made harmless.

    Noise alone has eigenvalues up to 2 sigma sqrt(d) in size, for d features. Negative eigenvalues
    are noise and count as 0. A ridge of ``ridge`` * sigma sqrt(d) keeps weights small along
    directions that the data do not support. All of this follows from public numbers and releases.
    """

    def __init__(self, spreads: Floats, sigma: float, ridge: float) -> None:
        levels, self._directions = np.linalg.eigh(spreads)
        least = 1e-9 * max(float(levels[-1]), 1e-9)
        added = ridge * sigma * math.sqrt(len(levels)) + least
        self._levels = np.maximum(levels, 0.0) + added

    @property
    def most(self) -> float:
        """The largest eigenvalue."""
        return float(self._levels[-1])

    @property
    def matrix(self) -> Floats:
        """The matrix itself."""
        whole: Floats = (self._directions * self._levels) @ self._directions.T
        return whole

    @property
    def trace_of_inverse(self) -> float:
        """The trace of the inverse."""
        return float(np.sum(1.0 / self._levels))

    def solved(self, right: Floats) -> Floats:
        """Return the inverse times a matrix."""
        found: Floats = self._directions @ ((self._directions.T @ right) / self._levels[:, None])
        return found
