"""Commands killed with SIGKILL: the file under the final name is complete, or does not exist.

Shared by the tests and by ``benchmarks/killed.py``, which kills more often.
"""

import contextlib
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from dplasso import load
from dplasso.storage import open_store

COMMAND = Path(sys.executable).with_name("dplasso")
COLUMNS = 100_000


def write_rows(path, rows, seed=0):
    """Made-up svmlight text, and names of features: long ones, for a model that takes a while to
    write."""
    path.with_suffix(".names").write_text("".join(f"{k:0100}\n" for k in range(COLUMNS)))
    rng = np.random.default_rng(seed)
    columns = np.sort(rng.integers(0, COLUMNS // 20, (rows, 20)) + np.arange(20) * COLUMNS // 20)
    values, labels = rng.random((rows, 20)), rng.integers(0, 2, rows)
    with open(path, "w") as file:
        for label, row, entries in zip(labels, columns + 1, values, strict=True):
            pairs = (f"{j}:{v:.6f}" for j, v in zip(row, entries, strict=True))
            file.write(f"{label} {' '.join(pairs)}\n")
    return path


def train(data, target):
    declared = ("--features", str(COLUMNS), "--classes", "0,1")
    names = ("--feature-names", data.with_suffix(".names"))
    return [COMMAND, "train", data, "-o", target, *declared, *names, "-T", "500", "-q", "--force"]


def convert(data, target):
    return [COMMAND, "convert", data, "-o", target, "--features", str(COLUMNS), "-q", "--force"]


CHECKS = {train: load, convert: lambda target: open_store(target, verify=True)}


def seconds_of(command):
    start = time.monotonic()
    subprocess.run(command, check=True)
    return time.monotonic() - start


def kill(command, moment):
    """Start a command and kill it after ``moment`` seconds; whether it was still running."""
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(moment)
    process.kill()
    return process.wait() < 0


def kill_while_writing(command, folder):
    """Start a command and kill it as soon as there is something new in the folder of its target.

    A file of one byte does not count: the command tests whether it can write at all.
    """
    before = set(folder.iterdir())
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while process.poll() is None and not any(map(_has_content, set(folder.iterdir()) - before)):
        time.sleep(1e-4)
    process.kill()
    return process.wait() < 0


def _has_content(path):
    with contextlib.suppress(FileNotFoundError):
        return path.is_dir() or path.stat().st_size > 1
    return False


def moments(lasts, count, seed):
    """Moments in a run of so many seconds: one in each of as many equal parts."""
    return (np.arange(count) + np.random.default_rng(seed).random(count)) * lasts / count


def kill_often(made, data, target, count, seed):
    """Kill a command at moments spread over its run, half of them while it writes.

    Returns how many runs were killed while running. The file under the final name must be complete,
    and a run that is not killed must succeed and remove the remains of earlier runs.
    """
    command = made(data, target)
    seconds_of(command)  # compiles what is not compiled yet
    lasts = seconds_of(command)
    CHECKS[made](target)
    spread, killed = moments(lasts, count - count // 2, seed), 0
    for k in range(count):
        if k % 2 == 0:
            killed += kill(command, spread[k // 2])
        else:
            killed += kill_while_writing(command, target.parent)
        if target.exists():
            CHECKS[made](target)
    subprocess.run(command, check=True)
    CHECKS[made](target)
    return killed
