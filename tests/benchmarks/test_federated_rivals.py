"""The federations that the product is compared with: what they compute, send and protect."""

import math

import numpy as np
import pytest
from rivals_federated import one_shot
from rivals_federated.dfw import distributed_frank_wolfe

from dplasso.data import ColumnMatrix
from dplasso.losses import SquaredLoss
from dplasso.privacy import zcdp
from dplasso.solvers.lasso import lasso


def centred_blocks(n: int = 400) -> tuple[dict[str, np.ndarray], np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (n, 9)).astype(np.float64)
    y = np.clip(0.8 * X[:, 1] - 0.6 * X[:, 7] + 0.05 * rng.normal(size=n), -1.0, 1.0)
    return {"a": X[:, :4], "b": X[:, 4:6], "c": X[:, 6:]}, y


def value(X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    return float(np.mean((X @ weights - y) ** 2)) / 2.0


def test_dfw_is_frank_wolfe_on_all_columns():
    blocks, y = centred_blocks()
    blocks = {name: block - block.mean(axis=0) for name, block in blocks.items()}
    X, y = np.hstack(list(blocks.values())), y - y.mean()
    weights = np.zeros(X.shape[1])
    for point in distributed_frank_wolfe(blocks, y, 2.0, 30):
        slopes = X.T @ (X @ weights - y)
        best = int(np.argmax(np.abs(slopes)))
        vertex = np.zeros(len(weights))
        vertex[best] = -2.0 * np.sign(slopes[best])
        steps = np.linspace(0.0, 1.0, 1001)
        values = [value(X, y, weights + step * (vertex - weights)) for step in steps]
        assert value(X, y, point.weights) <= min(values) + 1e-12
        # On the way to the vertex, and nowhere else.
        way, moved = vertex - weights, point.weights - weights
        np.testing.assert_allclose(moved, (moved @ way) / (way @ way) * way, atol=1e-12)
        weights = point.weights
        assert np.abs(point.weights).sum() <= 2.0 + 1e-12


def test_dfw_sends_a_column_once():
    blocks, y = centred_blocks()
    *_, last = distributed_frank_wolfe(blocks, y, 2.0, 50)
    columns = (last.uplink - 50 * 3 * (4 + 8)) / (4 * len(y))
    assert columns == round(columns)
    assert np.count_nonzero(last.weights) <= columns <= 9


def test_one_shot_without_noise_and_loss_is_the_lasso():
    blocks, y = centred_blocks()
    sent = one_shot.send(blocks, y, 9, math.inf, 1e-9, np.random.default_rng(0))
    weights, intercept = one_shot.fit(sent, 1.0)
    X = np.hstack(list(blocks.values()))
    centred, shifted = X - X.mean(axis=0), y - y.mean()
    best = lasso(ColumnMatrix.of(centred), shifted, SquaredLoss(2.0), 1.0, gap=1e-9)
    assert np.abs(weights).sum() <= 1.0 + 1e-9
    least = value(centred, shifted, best.weights[:, 0])
    assert value(X, y - intercept, weights) == pytest.approx(least, rel=1e-3)


def test_one_shot_spends_its_budget_and_no_more():
    blocks, y = centred_blocks(4000)
    sent = one_shot.send(blocks, y, 9, 2.0, 1e-6, np.random.default_rng(0))
    clean = one_shot.send(blocks, y, 9, math.inf, 1e-6, np.random.default_rng(0))
    sigmas = [np.std(noisy - exact) for noisy, exact in zip(sent[:2], clean[:2], strict=True)]
    assert sigmas[0] == pytest.approx(sent.sigma, rel=0.02)
    # A row's squared length is at most 9 / 4, and its label's 1.
    rho = 9 / 4 / (2 * sent.sigma**2) + 1 / (2 * sigmas[1] ** 2)
    assert rho == pytest.approx(zcdp.rho_of(2.0, 1e-6), rel=0.05)
    assert max(np.sum((clean.rows) ** 2, axis=1)) <= 9 / 4 + 1e-9


def test_one_shot_sends_every_row():
    for n in (100, 1000):
        blocks, y = centred_blocks(n)
        sent = one_shot.send(blocks, y, 2, 1.0, 1e-6, np.random.default_rng(0))
        assert sent.uplink == 4 * n * (1 + 2 * 3)
