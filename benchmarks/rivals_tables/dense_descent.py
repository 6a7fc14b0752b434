"""Clipped gradient descent with squared or softmax loss, many settings at a time.

Rows are dense or sparse; noise is Gaussian, in every coordinate.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from rivals.descent import Column, Draws


def clipped_sums(
    rows: Any, labels: np.ndarray, W: np.ndarray, clip: np.ndarray, n_classes: int
) -> np.ndarray:
    """Sums of the gradients of the rows, each clipped to length ``clip[k]`` under weights k.

    Weights and sums are runs x columns x outputs. There is one output, with squared loss, where
    there are no classes, and one per class with softmax loss otherwise.
    """
    lengths = np.sqrt(np.asarray((rows * rows).sum(axis=1)).ravel())
    if not n_classes:
        bounds = clip[None, :] / lengths[:, None]
        residuals = rows @ W[:, :, 0].T - labels[:, None]
        return (np.clip(residuals, -bounds, bounds).T @ rows)[:, :, None]
    sums = np.empty_like(W)
    places, classes = np.arange(rows.shape[0]), labels.astype(np.intp)
    for k in range(len(W)):
        residuals = rows @ W[k]
        residuals -= residuals.max(axis=1, keepdims=True)
        np.exp(residuals, out=residuals)
        residuals /= residuals.sum(axis=1, keepdims=True)
        residuals[places, classes] -= 1.0
        sizes = np.sqrt(np.einsum("ij,ij->i", residuals, residuals)) * lengths
        factors = clip[k] / np.maximum(sizes, clip[k])
        sums[k] = rows.T @ (residuals * factors[:, None])
    return sums


def descend(
    X: Any,
    labels: np.ndarray,
    columns: Sequence[Column],
    *,
    n_classes: int,
    bias: float,
    steps: int,
    sampling: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Weights after the last step and their mean over the last quarter, runs x columns x outputs.

    The last column is that of an entry ``bias`` which every row has: the intercept.

    Formal guarantees
    -----------------
    Those of `rivals.descent.descend`: with one row more or less a clipped sum moves by at most
    ``clip`` and gets normal noise of ``noise * clip`` in every coordinate. Noise is not secure.
    """
    rate, clip, momentum, noise = (
        np.array([column[place] for column in columns], dtype=np.float32) for place in range(4)
    )
    rate /= np.float32(X.shape[0] * sampling)  # of sums from here on
    shape = (X.shape[1] + 1, max(n_classes, 1))
    draws = Draws(columns, (X.shape[0], shape[0] * shape[1] - 1), sampling)
    constant = np.full((X.shape[0], 1), bias, np.float32)
    stacked = sp.hstack([X, constant], format="csr") if sp.issparse(X) else np.hstack([X, constant])
    rows = stacked.astype(np.float32)
    W, V, A = (np.zeros((len(columns), *shape), dtype=np.float32) for _ in range(3))
    counted = max(1, steps // 4)
    for t in range(steps):
        chosen = draws.rows() if sampling < 1.0 else slice(None)
        move = clipped_sums(rows[chosen], labels[chosen], W, clip, n_classes)
        drawn = draws.noise()[draws.which].reshape(W.shape)
        move += (noise * clip)[:, None, None] * drawn
        V = momentum[:, None, None] * V + move
        W = W - rate[:, None, None] * V
        if t >= steps - counted:
            A += W / np.float32(counted)
    return W, A
