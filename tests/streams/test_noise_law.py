"""Released noise has the law that its matrix says: size, correlation, shape, every last bit."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.linalg import solve_triangular
from scipy.stats import gamma, kstest, norm

from dplasso.mechanisms.gaussian_fraction import GaussianFraction
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.mechanisms.noise_key import NoiseKey
from dplasso.streams import band, running_sum
from dplasso.streams.process import Grid

CASES = [
    {"window": 8, "construction": "band"},
    {"window": 5, "construction": "regenerated_band"},
    {"window": 8, "construction": "buffered"},
    {"steps": 20, "construction": "buffered"},
    {"construction": "buffered"},
    {"window": 8, "construction": "tree"},
    {"window": 8, "construction": "window_tree"},
    {"steps": 20, "construction": "band"},
    {"steps": 20, "construction": "tree"},
    {"construction": "band"},
    {"construction": "tree"},
    {"window": 8, "construction": "tree", "neighboring": "replace_one"},
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_released_sums_have_the_noise_that_the_matrix_says(case: dict) -> None:
    dimension, length, reach = 6000, 20, 1 + ("neighboring" in case)
    sums = running_sum(dimension, sensitivity=3.0, epsilon=1.0, delta=1e-6, seed=3, **case)
    released = np.stack([sums.add(np.zeros(dimension)) for _ in range(length)])
    matrix = sums.noise.noise_matrix(length)
    wanted = matrix @ matrix.T
    found = released / (3.0 * reach)
    sizes = np.sqrt(np.diag(wanted))
    spread = np.sqrt((np.outer(sizes, sizes) ** 2 + wanted**2) / dimension)
    assert np.all(np.abs(found @ found.T / dimension - wanted) < 5.5 * spread)
    assert np.all(np.abs(found.mean(axis=1)) < 5.5 * sizes / np.sqrt(dimension))
    independent = solve_triangular(np.linalg.cholesky(wanted), found, lower=True)
    assert kstest(independent.ravel(), norm.cdf).pvalue > 1e-4


@pytest.mark.parametrize("construction", ["tree", "window_tree"])
def test_released_gamma_noise(construction: str) -> None:
    """Windows of 1 have one node a release: its length has shape d and scale Delta / epsilon."""
    settings = {"sensitivity": 2.0, "noise": "gamma", "construction": construction}
    sums = running_sum(4, window=1, epsilon=0.5, seed=0, **settings)
    lengths = [np.linalg.norm(sums.add(np.zeros(4))) for _ in range(200)]
    assert kstest(lengths, gamma(4, scale=2.0 / 0.5).cdf).pvalue > 1e-4
    # Wider windows: the first step has one node of scale Delta (log2 W + 1) / epsilon.
    sums = [running_sum(4, window=8, epsilon=0.5, seed=k, **settings) for k in range(100)]
    lengths = [np.linalg.norm(one.add(np.zeros(4))) for one in sums]
    assert kstest(lengths, gamma(4, scale=4 * 2.0 / 0.5).cdf).pvalue > 1e-4


@pytest.mark.parametrize("digits", ["drawn", "ones"])
@pytest.mark.parametrize("fine_bits", [2, 5, 20])
def test_a_band_is_rounded_down_to_the_last_bit(monkeypatch, fine_bits: int, digits: str) -> None:
    """Against exact fractions; with few fine bits, what was left out decides all the time.

    Fractions of all ones are as large as can be: whatever could carry does.
    """
    if digits == "ones":
        monkeypatch.setattr(GaussianFraction, "digits", lambda _, count, *__: (1 << count) - 1)
    monkeypatch.setattr(band, "FINE_BITS", fine_bits)
    monkeypatch.setattr(band, "_BITS", band.COEFFICIENT_BITS + fine_bits)
    asked, settle = [], band.BandNoise._fills
    monkeypatch.setattr(band.BandNoise, "_fills", lambda *args: asked.append(1) or settle(*args))
    key, window, dimension, sigma = NoiseKey(bytes(32), secure=False), 6, 40, 5000.25
    fine, fraction = sigma * 2**fine_bits, GaussianFraction(sigma * 2**fine_bits, key)
    noise = band.BandNoise(dimension, window, sigma, Grid(10, 1 << 10), key, kept=True)
    weights = [Fraction(int(b), 1 << band.COEFFICIENT_BITS) for b in band.coefficients(window)]
    drawn: dict[int, np.ndarray] = {}
    for step in range(1, 16):
        drawn[step] = np.zeros(dimension, np.int64)
        GridGaussian(fine).add_to(drawn[step], key.generator(step))
        values = noise.at(step).values
        for place in range(dimension):
            exact = Fraction(0)
            for back, weight in enumerate(weights[:step]):
                whole = int(drawn[step - back][place])
                left_out = fraction.digits(300, whole, (step - back, place))
                exact += weight * (whole + Fraction(left_out, 1 << 300)) / (1 << fine_bits)
            assert values[place] == exact.__floor__()
    assert len(asked) > 20 if fine_bits < 20 else len(asked) < 20


def test_rounded_coefficients_cost_what_is_charged() -> None:
    """The bound on the sensitivity of the rounded band, against the band itself."""
    for window in (1, 2, 3, 10, 100, 1000):
        b = band.coefficients(window) / 2.0**band.COEFFICIENT_BITS
        back = np.subtract.outer(np.arange(window), np.arange(window))
        matrix = np.where(back >= 0, b[np.abs(back)], 0.0)
        exact = np.linalg.norm(solve_triangular(matrix, np.ones(window), lower=True))
        assert exact <= band.band_sensitivity(window) <= exact * (1 + 1e-6)
    assert band.band_sensitivity(1024) ** 2 == pytest.approx(3.27, abs=0.005)
