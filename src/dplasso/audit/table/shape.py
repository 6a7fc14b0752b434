"""What the released products of columns say: a preconditioner, and whether weights are noise."""

import math

import numpy as np
from scipy.optimize import brentq

from dplasso.base.arrays import Floats


class Shape:
    """The released products of columns, the largest eigenvalue of their noise, and a curvature."""

    def __init__(self, matrix: Floats, edge: float, curvature: float) -> None:
        self._matrix, self._edge, self._curvature = matrix, edge, curvature

    def floor(self, told: float) -> float:
        """The floor of eigenvalues with which a margin has noise ``told``, at most their mean."""
        nothing, size = np.ones(len(self._matrix)), len(self._matrix)
        most = max(np.trace(self._matrix), self._edge / math.sqrt(2.0)) / size

        def over(floor: float) -> float:
            return self.inverse(nothing, floor)[1] - told

        if over(0.0) <= 0.0:
            return 0.0
        return most if over(most) > 0.0 else float(brentq(over, 0.0, most, xtol=1e-14))

    def inverse(self, factors: Floats, floor: float = 0.0) -> tuple[Floats, float]:
        """The preconditioner for columns times ``factors``, and the noise it leaves in a margin."""
        matrix = np.diag(factors) @ self._matrix @ np.diag(factors)
        values, axes = np.linalg.eigh(matrix)
        least = max(self._edge * factors.max(), floor, 2.0**-19)
        floored = self._curvature * np.maximum(values, least)
        noise = self._edge * factors.max() / math.sqrt(2.0)
        seen = np.maximum(values, 1e-12)
        seen *= max(np.trace(matrix), noise) / seen.sum()
        inverse: Floats = axes @ np.diag(1.0 / floored) @ axes.T
        return inverse, float(np.sqrt(np.sum(seen / floored**2)))

    def length_of(self, weights: Floats) -> float:
        """The root mean square length of margins less their mean; the intercept is left out."""
        apart = weights[:, :-1] - weights[:, :-1].mean(axis=0)
        square = np.trace(apart @ self._matrix[:-1, :-1] @ apart.T)
        return math.sqrt(max(square, 0.0))

    def shows(self, weights: Floats, step: float, noises: Floats) -> bool:
        """Whether averaged weights are far from what noise of the steps' gradients explains.

        The column of the intercept is left out.
        """
        values, axes = np.linalg.eigh(self._matrix[:-1, :-1])
        least = max(self._edge * math.sqrt(len(values) / len(self._matrix)), 2.0**-19)
        moves = step / (self._curvature * np.maximum(values, least))
        kept = 1.0 - moves * np.maximum(values - self._edge, 0.0)
        last, count = np.arange(len(noises)), len(noises) - int(0.5 * len(noises))
        variances = np.zeros(len(values))
        for at, noise in enumerate(noises):
            counted = last[max(at, len(noises) - count) :] - at
            lasting = np.sum(kept[:, None] ** counted, axis=1) / count
            variances += (noise * moves * lasting) ** 2
        apart = np.sum((axes.T @ weights) ** 2 / variances) - len(values)
        return bool(apart > 2.5 * math.sqrt(2.0 * len(values)))

    def factors(self, squares: Floats, noises: Floats) -> Floats:
        """Factors of the columns, by the squares of their weights and the noise in these."""
        excess = np.clip(squares / np.maximum(noises, 1e-300), 1.0, 1e12) - 1.0
        share = 1.0 - 0.9 / (1.0 + excess)
        sizes = np.maximum(np.diag(self._matrix), 0.05)
        share *= np.sum(sizes[:-1]) / np.sum(share[:-1] * sizes[:-1])
        share[-1] = 1.0
        return np.sqrt(share)
