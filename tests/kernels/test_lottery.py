"""One ticket of cells whose tickets are worth different powers of two."""

import numpy as np
import pytest
from numba import njit

from dplasso.kernels import lottery
from reference import chi_square, seeded


@njit
def _draws(rng, tickets, exponents, count):
    cells, places = np.empty(count, np.int64), np.empty(count, np.int64)
    for k in range(count):
        cells[k], places[k] = lottery.draw_cell(rng, tickets, exponents)
    return cells, places


def draws(tickets, exponents, count=60_000, seed=0):
    """Trials that were not void."""
    tickets, exponents = np.array(tickets, np.int64), np.array(exponents, np.int64)
    cells, places = _draws(seeded(seed), tickets, exponents, count)
    assert np.all(places < tickets[cells])
    return cells[places >= 0], places[places >= 0]


@pytest.mark.parametrize(
    ("tickets", "exponents"),
    [
        ([1 << 40], [7]),
        ([1 << 40, 3 << 41, 5 << 40], [0, 0, 0]),
        ([1 << 50, 1 << 50, 1 << 50, 1 << 50], [-1000, -1001, -1002, -1003]),
        ([1 << 52, 1 << 20, 7 << 45], [10, 42, 12]),
        ([(1 << 52) - 1, 1, 0, 1 << 51], [0, 49, 300, 1]),
    ],
)
def test_cells_are_drawn_by_the_worth_of_their_tickets(tickets, exponents):
    cells, _ = draws(tickets, exponents)
    weights = np.array(
        [float(n) * 2.0 ** (e - exponents[0]) for n, e in zip(tickets, exponents, strict=True)]
    )
    counts = np.bincount(cells, minlength=len(tickets)).astype(float)
    assert np.all(counts[weights == 0] == 0)
    assert len(tickets) == 1 or chi_square(counts, weights / weights.sum()) > 1e-4


def test_few_tickets_are_all_drawn_alike():
    tickets, exponents = [5, 3, 11], [2, 4, 3]
    cells, places = draws(tickets, exponents, count=100_000)
    counts = np.zeros((3, 11))
    np.add.at(counts, (cells, places), 1.0)
    weights = np.array([[2.0**e] * n + [0.0] * (11 - n) for n, e in ((5, 2), (3, 4), (11, 3))])
    assert np.all(counts[weights == 0] == 0)
    drawn = weights > 0
    assert chi_square(counts[drawn], weights[drawn] / weights.sum()) > 1e-4


def test_places_fill_a_cell_evenly():
    _, places = draws([3 << 50], [5])
    counts, _ = np.histogram(places, bins=50, range=(0, 3 << 50))
    assert chi_square(counts.astype(float), np.full(50, 1 / 50)) > 1e-4


def test_worthless_cells_next_to_a_heavy_one_are_hardly_ever_void():
    cells, _ = draws([1 << 40] * 1000, [0] + [-(1 << 40)] * 999, count=10_000)
    assert len(cells) > 9_990
    assert np.all(cells == 0)


@pytest.mark.parametrize("number", [1, 2, 3, 10, 16])
def test_uniform_below(number):
    rng = seeded(number)

    @njit
    def run(rng, count):
        out = np.empty(count, np.int64)
        for k in range(count):
            out[k] = lottery.uniform_below(rng, number)
        return out

    counts = np.bincount(run(rng, 20_000)).astype(float)
    assert len(counts) == number
    assert number == 1 or chi_square(counts, np.full(number, 1 / number)) > 1e-4


@njit
def _uniform(rng, number, count):
    drawn = np.empty(count, np.int64)
    for k in range(count):
        drawn[k] = lottery.uniform_below(rng, number)
    return drawn


@pytest.mark.parametrize("number", [1, 7, 3 << 40, 1 << 53, (1 << 53) + 1, 5 << 57, 1 << 62])
def test_whole_numbers_are_uniform_whatever_their_limit(number):
    """Also beyond the 53 bits of one word, where a shift once made every draw 0."""
    drawn = _uniform(seeded(1), number, 20_000)
    assert drawn.min() >= 0 and drawn.max() < number
    cells = min(number, 50)
    counts = np.bincount([int(one) * cells // number for one in drawn], minlength=cells)
    assert cells == 1 or chi_square(counts.astype(float), np.full(cells, 1 / cells)) > 1e-4
    if number > 1 << 20:
        low = np.bincount(drawn % 16, minlength=16).astype(float)
        assert chi_square(low, np.full(16, 1 / 16)) > 1e-4
