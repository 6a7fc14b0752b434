"""Generated streams of rows, and what learners are told of them."""

import math
from typing import NamedTuple

import numpy as np

from dplasso.domains import L1Ball
from dplasso.losses import LogisticLoss, SquaredLoss


class Stream(NamedTuple):
    """Rows of length 1, labels, and what a learner is told of them."""

    name: str
    rows: np.ndarray
    labels: np.ndarray
    loss: object
    radius: float
    regularisation: float
    clip: float

    @property
    def domain(self) -> L1Ball:
        return L1Ball(self.rows.shape[1], self.radius)


def make_stream(name: str, n: int, d: int, rng) -> Stream:
    rows = rng.normal(size=(n, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    truth = np.zeros(d)
    truth[: d // 4] = rng.normal(size=d // 4)
    truth /= np.abs(truth).sum()
    margins = math.sqrt(d) * rows @ truth
    if name == "logistic":
        labels = (rng.random(n) < 1.0 / (1.0 + np.exp(-8.0 * margins))).astype(float)
        return Stream(name, rows, labels, LogisticLoss(), 5.0, 0.02, 1.0)
    labels = np.clip(margins + 0.2 * rng.normal(size=n), -1.0, 1.0)
    return Stream(name, rows, labels, SquaredLoss(y_bound=1.0), 3.0, 0.02, 2.0)
