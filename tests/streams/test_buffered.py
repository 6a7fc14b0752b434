"""Noise by fading buffers: as told ahead as step by step, and rounding that is paid for."""

import math

import numpy as np
import pytest

from dplasso.kernels.buffered import echo
from dplasso.streams import RunningSum, running_sum
from dplasso.streams.band import band_sensitivity
from dplasso.streams.buffered import buffered_sensitivity, echoes
from dplasso.streams.process import Grid

BUDGET = {"sensitivity": 1.0, "epsilon": 1.0, "delta": 1e-6}
LENGTHS = [{"window": 5}, {"steps": 40}, {}]
KINDS = ["buffered", "band", "tree"]


@pytest.mark.parametrize("length", LENGTHS, ids=str)
@pytest.mark.parametrize("construction", KINDS)
def test_noise_told_ahead_is_that_of_the_steps(construction, length) -> None:
    made = {"construction": construction, "seed": 1, **BUDGET, **length}
    steps = [running_sum(7, **made).noise.at(step) for step in range(1, 31)]
    ahead = running_sum(7, **made).noise
    for first, count in ((1, 4), (5, 1), (6, 20), (3, 9), (26, 5)):  # also back again
        told = ahead.ahead(first, count)
        for k in range(count):
            assert np.array_equal(told.values[k], steps[first + k - 1].values)
            assert told.floors[k] == steps[first + k - 1].floors


@pytest.mark.parametrize("length", LENGTHS, ids=str)
def test_a_state_keeps_the_buffers_and_the_past_can_still_be_asked_for(length) -> None:
    sums = running_sum(7, seed=1, **BUDGET, **length)
    released = [sums.add(np.zeros(7)) for _ in range(20)]
    resumed = RunningSum.from_state(sums.state())
    assert np.array_equal(resumed.release(), released[-1])
    later = [(sums.add(np.zeros(7)), resumed.add(np.zeros(7))) for _ in range(10)]
    assert all(np.array_equal(one, other) for one, other in later)
    assert np.array_equal(resumed.noise.at(3).values, sums.noise.at(3).values)


def test_a_state_with_other_buffers_is_refused() -> None:
    sums = running_sum(3, window=100, seed=1, **BUDGET)
    sums.add(np.zeros(3))
    header, arrays = sums.state()
    arrays["noise_shares"] = arrays["noise_shares"] + 1
    with pytest.raises(ValueError, match="other buffers"):
        RunningSum.from_state(type(sums.state())(header, arrays))


@pytest.mark.parametrize("window", [1, 2, 3, 5, 16, 100, 1024, 10_000, 2**20])
def test_the_error_is_that_of_a_band_within_five_per_cent(window) -> None:
    shifts, shares = echoes(window)
    kept, taken = 1.0 - 2.0**-shifts, shares * 2.0**-20
    pairs = np.outer(taken, taken) / (1.0 - np.outer(kept, kept))
    deviation = math.sqrt(1.0 + pairs.sum())  # for ever
    best = band_sensitivity(window) ** 2  # the band's noise is as long as its sensitivity
    assert buffered_sensitivity(window, 1, Grid(30, 1 << 30)) * deviation <= 1.05 * best


def coupled_gap(row: np.ndarray, steps: int, seed: int, window: int, sigma: float) -> np.ndarray:
    """Lengths of the gaps between means of two streams, one with ``row`` first, that release the
    same: what each step tells of the row, rounding included."""
    shifts, shares = echoes(window)
    rng = np.random.default_rng(seed)
    with_row = np.zeros((len(shifts), len(row)), np.int64)
    without = with_row.copy()
    gaps = np.empty(steps)
    for step in range(steps):
        released = np.floor(rng.normal(0.0, sigma, (1, len(row)))).astype(np.int64)
        # Whoever sees the release knows the draw that each stream must have had.
        held = [buffers.sum(axis=0) >> 20 for buffers in (with_row, without)]
        draws = [released - held[0] - row, released - held[1]]
        gaps[step] = np.linalg.norm(draws[0] - draws[1])
        echo(draws[0], with_row, shifts, shares)
        echo(draws[1], without, shifts, shares)
    return gaps


@pytest.mark.parametrize("window", [2, 30, 300])
def test_rounding_is_within_what_is_charged(window) -> None:
    """On a grid so coarse that rounding can be seen, and on a fine one, where it can not."""
    for bits in (4, 20):
        reach = 1 << bits
        row = np.zeros(50, np.int64)
        row[:4] = reach // 2
        gaps = coupled_gap(row, window, seed=bits, window=window, sigma=float(1 << 20))
        told = float(np.linalg.norm(gaps)) / reach
        charged = buffered_sensitivity(window, 50, Grid(bits, reach))
        plain = buffered_sensitivity(window, 1, Grid(50, 1 << 50))
        assert told <= charged
        if bits == 20:
            assert told == pytest.approx(plain, rel=1e-3)
