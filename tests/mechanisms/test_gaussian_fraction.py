"""Fractions of a normal number, given its whole part, follow their law, also where it is steep."""

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import chisquare, kstest

from dplasso.mechanisms.gaussian_fraction import GaussianFraction
from dplasso.mechanisms.noise_key import NoiseKey

KEY = NoiseKey(bytes(range(32)), secure=False)


@pytest.mark.parametrize("sigma", [0.7, 2.0])
@pytest.mark.parametrize("whole", [0, -1, 2, -3])
def test_law(sigma: float, whole: int) -> None:
    fraction, edges = GaussianFraction(sigma, KEY), np.linspace(0.0, 1.0, 21)
    draws = [fraction.digits(53, whole, (name, 0)) / 2**53 for name in range(3000)]
    below = ndtr((whole + edges) / sigma)
    expected = np.diff(below) / (below[-1] - below[0]) * len(draws)
    assert chisquare(np.histogram(draws, edges)[0], expected).pvalue > 1e-4


def test_law_is_uniform_where_the_grid_is_fine() -> None:
    fraction = GaussianFraction(2.0**40, KEY)
    draws = [fraction.digits(53, -(2**39), (name, 5)) / 2**53 for name in range(3000)]
    assert kstest(draws, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("whole", [0, 5, -1, -6])
def test_more_digits_tell_the_same_number(whole: int) -> None:
    fraction = GaussianFraction(3.0, KEY)
    for name in range(50):
        long = fraction.digits(700, whole, (name,))
        for count in (1, 64, 65, 600):
            assert fraction.digits(count, whole, (name,)) == long >> (700 - count)
