"""Processes that spend from one ledger: many at once, and killed at any moment.

Shared by the tests and by ``benchmarks/killed_ledger.py``. A *release* is a line, safe on the disk,
that a process writes once its charge has returned. This file is also the program that forks those
processes: it imports the ledger and nothing heavy, and has no threads.

    python spending.py together STORE FOLDER PROCESSES RHO
    python spending.py killed STORE FOLDER KILLS SEED
    python spending.py fitted STORE FOLDER KILLS SEED
    python spending.py created STORE FOLDER KILLS SEED
"""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from dplasso.ledger import Budget, BudgetError
from dplasso.privacy.events import ZeroConcentrated

CAP = {"epsilon": 1.0, "delta": 1e-6}
LITTLE = 1e-9  # rho of a charge that is killed
TIMED_FIRST, KILLS_PER_TIMING = 5, 10


def run(mode, store, folder, *numbers):
    """Run this file and return its output."""
    command = [sys.executable, __file__, mode, store, folder, *map(str, numbers)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout


def start(mode, store, folder, *numbers):
    command = [sys.executable, __file__, mode, store, folder, *map(str, numbers)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def releases(folder):
    """Hashes of the charges whose releases are out."""
    return [line for path in Path(folder).glob("released-*") for line in path.read_text().split()]


def spend(budget, rho, released):
    """Charge, then release."""
    receipt = budget.charge(
        ZeroConcentrated(rho), delta=1e-6, neighboring="add_remove", label="release"
    )
    os.write(released, f"{receipt.hash}\n".encode())
    os.fsync(released)


def forked(work):
    """The id of a child that does some work and ends."""
    child = os.fork()
    if child:
        return child
    try:
        work()
    finally:
        os._exit(1)


def opened(folder):
    path = Path(folder) / f"released-{os.getpid()}-{time.monotonic_ns()}"
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def together(store, folder, processes, rho):
    """Each of ``processes`` processes spends until it is rejected."""
    budget = Budget.open(store)

    def work():
        released = opened(folder)
        try:
            while True:
                spend(budget, float(rho), released)
        except BudgetError:
            os._exit(0)

    children = [forked(work) for _ in range(int(processes))]
    ends = [os.waitpid(child, 0)[1] for child in children]
    print("refused", ends.count(0))


def killed(store, folder, kills, seed):
    """Kill a process that spends, again and again, after a random time."""
    budget = Budget(**CAP, store=store)

    def work(times=10**6):
        released = opened(folder)
        for _ in range(times):
            spend(budget, LITTLE, released)

    print("killed", _kill(work, int(kills), random.Random(int(seed))))


def fitted(store, folder, kills, seed):
    """The same with real fits, whose saved models are the releases."""
    import numpy as np

    from dplasso import PrivateLassoClassifier

    budget, rng = Budget(**CAP, store=store), np.random.default_rng(0)
    X = rng.uniform(-1, 1, (50, 4))
    y = (X[:, 0] > 0).astype(int)
    given = {"max_iter": 5, "radius": 1.0, "classes": [0, 1], "n_jobs": 1}
    model = PrivateLassoClassifier(1e-4, accountant=budget, **given).fit(X, y)  # compiled, loaded

    def work(times=10**6):
        for k in range(times):
            model.fit(X, y).save(f"{folder}/released-{os.getpid()}-{k}.dpl")

    print("killed", _kill(work, int(kills), random.Random(int(seed))))


def created(store, folder, kills, seed):
    """The same with a process that creates ledgers."""
    Budget(**CAP, store=f"{folder}/first")  # what is imported for it is imported once

    def work(times=10**6):
        for k in range(times):
            Budget(**CAP, store=f"{store}-{os.getpid()}-{k}")

    print("killed", _kill(work, int(kills), random.Random(int(seed))))


def _seconds_of(work):
    start = time.monotonic()
    os.waitpid(forked(lambda: work(1)), 0)
    return time.monotonic() - start


def timed(kills):
    """How often the work is done to its end, to see how long it takes, beside so many kills."""
    return TIMED_FIRST + kills // KILLS_PER_TIMING


def _kill(work, kills, random):
    """Kill after up to twice as long as it takes to do the work once.

    The time is taken again and again: on a machine that becomes busy every process would otherwise
    be killed before it has done anything.
    """
    times, count = [_seconds_of(work) for _ in range(TIMED_FIRST)], 0
    for kill in range(1, kills + 1):
        child = forked(work)
        time.sleep(random.uniform(0.0, 2 * min(times[-2:])))
        os.kill(child, signal.SIGKILL)
        count += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        if kill % KILLS_PER_TIMING == 0:
            times.append(_seconds_of(work))
    return count


if __name__ == "__main__":
    modes = {"together": together, "killed": killed, "fitted": fitted, "created": created}
    modes[sys.argv[1]](*sys.argv[2:])
