"""What noisy releases say of labels: close to them if noise is small, and modest if it is not."""

import numpy as np
import pytest

from dplasso.solvers.table.likely_labels import MeasuredMean, likely_mean, likely_share


def test_a_mean_is_believed_as_far_as_it_exceeds_its_noise() -> None:
    assert likely_mean(0.2, 0.0) == 0.2
    assert likely_mean(0.2, 0.001) == pytest.approx(0.2, rel=1e-4)
    assert 0.0 < likely_mean(0.01, 0.01) < 0.001
    assert likely_mean(-0.05, 0.01) == -likely_mean(0.05, 0.01)
    found = [likely_mean(mean, 0.02) for mean in np.linspace(0.0, 0.3, 30)]
    assert np.all(np.diff(found) > 0.0)


def test_a_class_that_noise_hides_is_rarer_than_its_noise() -> None:
    assert likely_share(0.3, 0.01, 1e-4) == 0.3
    assert likely_share(0.0, 0.0, 1e-4) == 1e-4
    assert 1e-4 < likely_share(0.0, 0.05, 1e-4) < 0.05
    assert likely_share(1.02, 0.05, 1e-4) == pytest.approx(1.0 - likely_share(-0.02, 0.05, 1e-4))
    assert likely_share(0.4, 0.5, 0.5) == 0.5
    found = [likely_share(share, 0.05, 1e-4) for share in np.linspace(0.0, 0.5, 30)]
    assert np.all(np.diff(found) > 0.0) and found[-1] == pytest.approx(0.5)


def test_steps_measure_the_mean_although_weights_move_the_mean_row() -> None:
    """Their plain average would be off by what all weights have in common."""
    bound, mean, noise, rng = 50.0, 10.0, 0.1, np.random.default_rng(0)
    errors, plain = [], []
    for _ in range(20):
        centre = 0.3 * rng.normal(size=6)
        found = MeasuredMean(bound, mean / bound + 0.05 * rng.normal(), 0.05, np.full(6, 0.3))
        weights, seen = np.zeros(6), []
        for _ in range(40):
            seen.append(mean + weights @ centre + noise * rng.normal())
            found.add(seen[-1], noise, weights)
            weights = weights + rng.normal(size=6)
        errors.append(found.likely - mean)
        plain.append(np.mean(seen) - mean)
    assert np.std(plain) > 1.0
    assert np.std(errors) < 0.15
