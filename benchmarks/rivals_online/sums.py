"""Running sums: exact, and with the noise of a sliding band or of a tree."""

import math
from collections.abc import Callable

import numpy as np

Draw = Callable[[], np.ndarray]


class ExactSum:
    """No noise, no privacy."""

    def __init__(self, dimension: int) -> None:
        self._sum = np.zeros(dimension)

    def add(self, vector: np.ndarray | tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        if isinstance(vector, tuple):
            np.add.at(self._sum, *vector)
        else:
            self._sum += vector
        return self._sum.copy()


class BandSum(ExactSum):
    """The sliding band: sum_k c_k z_(t-k) over the last W draws, c the square root of summation.

    z has the standard deviation ||c|| sensitivity / mu, which makes the rows of any window mu-GDP.
    """

    def __init__(self, dimension: int, window: int, sensitivity: float, mu: float, rng) -> None:
        super().__init__(dimension)
        k = np.arange(1, window)
        band = np.concatenate([[1.0], np.cumprod((2 * k - 1) / (2 * k))])
        self._band = band[::-1].copy()
        self._scale = float(np.linalg.norm(band)) * sensitivity / mu
        self.sd = self._scale * float(np.linalg.norm(band))  # of a release, once W rows are in
        self._noise = np.zeros((8 * window, dimension))
        self._end, self._window, self._rng = window - 1, window, rng

    def add(self, vector: np.ndarray) -> np.ndarray:
        if self._end == len(self._noise):
            kept = self._window - 1
            self._noise[:kept] = self._noise[-kept:]
            self._end = kept
        self._noise[self._end] = self._rng.normal(0.0, self._scale, self._noise.shape[1])
        self._end += 1
        return super().add(vector) + self._band @ self._noise[self._end - self._window : self._end]


class TreeSum(ExactSum):
    """A binary tree over the whole stream, or over blocks of W leaves.

    A node's noise is drawn once. With a window, the last block's root covers it until the next
    block is full.
    """

    def __init__(self, dimension: int, leaves: int, draw: Draw) -> None:
        super().__init__(dimension)
        self._leaves, self._draw, self._step = leaves, draw, 0
        self._nodes = np.zeros((leaves.bit_length() + 1, dimension))
        self._last = np.zeros(dimension)

    def add(self, vector: np.ndarray) -> np.ndarray:
        self._step += 1
        level = (self._step & -self._step).bit_length() - 1
        self._nodes[:level] = 0.0
        self._nodes[level] = self._draw()
        released = super().add(vector) + self._nodes.sum(axis=0) + self._last
        if self._step == self._leaves:
            self._last = self._nodes[level].copy()
            self._nodes[:], self._step = 0.0, 0
        return released


def levels(leaves: int) -> int:
    """Nodes that a leaf has a part in."""
    return math.ceil(math.log2(leaves)) + 1


def gaussian(dimension: int, sd: float, rng) -> Draw:
    return lambda: rng.normal(0.0, sd, dimension)


def tight_tree_sd(leaves: int, sensitivity: float, mu: float) -> float:
    """Of a node's Gaussian noise, by mu-GDP: squares of the levels add up."""
    return sensitivity * math.sqrt(levels(leaves)) / mu


def published_tree_sd(leaves: int, sensitivity: float, epsilon: float, delta: float) -> float:
    """The same by Lemma 3 of the window paper."""
    return math.sqrt(8.0) * sensitivity * levels(leaves) * math.log(2.0 / delta) / epsilon


def gamma(dimension: int, scale: float, rng) -> Draw:
    """A vector of Gamma(d, scale) length in a uniform direction: pure epsilon."""

    def draw() -> np.ndarray:
        direction = rng.normal(size=dimension)
        return direction * (rng.gamma(dimension, scale) / np.linalg.norm(direction))

    return draw
