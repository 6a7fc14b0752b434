"""Noise drawn ahead: every step has its own, whoever asks, and a state never leads to another."""

import numpy as np
import pytest

from dplasso.streams import RunningSum, running_sum

BUDGET = {"sensitivity": 1.0, "epsilon": 1.0, "delta": 1e-6, "seed": 1}
LENGTHS = [{"window": 5}, {"steps": 2000}, {}]


def taken(sums):
    """The noise of the next step, as a learner of single rows takes it."""
    values, place, floors = sums.next_step()
    return values[place].copy(), floors


@pytest.mark.parametrize("length", LENGTHS, ids=str)
def test_steps_taken_one_by_one_have_the_noise_of_all_steps_at_once(length):
    values, floors = running_sum(5, **BUDGET, **length).stretch(1500)
    sums = running_sum(5, **BUDGET, **length)
    for step in range(1500):
        found, rounded = taken(sums)
        assert np.array_equal(found, values[step]) and rounded == floors[step]
    assert len({row.tobytes() for row in values}) == 1500


def test_single_steps_and_stretches_follow_each_other_without_a_gap():
    values, _ = running_sum(5, **BUDGET, window=9).stretch(2000)
    sums, step = running_sum(5, **BUDGET, window=9), 0
    for count in (1, 1, 3, 700, 1, 1, 40, 1, 600, 2):
        found = sums.stretch(count).values if count > 1 else taken(sums)[0][None]
        assert np.array_equal(found, values[step : step + count])
        step += count
    assert sums.position == step


@pytest.mark.parametrize("length", LENGTHS, ids=str)
@pytest.mark.parametrize("stop", [1, 17, 100, 700])
def test_a_state_saved_between_drawn_steps_goes_on_with_the_next_step(length, stop):
    values, _ = running_sum(5, **BUDGET, **length).stretch(800)
    sums = running_sum(5, **BUDGET, **length)
    for _ in range(stop):
        taken(sums)
    resumed = RunningSum.from_state(sums.state())
    again = RunningSum.from_state(resumed.state())  # at once, before anything was drawn
    for found in (resumed, again):
        for step in range(stop, stop + 60):
            assert np.array_equal(taken(found)[0], values[step])


def test_a_step_that_is_taken_back_is_the_next_one():
    sums = running_sum(5, **BUDGET, window=9)
    first, _ = taken(sums)
    second, _ = taken(sums)
    sums.take_back()
    assert sums.position == 1 and np.array_equal(taken(sums)[0], second)
    assert not np.array_equal(first, second)


def test_no_noise_is_drawn_beyond_the_declared_end():
    sums = running_sum(5, **BUDGET, steps=20)
    for _ in range(20):
        taken(sums)
    assert sums.noise._process._now.step == 20
    with pytest.raises(ValueError, match="steps must be at most"):
        sums.next_step()


def test_wide_rows_hold_no_noise_in_reserve():
    sums = running_sum(1 << 16, **BUDGET, window=9)
    taken(sums)
    assert sums.noise._process._now.step == 1
