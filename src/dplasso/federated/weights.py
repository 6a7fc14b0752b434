"""Weights from sketches: functions of the releases, computed by the coordinator."""

import math
from abc import ABC, abstractmethod
from statistics import NormalDist

import numpy as np

from dplasso.base.arrays import Floats, Ints
from dplasso.federated.sampling import Sampling
from dplasso.federated.terms import Terms
from dplasso.kernels.projections import onto_l1_ball

Feature = tuple[str, int]  # a party, and the number of the feature there

_SWEEPS = 400
# Multiples of the noise in products of two features, and of a feature with the labels.
_OF_PRODUCTS, _OF_SLOPES = 0.75, 2.0
# How likely noise alone may give a model weights, and how many standard deviations the slope of a
# feature must have to get one.
CHANCE, _LEAST_SLOPE = 0.05, 1.0


class Weights(ABC):
    """Weights of the features shared so far, and their sketched residual.

    Their absolute values always add up to at most ``radius``.
    """

    def __init__(self, terms: Terms, sigma: float) -> None:
        self.terms, self.sigma = terms, sigma
        self.features: list[Feature] = []
        self.values = np.empty(0)
        self._sketches = np.empty((0, terms.sketch_size))
        self._labels = np.zeros(terms.sketch_size)
        self._label_sigma = 0.0

    def set_labels(self, sketch: Floats, sigma: float) -> None:
        """Set the sketch of the labels about their mean, and its noise."""
        self._labels, self._label_sigma = sketch, sigma

    def share(self, feature: Feature, sketch: Floats) -> None:
        """Add a new feature, with weight 0."""
        self.features.append(feature)
        self.values = np.append(self.values, 0.0)
        self._sketches = np.vstack([self._sketches, sketch])

    @property
    def residual(self) -> Floats:
        """The sketch of predictions minus labels."""
        left: Floats = self.values @ self._sketches - self._labels
        return left

    @abstractmethod
    def move(self, t: int, chosen: dict[Feature, int]) -> None:
        """Update the weights after round t = 0, 1, ... released these signed features."""


class Corrective(Weights):
    """Sets the weights of all shared features together, by least squares within the L1 ball.

    The mean of a product of two noisy sketches is the product of their columns. For a feature with
    itself the noise adds its own square, which is subtracted. The remaining noise spreads the
    eigenvalues of the products by about sigma^2 sqrt(m p), with m numbers in each of p sketches;
    negative eigenvalues are noise. Slopes, the products with the labels, have their own noise. A
    ridge of the size of both keeps weights small that the slopes do not support. No feature is
    chosen twice.

    The model is the mean of the labels unless a slope exceeds what noise alone gives: with
    probability 1 - `CHANCE`, no slope of a feature that has nothing to do with the labels does.
    The noise of a sketch is drawn after its feature was chosen, and has as many chances as there
    are rounds. Features are chosen by the noise of the labels and the error of their sketch, which
    therefore have as many chances as there are features.
    """

    def move(self, t: int, chosen: dict[Feature, int]) -> None:
        count, size = self._sketches.shape
        self.values = np.zeros(count)
        if count == 0:
            return
        products = self._sketches @ self._sketches.T - size * self.sigma**2 * np.eye(count)
        kept = self._supported(products)
        if len(kept) == 0:
            return
        products, sketches = products[np.ix_(kept, kept)], self._sketches[kept]
        levels, directions = np.linalg.eigh(products)
        ridge = self._noise_of(products) + 1e-9 * max(float(levels[-1]), 1e-9)
        levels = np.maximum(levels, 0.0) + ridge
        curvature = (directions * levels) @ directions.T
        slopes, start = sketches @ self._labels, np.zeros(len(kept))
        self.values[kept] = constrained(
            curvature, slopes, float(levels[-1]), self.terms.radius, start
        )

    def _supported(self, products: Floats) -> Ints:
        """Return the places of the features that get a weight; without noise, of all."""
        count, size = self._sketches.shape
        if self.sigma == 0.0:
            return np.arange(count)
        squared = (self._sketches @ self._labels) ** 2 / float(self._labels @ self._labels)
        lengths = np.maximum(np.diag(products), 0.0) / size
        features = sum(party.n_features for party in self.terms.parties)
        by_chance = _most(self.terms.rounds) * self.sigma**2 + _most(features) * lengths
        if not np.any(squared > by_chance):
            return np.empty(0, np.int64)
        return np.flatnonzero(squared > _LEAST_SLOPE**2 * (self.sigma**2 + lengths))

    def _noise_of(self, products: Floats) -> float:
        """Return the ridge; it is 0 without noise."""
        count, size = len(products), self.terms.sketch_size
        of_products = self.sigma**2 * math.sqrt(size * count)
        column = max(float(np.trace(products)) / count, 0.0)  # mean squared length of a column
        labels = float(self._labels @ self._labels)
        of_slopes = math.sqrt(self.sigma**2 * labels + self._label_sigma**2 * column)
        return _OF_PRODUCTS * of_products + _OF_SLOPES * of_slopes


class Universal(Weights):
    """Frank-Wolfe steps of 2 / (p t + 2) on a product of balls, one per party.

    The weights of every party stay within radius / K in the 1-norm. This product of sets, which
    block-coordinate Frank-Wolfe needs to converge under any sampling, lies within the ball of
    ``radius``. But the signal of a single party reaches only its share of the radius; `Corrective`
    has no such limit. A party that considers only some features may name a vertex with a higher
    objective than its present weights; then its weights do not move. So a round gains at least what
    a step to the best vertex gains, times the probability that this vertex was a candidate.
    """

    def __init__(self, terms: Terms, sigma: float) -> None:
        super().__init__(terms, sigma)
        self._step = Sampling(terms).universal_step

    def move(self, t: int, chosen: dict[Feature, int]) -> None:
        step, radius = self._step(t), self.terms.radius / len(self.terms.parties)
        slopes = self._sketches @ self.residual
        moved = self.values.copy()
        for (party, feature), sign in chosen.items():
            aim = np.zeros(len(moved))
            aim[self.features.index((party, feature))] = radius * sign
            own = np.array([owner == party for owner, _ in self.features])
            way = np.where(own, aim - self.values, 0.0)
            if slopes @ way < 0.0:
                moved += step * way
        self.values = moved


def weights_for(terms: Terms, sigma: float) -> Weights:
    """Return the rule that the terms name."""
    return {"corrective": Corrective, "universal": Universal}[terms.step](terms, sigma)


def _most(chances: int) -> float:
    """Return the square that none of so many normal numbers exceeds, but with `CHANCE`."""
    return NormalDist().inv_cdf(1.0 - CHANCE / (2.0 * chances)) ** 2


def constrained(
    curvature: Floats, slope: Floats, most: float, radius: float, start: Floats
) -> Floats:
    """Minimise w'Cw / 2 - slope'w in the L1 ball by accelerated projected gradient."""
    point = ahead = onto_l1_ball(start, radius)
    pace = 1.0
    for _ in range(_SWEEPS):
        moved = onto_l1_ball(ahead - (curvature @ ahead - slope) / most, radius)
        following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * pace * pace))
        ahead = moved + (pace - 1.0) / following * (moved - point)
        point, pace = moved, following
    # Rounding must not leave the ball.
    norm = float(np.abs(point).sum())
    shrunk: Floats = point if norm <= radius else point * (radius / norm * (1.0 - 1e-12))
    return shrunk
