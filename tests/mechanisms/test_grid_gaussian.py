"""Noise on a grid follows its law: in bulk, where it is decided slowly, and in its tail."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import chisquare

from dplasso.kernels import grid_gaussian as kernel
from dplasso.kernels.arithmetic import exponential
from dplasso.mechanisms import grid_gaussian as mechanism
from dplasso.mechanisms.gaussian_cells import GaussianCells
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.mechanisms.random_bits import random_bits

SIGMAS = [2.0**12, 12345.678, 2.0**31 * 1.999, 2.0**48]


def noise(sigma: float, size: int, seed: int = 0, threads: int | None = None) -> np.ndarray:
    values = np.zeros(size, np.int64)
    GridGaussian(sigma).add_to(values, random_bits(seed).generator, threads)
    return values


def assert_follows(draws: np.ndarray, sigma: float, edges: np.ndarray) -> None:
    """Chi-square of draws against floor(X) between whole edges."""
    edges = np.unique(np.floor(edges)).astype(np.int64)
    counts = np.bincount(np.searchsorted(edges, draws, side="right"), minlength=len(edges) + 1)
    below = ndtr(edges / sigma)
    chances = np.diff(np.concatenate(([0.0], below, [1.0])))
    enough = chances * len(draws) >= 10
    counts = np.append(counts[enough], counts[~enough].sum())
    chances = np.append(chances[enough], chances[~enough].sum())
    kept = chances > 0
    assert counts[~kept].sum() == 0
    expected = chances[kept] / chances[kept].sum() * len(draws)
    assert chisquare(counts[kept], expected).pvalue > 1e-5


@pytest.mark.parametrize("sigma", SIGMAS)
def test_law_in_bulk(sigma: float) -> None:
    draws = noise(sigma, 2_000_000)
    assert_follows(draws, sigma, np.linspace(-5, 5, 1001) * sigma)
    # Edges of single cells: a table that is off by one ticket in a million would not show, a cell
    # too wide or too narrow would.
    width = GaussianCells(sigma).width_bits
    assert_follows(draws, sigma, np.arange(-150, 151) * 2.0**width)


@pytest.mark.parametrize("sigma", SIGMAS)
def test_low_order_bits_are_fair_and_tell_nothing_of_the_size(sigma: float) -> None:
    draws = noise(sigma, 1_000_000, seed=1)
    table = np.zeros((2, 64))
    np.add.at(table, ((np.abs(draws) > sigma).astype(int), draws & 63), 1)
    for counts in table:
        assert chisquare(counts).pvalue > 1e-5
    assert chisquare(np.bincount((draws < 0).astype(int))).pvalue > 1e-5


def test_single_whole_numbers_have_the_law_of_a_rounded_normal() -> None:
    """At the smallest sigma every whole number near 0 has its own chance."""
    sigma = 2.0**12
    assert_follows(noise(sigma, 4_000_000, seed=2), sigma, np.arange(-600, 601))


@pytest.mark.parametrize(("reach", "margin"), [(8.5, 0.3), (1.0, 1e-13), (0.3, 0.05)])
def test_law_where_close_calls_and_tails_are_common(
    monkeypatch: pytest.MonkeyPatch, reach: float, margin: float
) -> None:
    """The slow way decides here what it else decides once in a billion draws."""
    sigma, slow = 5000.5, []
    cells = GaussianCells(sigma, reach=reach, margin=margin)
    monkeypatch.setattr(mechanism, "GaussianCells", lambda sigma: cells)
    decided = cells.decided
    monkeypatch.setattr(cells, "decided", lambda *args: slow.append(1) or decided(*args))
    draws = noise(sigma, 8_000)
    assert len(slow) > 100
    assert_follows(draws, sigma, np.linspace(-4, 4, 81) * sigma)


def test_law_of_the_slow_draw() -> None:
    sigma = 4096.0
    cells, generator = GaussianCells(sigma, reach=1.5), random_bits(3).generator
    draws = np.array([cells.draw(generator) for _ in range(4000)])
    assert_follows(draws, sigma, np.linspace(-4, 4, 41) * sigma)


@pytest.mark.parametrize("sigma", SIGMAS)
def test_tickets_cover_the_density_and_boxes_hold_the_tickets(sigma: float) -> None:
    """What makes the law exact: no chance above 1, and no ticket lost in the alias table."""
    cells = GaussianCells(sigma)
    with localcontext(prec=120):
        for cell in range(cells.count):
            height = (-(Decimal(cell << cells.width_bits) ** 2) / (2 * Decimal(sigma) ** 2)).exp()
            assert cells.tickets[cell] >= cells.scale * height
            end = (
                -(Decimal((cell + 1) << cells.width_bits) ** 2) / (2 * Decimal(sigma) ** 2)
            ).exp()
            least = cells.scale * end / cells.tickets[cell]
            assert int(cells.table.sure[cell]) <= least * 2 ** (64 - cells.width_bits)
    held = [0] * (1 << kernel.BOX_BITS)
    for box, (cut, alias) in enumerate(zip(cells.table.cut, cells.table.alias, strict=True)):
        held[box] += int(cut)
        held[int(alias)] += (1 << kernel.TICKET_BITS) - int(cut)
    assert held[: cells.count + 1] == cells.tickets
    assert sum(held) == 1 << 63
    assert held[cells.count + 1] == (1 << 63) - sum(cells.tickets)  # void


def test_compiled_chances_are_as_close_as_the_margin_says() -> None:
    sigma = 2.0**40 * 1.2345
    cells = GaussianCells(sigma)
    rng = np.random.default_rng(0)
    with localcontext(prec=60):
        for _ in range(300):
            cell = int(rng.integers(cells.count))
            offset = int(rng.integers(1 << cells.width_bits))
            x = Decimal((cell << cells.width_bits) + offset)
            edge = float(cell << cells.width_bits)
            exact = cells.scale * (-(x**2) / (2 * Decimal(sigma) ** 2)).exp() / cells.tickets[cell]
            rough = cells.table.lead[cell] * exponential(
                -offset * (float(x) + edge) / (2.0 * sigma * sigma)
            )
            assert abs(Decimal(rough) - exact) < Decimal(cells.table.margin) / 10


def test_a_sigma_of_many_digits_counts_to_the_last_one() -> None:
    sigma = Decimal("123456789.0123456789012345678901234567890123456789")
    rounded = GaussianCells(float(sigma))
    exact, same = GaussianCells(sigma), GaussianCells(Decimal(float(sigma)))
    assert same.tickets == rounded.tickets and same.scale == rounded.scale
    assert exact.scale != rounded.scale and exact.sigma == rounded.sigma
    with localcontext(prec=60):
        height = (-(Decimal(1 << 27) ** 2) / (2 * sigma**2)).exp()
        assert abs(exact._height(1 << 27) - height) < Decimal("1e-55")
        assert abs(rounded._height(1 << 27) - height) > Decimal("1e-30")


def test_draws_do_not_depend_on_the_number_of_threads() -> None:
    size = 3 * kernel.BLOCK + 7
    one = noise(2.0**20, size, threads=1)
    for threads in (2, 3, 8):
        assert np.array_equal(noise(2.0**20, size, threads=threads), one)


def test_no_bits_are_used_twice() -> None:
    """Blocks differ, calls differ, secure streams differ."""
    draws = noise(2.0**40, 2 * kernel.BLOCK)
    assert len(np.unique(draws)) == len(draws)
    generator = random_bits(0).generator
    twice = np.zeros((2, kernel.BLOCK), np.int64)
    for values in twice:
        GridGaussian(2.0**40).add_to(values, generator)
    assert len(np.unique(twice)) == twice.size
    secure = np.zeros((2, 100), np.int64)
    for values in secure:
        GridGaussian(2.0**40).add_to(values, random_bits().generator)
    assert len(np.unique(secure)) == secure.size


def test_noise_is_added_to_what_is_there() -> None:
    values = np.arange(1000) * 10**12
    GridGaussian(2.0**20).add_to(values, random_bits(0).generator)
    assert np.array_equal(values - np.arange(1000) * 10**12, noise(2.0**20, 1000))


def test_no_noise_is_none() -> None:
    assert not noise(0.0, 10).any()


@pytest.mark.parametrize("values", [np.zeros(3), np.zeros((2, 3), np.int64)])
def test_what_is_no_vector_of_whole_numbers_is_refused(values: np.ndarray) -> None:
    with pytest.raises(ValueError, match="values must be a vector of int64"):
        GridGaussian(2.0**20).add_to(values, random_bits(0).generator)


@pytest.mark.parametrize("sigma", [1.0, 2.0**49, math.inf, -1.0, math.nan, "1"])
def test_sigma_that_cannot_be_drawn_is_refused(sigma: float) -> None:
    with pytest.raises(ValueError, match="sigma must"):
        GridGaussian(sigma)


@pytest.mark.parametrize("margin", [1e-13, 1e-3, 0.3])
def test_close_calls_draw_nothing_from_the_generator(margin: float) -> None:
    """Each has bits of its own, by release and place: however many there are, nothing shifts."""
    generator, untouched = (random_bits(5).generator for _ in range(2))
    mechanism = GridGaussian(2.0**20)
    mechanism.cells = GaussianCells(2.0**20, margin=margin)
    mechanism.add_to(np.zeros(3_000, np.int64), generator)
    untouched.bytes(32)
    assert generator.bytes(32) == untouched.bytes(32)
