"""Noise for pure privacy: length and direction of a whole vector follow their law."""

import numpy as np
import pytest
from scipy.stats import chi, gamma, kstest, uniform

from dplasso.mechanisms import grid_gamma
from dplasso.mechanisms.grid_gamma import GridGamma
from dplasso.mechanisms.random_bits import random_bits


def draws(dimension: int, scale: float, count: int, seed: int = 0) -> np.ndarray:
    noise, generator = GridGamma(dimension, scale), random_bits(seed).generator
    out = np.zeros((count, dimension), np.int64)
    for row in out:
        noise.add_to(row, generator)
    return (out + 0.5) / scale


@pytest.mark.parametrize("degrees", [2, 3, 41])
def test_length_of_a_normal_vector(degrees: int) -> None:
    generator = random_bits(degrees).generator
    lengths = [float(grid_gamma._chi(degrees, generator)) for _ in range(1500)]
    assert kstest(lengths, chi(degrees).cdf).pvalue > 1e-4


@pytest.mark.parametrize(("dimension", "count"), [(1, 700), (3, 250), (40, 250)])
def test_length_is_gamma(dimension: int, count: int) -> None:
    lengths = np.linalg.norm(draws(dimension, 2.0**36, count), axis=1)
    assert kstest(lengths, gamma(dimension).cdf).pvalue > 1e-4


def test_direction_is_uniform_and_independent_of_the_length() -> None:
    found = draws(3, 2.0**36, 400)
    lengths = np.linalg.norm(found, axis=1)
    # On a sphere in three dimensions every coordinate is uniform.
    for coordinate in (found / lengths[:, None]).T:
        assert kstest(coordinate, uniform(-1.0, 2.0).cdf).pvalue > 1e-4
        assert abs(np.corrcoef(coordinate, lengths)[0, 1]) < 5 / np.sqrt(400)


def test_a_scale_too_small_for_the_grid_is_drawn_on_a_finer_one() -> None:
    lengths = np.linalg.norm(draws(4, 200.0, 250), axis=1)
    assert kstest(lengths, gamma(4).cdf).pvalue > 1e-4


def test_noise_is_added_to_what_is_there_and_none_is_none() -> None:
    values = np.array([10**15, -(10**15)])
    GridGamma(2, 2.0**30).add_to(values, random_bits(1).generator)
    again = np.zeros(2, np.int64)
    GridGamma(2, 2.0**30).add_to(again, random_bits(1).generator)
    assert np.array_equal(values - [10**15, -(10**15)], again) and again.all()
    GridGamma(2, 0.0).add_to(again, random_bits(1).generator)
    assert np.array_equal(values - [10**15, -(10**15)], again)


def test_another_dimension_is_refused() -> None:
    with pytest.raises(ValueError, match="values must have 3 entries"):
        GridGamma(3, 2.0**30).add_to(np.zeros(2, np.int64), random_bits(0).generator)
