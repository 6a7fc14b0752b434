"""A noisy matrix of products made fit to be inverted, by a public rule."""

import math

import numpy as np

from dplasso.base.arrays import Floats


class Shrunk:
    """The products of features about their means, with the noise's part of them made harmless.

    Noise alone has eigenvalues up to 2 sigma sqrt(d) in size, for d features. Negative eigenvalues
    are noise and count as 0. A ridge of ``ridge`` * sigma sqrt(d) keeps weights small along
    directions that the data do not support. A ``raised`` matrix has no ridge; instead, smaller
    eigenvalues are raised to 2 ``ridge`` * sigma sqrt(d). All of this follows from public numbers
    and releases.
    """

    def __init__(
        self, spreads: Floats, sigma: float, ridge: float, *, raised: bool = False
    ) -> None:
        levels, self._directions = np.linalg.eigh(spreads)
        least = 1e-9 * max(float(levels[-1]), 1e-9)
        added = ridge * sigma * math.sqrt(len(levels))
        kept = np.maximum(levels, 2.0 * added) if raised else np.maximum(levels, 0.0) + added
        self._levels = kept + least

    @property
    def matrix(self) -> Floats:
        """The matrix itself."""
        whole: Floats = (self._directions * self._levels) @ self._directions.T
        return whole

    @property
    def inverse(self) -> Floats:
        """The inverse."""
        whole: Floats = (self._directions / self._levels) @ self._directions.T
        return whole

    def solved(self, right: Floats) -> Floats:
        """Return the inverse times a matrix."""
        found: Floats = self._directions @ ((self._directions.T @ right) / self._levels[:, None])
        return found
