"""A Python stream killed with SIGKILL again and again: no weights it released may differ.

A life learns in the ways that a program can: single rows by name, single rows and blocks of a
matrix. It writes the weights after each call, as a program would that publishes them. With one seed
a noise drawn twice or a row lost would show in the weights, as each release depends on all before.

Shared by the tests and by ``benchmarks/killed_stream.py``, which kills more often.
"""

import multiprocessing
import os
import time

import numpy as np

from dplasso import DurableStream, PrivateOnlineClassifier

COLUMNS, EVERY = 6, 40
NAMES = [f"x{k}" for k in range(COLUMNS)]


def made_rows(count, seed=0):
    """Made-up rows and labels."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, COLUMNS)), rng.integers(0, 2, count)


def new_model(**options):
    return PrivateOnlineClassifier(
        **{"window": 50, "classes": [0, 1], "feature_names": NAMES, "random_state": 7, **options}
    )


def calls(X, y, start):
    """The rest of the calls of a program: what to do with which rows, whatever came before."""
    while start < len(y):
        kind = start % 3
        count = min(len(y) - start, 5 if kind == 2 else 1)
        yield kind, X[start : start + count], y[start : start + count]
        start += count


def learn(model, kind, X, y):
    """Learn from the rows of one call."""
    if kind == 0:
        row = dict(zip(NAMES, X[0].tolist(), strict=True))
        model.predict_one(row)
        model.learn_one(row, int(y[0]))
    elif kind == 1:
        model.partial_fit(X, y)
    else:
        model.predict_then_learn(X, y)


def live(folder, X, y, options, pause=0.0):
    """One life: continue, and write the weights after every call."""
    with (
        DurableStream(folder / "state", new_model(**options), every=EVERY) as model,
        open(folder / "released", "a") as out,
    ):
        for kind, rows, labels in calls(X, y, model.rows_seen_):
            learn(model, kind, rows, labels)
            out.write(f"{model.rows_seen_} {model.stream_.weights.tobytes().hex()}\n")
            out.flush()
            time.sleep(pause)


def _quiet_life(*args):
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    live(*args)


def killed_often(folder, X, y, kills, seed, options):
    """Kill so many lives at random moments, then let one finish; returns the lines written."""
    rng = np.random.default_rng(seed)
    context = multiprocessing.get_context("fork")
    for _ in range(kills):
        life = context.Process(target=_quiet_life, args=(folder, X, y, options, 0.001))
        life.start()
        time.sleep(float(rng.uniform(0.0, 0.15)))
        life.kill()
        life.join()
    live(folder, X, y, options)
    return (folder / "released").read_text().splitlines()


def releases(lines):
    """Weights by number of rows, the latest one last; every number of rows must have one only."""
    found = {}
    for line in lines:
        if len(parts := line.split()) == 2 and len(parts[1]) == 16 * (COLUMNS + 1):
            found.setdefault(int(parts[0]), set()).add(parts[1])  # a kill may cut a line short
    return found
