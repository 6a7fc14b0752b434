"""A stream that is killed and resumed, with other rows each time, never releases a step twice."""

import subprocess
import sys

LIFE = """
import os, sys
import numpy as np
from dplasso import storage
from dplasso.streams import RunningSum, State, running_sum

path, seed = sys.argv[1], int(sys.argv[2])

def save(state):
    storage.write(path, *state)

if os.path.exists(path):
    sums = RunningSum.from_state(State(*storage.read(path)), save)
    print(sums.position, sums.release().tobytes().hex(), flush=True)
else:
    sums = running_sum(4, sensitivity=1.0, window=8, epsilon=1.0, delta=1e-6, before_release=save)
rng = np.random.default_rng(seed)
while True:
    released = sums.add(rng.normal(size=4))
    print(sums.position, released.tobytes().hex(), flush=True)
"""


def test_no_step_is_released_with_two_values(tmp_path) -> None:
    released: dict[int, str] = {}
    for life, killed_after in enumerate((7, 30, 1)):
        command = [sys.executable, "-c", LIFE, str(tmp_path / "state"), str(life)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        lines = [process.stdout.readline() for _ in range(killed_after)]
        process.kill()
        lines += process.communicate()[0].splitlines(keepends=True)
        for line in lines:
            if line.endswith("\n"):  # the last one may have been cut
                step, value = line.split()
                assert released.setdefault(int(step), value) == value
    assert sorted(released) == list(range(1, len(released) + 1))
    assert len(set(released.values())) == len(released) >= 30
