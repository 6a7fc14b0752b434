"""Approximate minima perturbation as the benchmarks have it."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from rivals.accounts import gaussian_delta
from rivals.amp import (
    OUTPUT_SHARE,
    approximate_minimum,
    calibrated,
    fit,
    objective_delta,
)
from rivals.problem import Request, unit
from sklearn.linear_model import LogisticRegression


def some_rows(n: int = 400, D: int = 6) -> tuple[sp.csr_array, np.ndarray]:
    rng = np.random.default_rng(0)
    X = unit(sp.csr_array(rng.normal(size=(n, D))))
    labels = X @ np.arange(1.0, D + 1) + 0.3 * rng.logistic(size=n) > 0
    return X, labels.astype(np.float64)


def gradient(X, labels, bias, ridge, tilt, w):
    rows = np.hstack([X.toarray(), np.full((X.shape[0], 1), bias)])
    return rows.T @ (1 / (1 + np.exp(-rows @ w)) - labels) + ridge * w + tilt


@pytest.mark.parametrize("tolerance", [1.0, 1e-3, 1e-6])
def test_the_gradient_is_within_tolerance(tolerance):
    X, labels = some_rows()
    tilt = 5.0 * np.random.default_rng(1).normal(size=X.shape[1] + 1)
    w = approximate_minimum(X, labels, bias=0.3, ridge=0.5, tilt=tilt, tolerance=tolerance)
    assert np.linalg.norm(gradient(X, labels, 0.3, 0.5, tilt, w)) <= tolerance * 1.0001


def test_a_tolerance_that_cannot_be_reached_is_refused():
    X, labels = some_rows(50)
    tilt = np.ones(X.shape[1] + 1)
    with pytest.raises(RuntimeError, match="tolerance that privacy needs"):
        approximate_minimum(X, labels, bias=0.3, ridge=0.5, tilt=tilt, tolerance=1e-30)


def test_with_a_huge_epsilon_it_is_plain_ridge_regression():
    X, labels = some_rows()
    request = Request(1e5, {"bias": 1.0, "ridge": 0.1}, 0)
    found = fit(X, labels, request, 1e-6)
    rows = np.hstack([X.toarray(), np.ones((X.shape[0], 1))])
    plain = LogisticRegression(C=10.0, fit_intercept=False, tol=1e-10, max_iter=5000)
    np.testing.assert_allclose(found, plain.fit(rows, labels).coef_[0], atol=0.05)


@settings(deadline=None)
@given(st.floats(0.05, 8.0), st.floats(0.05, 3.0), st.floats(0.0, 2.0))
def test_delta_is_that_of_the_bound_on_the_loss(epsilon, mu, excess):
    # E max(0, 1 - exp(epsilon - loss)) with loss = mu |N| + mu^2 / 2 + excess, by quadrature.
    z = np.linspace(0.0, 12.0, 200_001)
    density = 2.0 * np.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi)
    loss = mu * z + mu * mu / 2.0 + excess
    expected = np.trapezoid(density * np.maximum(0.0, -np.expm1(epsilon - loss)), z)
    assert objective_delta(epsilon, mu, excess) == pytest.approx(expected, rel=1e-3, abs=1e-9)


@settings(deadline=None)
@given(st.floats(0.05, 10.0), st.floats(1e-10, 1e-4), st.floats(1.01, 1e4), st.floats(0.1, 2.0))
def test_both_noises_stay_within_their_shares(epsilon, delta, over_least, longest):
    ridge = over_least * 0.25 * longest**2 / math.expm1(0.9 * epsilon)
    noise = calibrated(epsilon, delta, ridge, longest)
    excess = math.log1p(0.25 * longest**2 / ridge)
    mine = objective_delta((1 - OUTPUT_SHARE) * epsilon, longest / noise.objective_sd, excess)
    apart = 2.0 * noise.tolerance / ridge  # of two results that have the same minimum
    rest = gaussian_delta(OUTPUT_SHARE * epsilon, apart / noise.output_sd)
    assert mine + rest <= delta * 1.001
    assert mine == pytest.approx((1 - OUTPUT_SHARE) * delta, rel=1e-2)  # and not much more noise


def test_the_privacy_loss_in_one_dimension_stays_below_its_bound():
    """Density of the minimum with and without a row, exactly, on a grid of weights."""
    X, labels, ridge, sd = np.full((4, 1), 1.0), np.array([1.0, 0, 1, 1]), 0.8, 2.0
    w = np.linspace(-15.0, 15.0, 4001)

    def log_density(rows: np.ndarray, y: np.ndarray) -> np.ndarray:
        p = 1 / (1 + np.exp(-rows * w))  # rows x weights
        noise = -((p - y[:, None]) * rows).sum(axis=0) - ridge * w
        volume = (p * (1 - p) * rows**2).sum(axis=0) + ridge
        return -(noise**2) / (2 * sd**2) + np.log(volume / (sd * math.sqrt(2 * math.pi)))

    more, less = log_density(X, labels), log_density(X[:-1], labels[:-1])
    for one, other in ((more, less), (less, more)):
        assert np.trapezoid(np.exp(one), w) == pytest.approx(1.0, abs=1e-4)
        for epsilon in (0.2, 0.5, 1.0):
            delta = np.trapezoid(np.maximum(np.exp(one) - math.exp(epsilon) * np.exp(other), 0), w)
            assert delta <= objective_delta(epsilon, 1.0 / sd, math.log1p(0.25 / ridge)) + 1e-9


def test_a_ridge_too_small_for_epsilon_is_refused():
    with pytest.raises(ValueError, match="too small for epsilon"):
        calibrated(0.1, 1e-6, 0.1, 1.0)
