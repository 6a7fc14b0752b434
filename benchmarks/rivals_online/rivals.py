"""POCG and PQFTL, the rivals that do not follow the approximate leader.

Both protect every row of the stream for ever, so that they need its length in advance. Their
noise is calibrated here by a tight account (mu-GDP), which is kinder to them than their papers.
PFTAL needs no class: it is the projected leader with a tree over the whole stream and Gamma noise.
"""

import numpy as np

from dplasso.domains import Domain


class Pocg:
    """Online gradient descent whose every iterate leaves with noise: two projections a row.

    Jain, Kothari and Thakurta, "Differentially private online learning", 2012. With steps
    1 / (mu t), one row moves iterate t by at most L / (mu t), L the clipped length of its
    gradient; each of the T iterates gets noise in that proportion, and descent goes on from the
    clean one. T Gaussian releases of one sensitivity over noise: sd sqrt(T) times that of one.
    """

    def __init__(
        self,
        domain: Domain,
        regularisation: float,
        clip: float,
        rows: int,
        mu: float,
        rng,
    ) -> None:
        self._domain, self._regularisation, self._rng = domain, regularisation, rng
        self._noise = clip / regularisation * np.sqrt(rows) / mu
        self._clean = domain.start()
        self.weights, self._step = self._clean, 0

    def at(self) -> np.ndarray:
        """Where the next gradient is taken."""
        return self._clean

    def learn(self, gradient: np.ndarray) -> None:
        self._step += 1
        size = 1.0 / (self._regularisation * self._step)
        full = gradient + self._regularisation * self._clean
        self._clean = self._domain.project(self._clean - size * full)
        noise = self._rng.normal(0.0, self._noise / self._step, len(full))
        self.weights = self._domain.project(self._clean + noise)


class Pqftl:
    """Follow the leader for squared losses: noisy sums of x x' and y x, and a linear equation.

    The same paper. The leader of the sums as released solves ``(V + mu n I) w = u``; its point
    is projected, since noise may carry it anywhere.
    """

    def __init__(self, domain: Domain, regularisation: float, total) -> None:
        self._domain, self._regularisation, self._total = domain, regularisation, total
        self.weights, self._rows = domain.start(), 0

    def learn(self, row: np.ndarray, label: float) -> None:
        d = len(row)
        self._rows += 1
        released = self._total.add(np.concatenate([np.outer(row, row).ravel(), label * row]))
        square = released[: d * d].reshape(d, d)
        matrix = (square + square.T) / 2.0 + self._regularisation * self._rows * np.eye(d)
        try:
            leader = np.linalg.solve(matrix, released[d * d :])
        except np.linalg.LinAlgError:
            return
        self.weights = self._domain.project(leader)
