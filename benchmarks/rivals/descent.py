"""Gradient descent with clipped rows and dense Gaussian noise, many settings at a time.

Settings that share rows, number of steps and sampling run side by side, one column each: a pass
over the rows then costs little more than for one setting. Settings of the same seed see the same
noise and the same sampled rows, which makes their comparison fair and cheap; a single column is
what a run of its own would be.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numba import njit

LARGE = np.float32(30.0)  # a margin from which on the residual is that of infinity


class Column(NamedTuple):
    """One run of a batch. ``noise`` is the standard deviation over ``clip``."""

    rate: float  # of the mean gradient
    clip: float  # bound on the length of a row's gradient
    momentum: float
    noise: float
    seed: int


@njit(cache=True, fastmath=True, error_model="numpy")
def add_clipped(indptr, indices, data, labels, lengths, bias, chosen, W, clip, G):  # type: ignore[no-untyped-def]
    """Add the gradients of the chosen rows to G, each clipped to length clip[k] in column k.

    The gradient of a row is (residual) x (row, bias), so that clipping it bounds the residual.
    """
    K, last = W.shape[1], W.shape[0] - 1
    r = np.empty(K, np.float32)
    for i in chosen:
        for k in range(K):
            r[k] = bias * W[last, k]
        for p in range(indptr[i], indptr[i + 1]):
            j, x = indices[p], data[p]
            for k in range(K):
                r[k] += x * W[j, k]
        for k in range(K):
            bound = clip[k] / lengths[i]
            margin = min(max(r[k], -LARGE), LARGE)
            residual = np.float32(1.0) / (np.float32(1.0) + np.exp(-margin)) - labels[i]
            r[k] = min(max(residual, -bound), bound)
            G[last, k] += bias * r[k]
        for p in range(indptr[i], indptr[i + 1]):
            j, x = indices[p], data[p]
            for k in range(K):
                G[j, k] += x * r[k]


@njit(cache=True, fastmath=True)
def step(W, G, V, A, Z, which, rate, noise, momentum, share):  # type: ignore[no-untyped-def]
    """Move along noisy sums, add ``share`` of where that leads to the average, and clear G.

    V holds velocities; without momentum it is empty.
    """
    K = W.shape[1]
    for j in range(W.shape[0]):
        for k in range(K):
            move = G[j, k] + noise[k] * Z[which[k], j]
            G[j, k] = 0.0
            if V.size:
                move += momentum[k] * V[j, k]
                V[j, k] = move
            W[j, k] -= rate[k] * move
        if share > 0.0:
            for k in range(K):
                A[j, k] += share * W[j, k]


class Draws:
    """The chances of a batch: which rows a step sees, and its noise, one line per seed."""

    def __init__(self, columns: Sequence[Column], shape: tuple[int, int], sampling: float) -> None:
        seeds = list(dict.fromkeys(column.seed for column in columns))
        if sampling < 1.0 and len(seeds) > 1:
            raise ValueError("runs on sampled rows must share their seed: a seed draws the rows")
        self.which = np.array([seeds.index(column.seed) for column in columns])
        self.sampling, self._everyone = sampling, np.arange(shape[0])
        self._generators = [np.random.default_rng(seed) for seed in seeds]
        self._noise = np.empty((len(seeds), shape[1] + 1), dtype=np.float32)

    def rows(self) -> np.ndarray:
        if self.sampling >= 1.0:
            return self._everyone
        coins = self._generators[0].random(len(self._everyone), dtype=np.float32)
        return np.flatnonzero(coins < self.sampling)

    def noise(self) -> np.ndarray:
        for generator, line in zip(self._generators, self._noise, strict=True):
            generator.standard_normal(out=line, dtype=np.float32)
        return self._noise


def descend(
    X: sp.csr_array,
    labels: np.ndarray,
    columns: Sequence[Column],
    *,
    bias: float,
    steps: int,
    sampling: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Weights after the last step and their mean over the last quarter, a column a run.

    The last weight is that of an entry ``bias`` every row has: the intercept.

    Formal guarantees
    -----------------
    With one row more or less a clipped sum moves by at most ``clip``, and gets normal noise of
    ``noise * clip`` in every coordinate: ``steps`` Gaussian mechanisms, each on Poisson-sampled
    rows where ``sampling`` is below 1. The number of rows is public. Noise is not secure.
    """
    rate, clip, momentum, noise = (
        np.array([column[place] for column in columns], dtype=np.float32) for place in range(4)
    )
    rate /= np.float32(X.shape[0] * sampling)  # of sums from here on
    draws = Draws(columns, X.shape, sampling)
    W, G, A = (np.zeros((X.shape[1] + 1, len(columns)), dtype=np.float32) for _ in range(3))
    V = np.zeros_like(W) if momentum.any() else np.zeros((0, 0), dtype=np.float32)
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel() + bias**2).astype(np.float32)
    rows = (X.indptr, X.indices, X.data, labels, lengths, np.float32(bias))
    counted = max(1, steps // 4)
    for t in range(steps):
        add_clipped(*rows, draws.rows(), W, clip, G)
        share = np.float32(1.0 / counted if t >= steps - counted else 0.0)
        step(W, G, V, A, draws.noise(), draws.which, rate, noise * clip, momentum, share)
    return W, A
