"""Running sums for tests: exact, with plain noise, and one that says what it is told to."""

import numpy as np


def dense(rows, dimension):
    """The sum of the rows of one step: a vector, (indices, values), or a matrix."""
    if isinstance(rows, tuple):
        full = np.zeros(dimension)
        np.add.at(full, *rows)
        return full
    return np.asarray(rows) if rows.ndim == 1 else np.asarray(rows.sum(axis=0)).ravel()


class ExactSum:
    """All vectors, kept, and their sum."""

    def __init__(self, dimension):
        self.vectors, self._sum = [], np.zeros(dimension)

    def add(self, vector):
        self.vectors.append(dense(vector, len(self._sum)))
        self._sum = self._sum + self.vectors[-1]
        return self._sum


class NoisySum(ExactSum):
    """Noise of its own in every release; a pause and a copy of it continue alike."""

    def __init__(self, dimension, seed, scale=1.0):
        super().__init__(dimension)
        self._rng, self._scale = np.random.default_rng(seed), scale

    def add(self, vector):
        return super().add(vector) + self._scale * self._rng.normal(size=len(self._sum))


class ScriptedSum:
    """Releases settled in advance, whatever is added."""

    def __init__(self, releases):
        self._releases = iter(releases)

    def add(self, vector):
        return next(self._releases)
