"""No two released prefixes of a stream share their noise, wherever a program crashed in between."""

import numpy as np
import pytest

from dplasso.streams import RunningSum, running_sum

BUDGET = {"sensitivity": 64.0, "epsilon": 1.0, "delta": 1e-6, "too_long": "refuse"}
CASES = [
    {"window": 20, "construction": "buffered"},
    {"window": 70, "construction": "blocks"},
    {"window": 8, "construction": "band"},
    {"window": 8, "construction": "tree"},
    {"steps": 400, "construction": "buffered"},
    {},
]


class CrashError(Exception):
    """The program ends after its state was saved, before or after the release leaves."""


@pytest.mark.parametrize("case", CASES, ids=str)
def test_prefixes_with_the_same_noise_are_the_same_prefix(case) -> None:
    """After each crash, other rows than before are added to the state that was saved."""
    rng = np.random.default_rng(0)
    saved: list = []

    def save(state) -> None:
        saved[:] = [state, list(rows)]
        if rng.random() < 0.1:
            raise CrashError

    rows: list = []
    noise_of: dict[tuple, bytes] = {}
    sums = running_sum(3, seed=5, before_release=save, **BUDGET, **case)
    crashes = 0
    while sums.position < 300:
        row = rng.integers(-20, 21, 3).astype(float)
        rows.append(tuple(row))
        try:
            released = sums.add(row)
        except CrashError:
            crashes += 1
            state, rows = saved[0], list(saved[1])
            sums = RunningSum.from_state(state, before_release=None)
            released = sums.release()  # what would have left is the same now
            sums.before_release = save
        noise = (released - np.sum(rows, axis=0)).tobytes()
        assert noise_of.setdefault(tuple(rows), noise) == noise
    assert crashes > 10
    assert len(set(noise_of.values())) == len(noise_of)


def test_a_planted_restart_from_an_old_state_is_found() -> None:
    """A state that is older than the last release, continued with other rows: what must not be."""
    sums = running_sum(3, window=20, seed=5, **BUDGET)
    sums.add(np.zeros(3))
    old = sums.state()
    first = sums.add(np.array([1.0, 2.0, 3.0])) - [1.0, 2.0, 3.0]
    second = RunningSum.from_state(old).add(np.array([4.0, 5.0, 6.0])) - [4.0, 5.0, 6.0]
    assert first.tobytes() == second.tobytes()
