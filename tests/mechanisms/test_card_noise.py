"""Noise on a device is that of the processor, bit for bit."""

import numpy as np
import pytest

from dplasso.kernels import grid_gaussian as kernel
from dplasso.mechanisms.card_noise import CardNoise, buffers_for
from dplasso.mechanisms.gaussian_cells import GaussianCells
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.mechanisms.random_bits import random_bits
from twin import Twin

SIGMAS = [2.0**12, 12345.678, 2.0**31 * 1.999, 2.0**48]


def on_processor(cells: GaussianCells, size: int) -> np.ndarray:
    values, mechanism = np.arange(size), GridGaussian(cells.sigma)
    mechanism.cells = cells
    mechanism.add_to(values, random_bits(7).generator, 1)
    return values


def on_device(
    noise: CardNoise, size: int, places: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Values with noise, and what was left to settle."""
    values, news = np.arange(size), np.zeros(2, np.uint64)
    secret = random_bits(7).generator.bytes(32)
    key = np.frombuffer(secret, "<u8").copy()
    noise.draw(size if places is None else len(places), key, news)
    noise.add_to(values, values, news, places)
    noise.settle(values, values, key, secret, news, places)
    return values, news


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("size", [1, 50, kernel.BLOCK, 2 * kernel.BLOCK + 77])
def test_every_draw_is_the_processors(sigma: float, size: int) -> None:
    cells = GaussianCells(sigma)
    found, news = on_device(CardNoise(Twin(), cells, size), size)
    assert np.array_equal(found, on_processor(cells, size))
    assert news[1] == 0  # the buffers sufficed


@pytest.mark.parametrize("buffers", [None, 3])
def test_only_some_places_have_noise(buffers: int | None) -> None:
    """In the second case most of it is drawn on the processor."""
    cells, size = GaussianCells(2.0**12), 3 * kernel.BLOCK
    places = np.flatnonzero(np.random.default_rng(0).random(size) < 0.4)
    compact = on_processor(cells, len(places)) - np.arange(len(places))
    expected = np.arange(size)
    expected[places] += compact
    noise = CardNoise(Twin(), cells, size, buffers)
    assert np.array_equal(on_device(noise, size, places)[0], expected)


def test_lanes_of_a_warp_join_their_draws() -> None:
    cells, size = GaussianCells(2.0**12), kernel.BLOCK + 5
    found, _ = on_device(CardNoise(Twin(lanes=True), cells, size), size)
    assert np.array_equal(found, on_processor(cells, size))


@pytest.mark.parametrize(
    ("reach", "margin", "size", "close"), [(8.5, 0.3, 8000, 300), (1.0, 1e-13, 3000, 1025)]
)
def test_close_calls_are_decided_as_on_the_processor(
    reach: float, margin: float, size: int, close: int
) -> None:
    """In the second case there are more of them than the list holds at first."""
    cells = GaussianCells(5000.5, reach=reach, margin=margin)
    found, news = on_device(CardNoise(Twin(), cells, size), size)
    assert news[0] >= close
    assert np.array_equal(found, on_processor(cells, size))


def test_a_block_whose_buffers_do_not_suffice_is_drawn_on_the_processor() -> None:
    cells, size = GaussianCells(2.0**20), kernel.BLOCK + 300
    noise = CardNoise(Twin(), cells, size, buffers=3)
    found, news = on_device(noise, size)
    assert news[1] == 1  # the first block; 3 buffers hold the 300 draws of the second
    assert np.array_equal(found, on_processor(cells, size))


@pytest.mark.parametrize("sigma", SIGMAS)
def test_few_buffers_are_drawn_in_vain(sigma: float) -> None:
    assert kernel.BLOCK / 255 < buffers_for(GaussianCells(sigma)) < 1.1 * kernel.BLOCK / 255
