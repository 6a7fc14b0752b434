"""DP-SGD and DP-GD as the benchmarks have them: calibration, sensitivity, and that they learn."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from rivals.accounts import STEP, gaussian_delta, gaussian_mu, noise_multiplier
from rivals.descent import Column, add_clipped, descend
from rivals.dp_gd import DP_GD
from rivals.dp_sgd import DP_SGD
from rivals.problem import Problem, Request, presence, unit
from sklearn.linear_model import LogisticRegression


def spent(epsilon: float, steps: int, sampling: float, multiplier: float) -> float:
    """delta by dp-accounting, finer than what the rivals use."""
    event = dp_event.PoissonSampledDpEvent(sampling, dp_event.GaussianDpEvent(multiplier))
    accountant = PLDAccountant(value_discretization_interval=min(2e-4, 2e-4 * epsilon))
    return accountant.compose(event, steps).get_delta(epsilon)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize(("sampling", "steps"), [(1.0, 60), (0.1, 60), (0.03, 200)])
def test_noise_suffices_and_little_less_would_not(epsilon, sampling, steps):
    delta = 1e-8
    multiplier = noise_multiplier(epsilon, delta, steps, sampling)
    assert spent(epsilon, steps, sampling, multiplier) <= delta * 1.002
    assert spent(epsilon, steps, sampling, multiplier / (1.02 * STEP)) > delta


@settings(deadline=None)
@given(st.floats(0.01, 20.0), st.floats(1e-12, 1e-2))
def test_gaussian_mu_lies_on_the_exact_curve(epsilon, delta):
    assert gaussian_delta(epsilon, gaussian_mu(epsilon, delta)) == pytest.approx(delta, rel=1e-3)


def some_rows(n: int, D: int, seed: int) -> tuple[sp.csr_array, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, D), density=0.3, rng=rng, format="csr", data_sampler=rng.normal)
    truth = 3.0 * rng.normal(size=D)
    X = unit(sp.csr_array(X))
    labels = X @ truth + 0.5 + rng.logistic(size=n) > 0
    return X, labels.astype(np.float32)


def clipped_sum(X, labels, W, clip, bias):
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel() + bias**2).astype(np.float32)
    G = np.zeros_like(W)
    chosen = np.arange(X.shape[0])
    add_clipped(X.indptr, X.indices, X.data, labels, lengths, np.float32(bias), chosen, W, clip, G)
    return G


@settings(deadline=None)
@given(st.integers(0, 10_000), st.floats(0.05, 2.0))
def test_clipped_sum_is_that_of_rows_clipped_one_by_one(seed, bias):
    X, labels = some_rows(12, 7, seed)
    rng = np.random.default_rng(seed)
    W = (5.0 * rng.normal(size=(8, 3))).astype(np.float32)
    clip = np.array([0.02, 0.4, 5.0], dtype=np.float32)
    rows = np.hstack([X.toarray(), np.full((12, 1), bias)])
    expected = np.zeros(W.shape)
    for row, label in zip(rows, labels, strict=True):
        gradient = np.outer(row, 1 / (1 + np.exp(-row @ W)) - label)
        lengths = np.linalg.norm(gradient, axis=0)
        expected += gradient * np.minimum(1.0, clip / np.maximum(lengths, 1e-30))
    found = clipped_sum(X, labels, W, clip, bias)
    np.testing.assert_allclose(found, expected, atol=2e-5)
    # One row less moves the sum by no more than the bound.
    less = clipped_sum(X[:-1], labels[:-1], W, clip, bias)
    assert np.all(np.linalg.norm(found - less, axis=0) <= clip * (1 + 1e-4) + 2e-6)


@pytest.mark.parametrize(("sampling", "rate", "steps"), [(1.0, 10.0, 3000), (0.2, 2.0, 8000)])
def test_without_noise_the_optimum_is_reached(sampling, rate, steps):
    X, labels = some_rows(300, 5, 1)
    column = Column(rate=rate, clip=10.0, momentum=0.0, noise=1e-9, seed=0)
    last, mean = descend(X, labels, [column], bias=1.0, steps=steps, sampling=sampling)
    best = LogisticRegression(C=np.inf, tol=1e-8, max_iter=5000).fit(X.toarray(), labels)
    expected = np.append(best.coef_[0], best.intercept_)
    if sampling == 1.0:
        np.testing.assert_allclose(last[:, 0], expected, atol=1e-2)
    else:  # which rows were drawn is noise of its own
        np.testing.assert_allclose(mean[:, 0], expected, atol=0.25)


@pytest.mark.parametrize("sampling", [1.0, 0.3])
def test_noise_has_the_size_it_should(sampling):
    X = sp.csr_array((50, 20_000), dtype=np.float32)
    column = Column(rate=1.0, clip=0.5, momentum=0.0, noise=7.0, seed=3)
    last, _ = descend(X, np.zeros(50, np.float32), [column], bias=0.3, steps=9, sampling=sampling)
    # Steps along (7 x 0.5) N(0, 1) over the expected number of rows, nine of them.
    expected = 7.0 * 0.5 / (50 * sampling) * math.sqrt(9)
    assert np.std(last[:-1]) == pytest.approx(expected, rel=0.03)


def test_a_column_of_a_batch_is_what_it_would_be_alone():
    X, labels = some_rows(80, 30, 2)
    columns = [Column(3.0, 0.5, 0.0, 2.0, 5), Column(1.0, 0.1, 0.9, 4.0, 5)]
    together = descend(X, labels, columns, bias=0.3, steps=20, sampling=0.5)[0]
    for place, column in enumerate(columns):
        alone = descend(X, labels, [column], bias=0.3, steps=20, sampling=0.5)[0]
        np.testing.assert_allclose(together[:, place], alone[:, 0], atol=1e-4)


def test_sampled_rows_of_two_seeds_are_not_mixed():
    X, labels = some_rows(10, 3, 0)
    columns = [Column(1.0, 1.0, 0.0, 1.0, 0), Column(1.0, 1.0, 0.0, 1.0, 1)]
    with pytest.raises(ValueError, match="share their seed"):
        descend(X, labels, columns, bias=0.3, steps=1, sampling=0.5)


@pytest.mark.parametrize("rival", [DP_GD, DP_SGD], ids=lambda rival: rival.name)
def test_every_setting_that_is_near_the_best_can_be_run(rival):
    X, labels = some_rows(200, 10, 4)
    problem = Problem("small", X, labels, X, labels)
    best = {**rival.coarse(problem, 0.1)[0], "steps": 20}
    requests = [Request(0.1, near, 0) for near in rival.nearby(problem, 0.1, best)]
    scores = {str(request): score for request, score in rival.scores(problem, requests)}
    assert set(scores) == {str(request) for request in requests}
    assert all(0.0 <= score["accuracy"] <= 1.0 for score in scores.values())


def test_rows_have_length_one_under_every_map():
    X = sp.csr_array(np.array([[3.0, 0.0, -4.0], [0.0, 0.0, 0.0]]))
    np.testing.assert_allclose(unit(X).toarray(), [[0.6, 0.0, -0.8], [0.0, 0.0, 0.0]], rtol=1e-6)
    assert unit(presence(X)).toarray()[0] == pytest.approx([0.5**0.5, 0.0, 0.5**0.5])
