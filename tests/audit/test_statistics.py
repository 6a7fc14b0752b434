"""The statistics of the audit: valid bounds, p-values that are uniform, faults that show."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binomtest, kstest, norm

from dplasso.audit.statistics import (
    LEAST_EXPECTED,
    Tally,
    _pooling,
    at_least,
    at_most,
    epsilon_between,
    even_chance,
    mu_between,
    pearson,
    rho_between,
    unit_variance,
    zero_mean,
)


@given(runs=st.integers(1, 3000), part=st.floats(0.0, 1.0), error=st.floats(1e-9, 0.4))
def test_clopper_pearson(runs, part, error):
    hits = round(part * runs)
    exact = binomtest(hits, runs).proportion_ci(1.0 - 2.0 * error, "exact")
    assert at_least(hits, runs, error) == pytest.approx(exact.low, rel=1e-6, abs=1e-12)
    assert at_most(hits, runs, error) == pytest.approx(exact.high, rel=1e-6, abs=1e-12)


@given(mu=st.floats(0.01, 4.0), threshold=st.floats(-4.0, 4.0), delta=st.floats(1e-9, 0.1))
def test_rates_of_a_gaussian_prove_no_more_than_is_true(mu, threshold, delta):
    """A Gaussian of shift mu is mu^2/2-zCDP: no event may certify more."""
    p, q = norm.sf(threshold - mu), norm.sf(threshold)
    assume(p < 1.0 - 1e-9)  # what is left of 1 has digits enough
    assert rho_between(p, q) <= mu**2 / 2.0 * (1.0 + 1e-9)
    assert mu_between(p, q) == pytest.approx(mu, rel=1e-6)
    epsilon = epsilon_between(p, q, delta)
    true_delta = norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon) * norm.cdf(
        -mu / 2 - epsilon / mu
    )
    assert epsilon == 0.0 or true_delta >= delta - 1e-9


def test_what_rates_prove():
    assert epsilon_between(0.6, 0.2, 0.0) == pytest.approx(np.log(3.0))
    assert epsilon_between(0.2, 0.6, 0.0) == epsilon_between(1e-7, 1e-9, 1e-6) == 0.0
    assert rho_between(0.5, 0.5) == rho_between(0.2, 0.6) == 0.0
    kl = 0.6 * np.log(3.0) + 0.4 * np.log(0.5)
    assert kl <= rho_between(0.6, 0.2) <= 1.001 * kl
    assert rho_between(1.0, 0.5) >= np.log(2.0)
    # Rare events prove more by high orders than by the divergence of order 1.
    assert rho_between(1e-3, 1e-6) > 1e-3 * np.log(1e3)


def adaptive_draws(rng, runs, tilt=1.0):
    """Laws of six cells that depend on the draw before; drawn from them, or from sharper ones."""
    before, tally = np.zeros(runs, np.int64), Tally(6)
    for _ in range(5):
        logits = np.sin(np.arange(6) * (1.0 + before[:, None])) * 0.7
        law = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        true = np.exp(tilt * logits) / np.exp(tilt * logits).sum(axis=1, keepdims=True)
        before = (rng.random((runs, 1)) > np.cumsum(true, axis=1)[:, :-1]).sum(axis=1)
        # Cells by rank: a fault that depends on the draw before would average out by place.
        order = np.argsort(law, axis=1)
        tally.add(np.sort(law, axis=1), np.argmax(order == before[:, None], axis=1))
    return tally.p_value()


def test_p_values_of_adaptive_draws_are_uniform_and_faults_show():
    rng = np.random.default_rng(0)
    p_values = [adaptive_draws(rng, 200) for _ in range(400)]
    assert kstest(p_values, "uniform").pvalue > 1e-3
    assert adaptive_draws(rng, 2000, tilt=1.3) < 1e-6


def test_p_values_of_pearson_are_uniform_and_faults_show():
    rng, law = np.random.default_rng(1), np.array([0.5, 0.3, 0.15, 0.04, 0.01, 0.0])
    p_values = [pearson(rng.multinomial(3000, law), law) for _ in range(400)]
    assert kstest(p_values, "uniform").pvalue > 1e-3
    assert pearson(np.array([1500, 900, 450, 120, 29, 1]), law) == 0.0
    assert pearson(np.array([1700, 800, 370, 100, 30, 0]), law) < 1e-6


def test_p_values_of_normal_draws_are_uniform_and_faults_show():
    draws = np.random.default_rng(2).normal(size=(400, 500))
    means = [zero_mean(float(row.sum()), 500) for row in draws]
    variances = [unit_variance(float(row @ row), 500) for row in draws]
    assert kstest(means, "uniform").pvalue > 1e-3
    assert kstest(variances, "uniform").pvalue > 1e-3
    assert zero_mean(float((draws[0] + 0.3).sum()), 500) < 1e-4
    assert max(unit_variance(float(c**2 * draws[0] @ draws[0]), 500) for c in (0.8, 1.3)) < 1e-6


@given(runs=st.integers(1, 2000), part=st.floats(0.0, 1.0))
def test_a_fair_coin(runs, part):
    hits = round(part * runs)
    exact = binomtest(hits, runs).pvalue  # 0 where it is below about 1e-250
    assert even_chance(hits, runs) == pytest.approx(exact, rel=1e-6, abs=1e-200)


@given(st.lists(st.floats(0.0, 200.0), min_size=1, max_size=40))
def test_pooling_keeps_all_and_leaves_no_small_group(expected):
    expected = np.array(expected)
    pooled = _pooling(expected)
    assert np.all(pooled.sum(axis=0) == 1.0)
    sums = pooled @ expected
    assert len(sums) == 1 or sums.min() >= LEAST_EXPECTED


def test_a_law_without_choice_is_not_tested():
    tally = Tally(3)
    tally.add(np.tile([0.0, 1.0, 0.0], (100, 1)), np.ones(100, np.int64))
    assert tally.p_value() == 1.0
