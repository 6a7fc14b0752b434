"""A fit on two nodes that loses actors, its driver and a node, in a process of its own.

    python lossy_fit.py

A command fits a model to shards on a cluster of two nodes, in about 100 steps. After every 20 steps
one of its actors is killed. Once in between, the command itself is killed and started again, and
once a node is lost. Nobody waits for a step to end: a process dies wherever it happens to be. On a
busy machine the fit may end before the last of these events, which are then left out. The model
must equal that of an undisturbed fit in one process to the last bit, the ledger must have one
charge, and no process may be left.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from dplasso import Budget, PrivacyLeakWarning, load
from dplasso.storage.journal import _HEAD as HEAD
from sharded import Problem
from two_nodes import TwoNodes

ROWS, COLUMNS, EPSILON, ACTORS = 3_000, 800, 20.0, 2
NONZERO = 40  # so few that at the end only their weights and sums are sent
EVERY = 20  # steps between two kills of an actor
DRIVER_AT, NODE_AT = 50, 70  # steps
WITHIN = 120.0  # seconds in which all processes must have ended
COMMAND = (sys.executable, "-c", "from dplasso.cli import main; main()")
ADOPT = 36  # PR_SET_CHILD_SUBREAPER: processes whose parents have ended are handed to this one


def problem() -> Problem:
    rng = np.random.default_rng(3)
    X = sp.random_array((ROWS, COLUMNS), density=0.0125, rng=rng, format="csr")
    margins = np.asarray((X[:, :300] - X[:, 300:600]).sum(axis=1)).ravel()
    facts = {"epsilon": EPSILON, "n_rows": ROWS, "classes": [0, 1], "solver": "gradient"}
    return Problem("killed", X, (margins > 0.0).astype(int), facts | {"n_nonzero": NONZERO})


def command(address: str, folder: Path) -> list[str]:
    return [
        *(*COMMAND, "train", str(folder / "parts"), "--cluster", address, "--actors", str(ACTORS)),
        *("--features", str(COLUMNS), "--rows", str(ROWS), "--classes", "0,1", "--x-bound", "1"),
        *(
            "--epsilon",
            str(EPSILON),
            "--solver",
            "gradient",
            "--n-nonzero",
            str(NONZERO),
            "--seed",
            "7",
        ),
        *("--budget", str(folder / "ledger"), "--checkpoint", str(folder / "fit")),
        *("--seed", "7", "-o", str(folder / "model"), "--quiet"),
    ]


class Disturbed:
    """The command, and what is done to it after how many steps."""

    def __init__(self, nodes: TwoNodes, arguments: list[str], folder: Path) -> None:
        self._nodes, self._arguments, self._folder = nodes, arguments, folder
        self._earlier: set[int] = set()  # actors of a driver that was killed
        self._start()

    def run(self, steps: int) -> None:
        """Run to the end of the fit."""
        events: list[tuple[int, Callable[[], str]]] = [
            *((at, self._kill_actor) for at in range(EVERY, steps, EVERY)),
            *((DRIVER_AT, self._kill_driver), (NODE_AT, self._lose_node)),
        ]
        for at, event in sorted(events, key=lambda found: found[0]):
            # A fit that has ended has removed its releases.
            while (done := self._steps()) < at and self._runs():
                time.sleep(0.001)
            if self._runs():
                print(f"step {done:>4}: {event()}", flush=True)
        self._check(self._process.wait(WITHIN) == 0)

    def _start(self) -> None:
        with open(self._folder / "messages", "wb") as messages:  # Ray has much to say about losses
            self._process = subprocess.Popen(
                self._arguments, stdout=messages, stderr=subprocess.STDOUT
            )

    def _runs(self) -> bool:
        ended = self._process.poll()
        self._check(ended in (None, 0))
        return ended is None

    def _steps(self) -> int:
        """Steps whose release is stored; the first release is of the mass."""
        try:
            stored, at, count = (self._folder / "fit" / "releases").read_bytes(), 0, -1
        except FileNotFoundError:
            return 0
        while at + HEAD.size <= len(stored):
            at += HEAD.size + HEAD.unpack_from(stored, at)[0]
            count += 1
        return count

    def _check(self, sound: bool) -> None:
        assert sound, (self._folder / "messages").read_text()

    def _kill_actor(self) -> str:
        while not (found := sorted(actors() - self._earlier)):
            if not self._runs():
                return "no actor is left"
            time.sleep(0.01)
        os.kill(int(np.random.default_rng().choice(found)), signal.SIGKILL)
        return "an actor is killed"

    def _kill_driver(self) -> str:
        self._process.kill()
        self._process.wait()
        self._earlier = actors()
        self._start()
        return "the driver is killed, and started again"

    def _lose_node(self) -> str:
        self._nodes.lose()
        return "a node is lost"


def actors() -> set[int]:
    """The processes of shards."""
    return {process for process, name in descendants() if name.startswith("ray::_Actor")}


def descendants() -> list[tuple[int, str]]:
    """All processes that this one has started, directly or not, and that still run."""
    names, children = {}, defaultdict[int, list[int]](list)
    for process in map(int, filter(str.isdigit, os.listdir("/proc"))):
        with contextlib.suppress(OSError):  # it has ended
            state, parent, *_ = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            names[process] = Path(f"/proc/{process}/cmdline").read_text()
            if state != "Z":
                children[int(parent)].append(process)
    found = list(children[os.getpid()])
    for process in found:  # which grows
        found += children[process]
    return [(process, names[process]) for process in found]


def lossy_fit() -> None:
    """Fit, lose what there is to lose, and check what is left."""
    with tempfile.TemporaryDirectory() as name:
        folder, fitted = Path(name), problem()
        fitted.write(folder / "parts", [np.arange(k, ROWS, 4) for k in range(4)])
        Budget(2 * EPSILON, delta=1e-4, store=folder / "ledger")
        other = Budget(2 * EPSILON, delta=1e-4, store=folder / "other")
        whole = fitted.fitted(folder, accountant=other)
        nodes = TwoNodes()
        try:
            Disturbed(nodes, command(nodes.address, folder), folder).run(whole.n_iter_)
        finally:
            nodes.close()
        model, charges = load(folder / "model"), len(Budget.open(folder / "ledger").entries())
        assert not (folder / "fit").exists()
    assert np.array_equal(model.coef_, whole.coef_)
    assert np.array_equal(model.intercept_, whole.intercept_)
    assert model.privacy_.keys() == whole.privacy_.keys()
    for fact in model.privacy_.keys() - {"ledger"}:
        assert model.privacy_[fact] == whole.privacy_[fact], fact
    assert charges == 1, f"{charges} charges"
    until = time.monotonic() + WITHIN
    while left := descendants():
        assert time.monotonic() < until, f"left: {left}"
        time.sleep(0.1)
    print(f"{whole.n_iter_} steps; the same weights to the last bit, one charge, no process left")


def main() -> None:
    warnings.filterwarnings("ignore", category=PrivacyLeakWarning)
    ctypes.CDLL(None).prctl(ADOPT, 1)
    lossy_fit()


if __name__ == "__main__":
    main()
