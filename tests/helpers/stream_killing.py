"""A stream command killed with SIGKILL again and again: what it writes must not show it.

Shared by the tests and by ``benchmarks/killed_stream.py``, which kills more often.
"""

import contextlib
import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from dplasso.cli.app import main  # here, so that forked lives need not import it

COMMAND = Path(sys.executable).with_name("dplasso")
COLUMNS = 40


def made_lines(rows, seed=0):
    """Made-up svmlight rows, as lines."""
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(rows, COLUMNS)).round(3), rng.integers(0, 2, rows)
    return [
        f"{label} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row) if abs(v) > 1.0) + "\n"
        for label, row in zip(labels, X, strict=True)
    ]


def options(folder, data, *more):
    """Arguments of the command; the same but for what it reads."""
    known = ("--features", COLUMNS, "--classes", "0,1", "--window", 500, "--batch", 4, "-q")
    places = ("--state", folder / "state", "-o", folder / "out.txt", "--every", 200)
    return ["online", *map(str, (data, *known, *places, "--proba", "--seed", 7, *more))]


class Command:
    """The command as people run it."""

    def __init__(self, arguments):
        self._process = subprocess.Popen([COMMAND, *arguments], stderr=subprocess.DEVNULL)

    def kill(self):
        self._process.kill()
        self._process.wait()

    def finish(self):
        assert self._process.wait(120) == 0


def _run(arguments):
    sys.argv = ["dplasso", *arguments]
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    main()


class Forked(Command):
    """The same in a child that has dplasso imported already, which saves a second per life."""

    def __init__(self, arguments):
        context = multiprocessing.get_context("fork")
        self._process = context.Process(target=_run, args=(arguments,))
        self._process.start()

    def kill(self):
        self._process.kill()
        self._process.join()

    def finish(self):
        self._process.join(120)
        assert self._process.exitcode == 0


def undisturbed(start, lines, folder):
    """The output of a run that is never killed."""
    folder.mkdir()
    data = folder / "rows.svm"
    data.write_text("".join(lines))
    start(options(folder, data)).finish()
    return (folder / "out.txt").read_bytes()


def killed_often(start, lines, folder, kills, seed):
    """Feed a growing file to lives that are killed, one in four before it gets anywhere; then let
    one live. Returns what was written in all, and how many rows were left for the last."""
    folder.mkdir()
    rng, data, out = np.random.default_rng(seed), folder / "rows.svm", folder / "out.txt"
    left = list(lines)
    data.touch()
    for _ in range(kills):
        before = out.stat().st_size if out.exists() else 0
        life = start(options(folder, data, "--follow"))
        if rng.random() < 0.25:
            time.sleep(rng.uniform(0.0, 0.1))
        else:
            _feed(data, left, 8)
            _wait_for(out, before)
            for _ in range(rng.integers(1, 8)):
                _feed(data, left, rng.integers(1, 40))
                time.sleep(rng.uniform(0.0, 0.02))
        life.kill()
    remaining = len(left)
    _feed(data, left, remaining)
    start(options(folder, data)).finish()
    return out.read_bytes(), remaining


def _feed(data, left, count):
    with open(data, "a") as file:
        file.write("".join(left[:count]))
    del left[:count]


def _wait_for(out, size):
    patience = time.monotonic() + 60
    while time.monotonic() < patience:
        with contextlib.suppress(FileNotFoundError):
            if out.stat().st_size > size:
                return
        time.sleep(0.002)
    raise TimeoutError("the command did not come up")
