"""Noise in blocks: the same in whatever order it is looked at, with the law and cost it states."""

import numpy as np
import pytest
from scipy.linalg import solve_triangular
from scipy.stats import kstest, norm

from dplasso.kernels.blocks import echo_one
from dplasso.kernels.buffered import echo
from dplasso.mechanisms.gaussian_cells import GaussianCells
from dplasso.privacy.gaussian import mu
from dplasso.streams import RunningSum, running_sum
from dplasso.streams.blocks import STEPS
from exposure import exposure

MU = 0.7
BUDGET = {"sensitivity": 1.0, "rho": MU**2 / 2.0, "construction": "blocks"}
LENGTHS = [{"window": 100}, {"steps": 4 * STEPS}, {}]


def every(sums, step):
    return sums.noise.at(step).values.copy()


@pytest.mark.parametrize("length", LENGTHS, ids=str)
def test_what_is_looked_at_first_changes_no_noise(length) -> None:
    whole, pieces = (running_sum(40, seed=1, **BUDGET, **length) for _ in range(2))
    for step in (1, 20, STEPS - 1, STEPS, STEPS + 1, 2 * STEPS - 1, 2 * STEPS + 30):
        block, inside = pieces.noise.opened(step)
        for columns in ([39, 3, 3], [], [7], range(20)):
            block.meet(np.array(columns, np.int32))
        assert np.array_equal(every(pieces, step), every(whole, step))
        assert inside == step % STEPS
    # Outputs share a row's columns: number j of output k is j + k times the width.
    block, inside = whole.noise.opened(3 * STEPS + 5)
    block.meet(np.array([2, 9], np.int32), outputs=4)
    assert np.flatnonzero(block.places >= 0).tolist() == [2, 9, 12, 19, 22, 29, 32, 39]


def test_one_column_fades_within_a_block_as_a_vector_of_buffers_does() -> None:
    shifts, shares = running_sum(3, seed=1, window=100, **BUDGET).noise.within.echoes
    draws = np.random.default_rng(0).integers(-(2**40), 2**40, (STEPS - 1, 3))
    vectors = draws.copy()
    echo(vectors, np.zeros((len(shifts), 3), np.int64), shifts, shares)
    for column in range(3):
        path = draws[:, column].copy()
        echo_one(path, shifts, shares)
        assert np.array_equal(path, vectors[:, column])


@pytest.mark.parametrize("length", LENGTHS, ids=str)
def test_released_sums_have_the_noise_that_the_matrix_says(length) -> None:
    dimension, steps = 3000, 2 * STEPS + 3
    sums = running_sum(dimension, seed=3, **BUDGET, **length)
    released = np.stack([sums.add(np.zeros(dimension)) for _ in range(steps)])
    matrix = sums.noise.noise_matrix(steps)
    wanted = matrix @ matrix.T
    sizes = np.sqrt(np.diag(wanted))
    spread = np.sqrt((np.outer(sizes, sizes) ** 2 + wanted**2) / dimension)
    assert np.all(np.abs(released @ released.T / dimension - wanted) < 5.5 * spread)
    assert np.all(np.abs(released.mean(axis=1)) < 5.5 * sizes / np.sqrt(dimension))
    independent = solve_triangular(np.linalg.cholesky(wanted), released, lower=True)
    assert kstest(independent.ravel(), norm.cdf).pvalue > 1e-4


@pytest.mark.parametrize("window", [1, 2, STEPS - 1, STEPS, STEPS + 1, 2 * STEPS, 150, 300, None])
def test_every_row_pays_no_more_than_is_charged(window) -> None:
    sums = running_sum(1, seed=0, window=window, **BUDGET)
    assert mu(sums.event) == pytest.approx(MU)
    steps = 5 * STEPS if window is None else window + 3 * STEPS
    told = exposure(sums.noise.noise_matrix(steps), window)
    assert told.max() <= MU * (1 + 1e-9)
    # Two sums are charged as if each told of the row alone: together they tell a little less.
    assert told.max() > 0.6 * MU


def test_a_planted_share_of_the_noise_of_finished_blocks_is_found() -> None:
    noise = running_sum(1, seed=0, window=100, **BUDGET).noise.noise_matrix(200)
    within = (200 // STEPS + 1) * (STEPS - 1)
    noise[:, within:] *= 0.5
    assert exposure(noise, 100).max() > MU


@pytest.mark.parametrize("length", LENGTHS, ids=str)
@pytest.mark.parametrize("stop", [1, 30, STEPS, STEPS + 1, 3 * STEPS - 1])
def test_a_state_continues_with_the_same_noise(length, stop) -> None:
    sums = running_sum(7, seed=1, **BUDGET, **length)
    for _ in range(stop):
        sums.add(np.zeros(7))
    resumed = RunningSum.from_state(sums.state())
    assert np.array_equal(resumed.release(), sums.release())
    later = [(sums.add(np.zeros(7)), resumed.add(np.zeros(7))) for _ in range(STEPS)]
    assert all(np.array_equal(one, other) for one, other in later)


def test_draws_that_are_too_close_to_call_are_decided_and_repeatable(monkeypatch) -> None:
    """With a margin of one in ten, many draws are left to exact arithmetic."""
    decided = []
    real = GaussianCells.decided

    def counted(self, row, bits):
        decided.append(row)
        return real(self, row, bits)

    monkeypatch.setattr(GaussianCells, "decided", counted)
    found = []
    for order in (np.arange(30), np.arange(30)[::-1]):
        sums = running_sum(30, seed=4, window=100, **BUDGET)
        within = sums.noise.within
        within.cells.table = within.cells.table._replace(margin=0.1)
        try:
            sums.noise.opened(5)[0].meet(order.astype(np.int32))
            found.append(every(sums, 5))
        finally:
            within.cells.table = within.cells.table._replace(margin=1e-13)
    assert len(decided) > 20 and np.array_equal(*found)
