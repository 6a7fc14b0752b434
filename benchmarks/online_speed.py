"""Rows per second of the online classifier, noise included, next to river's regression.

    python benchmarks/online_speed.py [--rows 100000]

Every row is predicted, then learned from. kddcup99_10pct has 118 columns and a release a row; text
(reuters21578_usa, hashed to 2^16 columns) a release a row and one every 64. river's own sets come
as they are, by name, ten times over; ImageSegments has seven classes, for which river has one model
each. Rows are dicts, or matrices of one row, made beforehand. Medians of three runs that take
turns, on one core, by the time of the process, which other processes do not lengthen. What bounds
text with a release a row is told by the shares of its time. Memory is the growth of the peak from
100,000 rows of a made-up stream to 1,000,000.
"""

import os
import resource
import statistics
import time
from contextlib import ExitStack
from unittest import mock

import numpy as np
import scipy.sparse as sp
from harness.machine import machine
from harness.options import parser
from harness.results import save
from harness.streams import hashed, in_random_order
from river import datasets, linear_model, multiclass

import dplasso
from dplasso.online.few_columns import FewColumns
from dplasso.streams.blocks import OpenBlock
from dplasso.streams.buffered import BufferedNoise

# What takes the time of wide rows with a release each, and the method that does it.
PARTS = {
    "noise of the columns that rows touch": (OpenBlock, "meet"),
    "noise of all columns, once per block": (BufferedNoise, "at"),
    "weights of all columns, once per block": (FewColumns, "_moved"),
}


def ours(X: sp.csr_array, y: np.ndarray, **options) -> tuple[float, float]:
    model = dplasso.PrivateOnlineClassifier(1.0, classes=[0, 1], **options)
    start, right = time.process_time(), 0
    for first in range(0, len(y), 1000):
        part = slice(first, first + 1000)
        right += int(np.sum(model.predict_then_learn(X[part], y[part]) == y[part]))
    return len(y) / (time.process_time() - start), right / len(y)


def dicts(X: sp.csr_array) -> list[dict[str, float]]:
    names = [f"x{j}" for j in range(X.shape[1])]
    return [
        {names[j]: v for j, v in zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True)}
        for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]


def in_turn(model, rows: list[dict], labels: list) -> tuple[float, float]:
    """`predict_one` and `learn_one`, as in a river pipeline."""
    start, right = time.process_time(), 0
    for row, label in zip(rows, labels, strict=True):
        right += model.predict_one(row) == label
        model.learn_one(row, label)
    return len(labels) / (time.process_time() - start), right / len(labels)


def by_name(X: sp.csr_array, y: np.ndarray) -> tuple[float, float]:
    names = [f"x{j}" for j in range(X.shape[1])]
    model = dplasso.PrivateOnlineClassifier(1.0, window=1000, feature_names=names)
    return in_turn(model, dicts(X), (y > 0).tolist())


def river(X: sp.csr_array, y: np.ndarray) -> tuple[float, float]:
    return in_turn(linear_model.LogisticRegression(), dicts(X), (y > 0).tolist())


def one_row_calls(X: sp.csr_array, y: np.ndarray) -> tuple[float, float]:
    """`partial_fit` of one row at a time, which does not predict."""
    dense = X[:20_000].toarray()
    rows = [(dense[k : k + 1], y[k : k + 1]) for k in range(len(dense))]
    model = dplasso.PrivateOnlineClassifier(1.0, window=1000, classes=[0, 1])
    start = time.process_time()
    for row, label in rows:
        model.partial_fit(row, label)
    return len(rows) / (time.process_time() - start), float("nan")


def own_sets() -> tuple[dict, list[str]]:
    """river's own sets: rows per second of both, and the share."""
    results, lines = {}, ["", "river's own sets, predict_one and learn_one, window 1000"]
    for kind in (datasets.Phishing, datasets.Bananas, datasets.ImageSegments):
        rows, labels = (list(part) for part in zip(*kind(), strict=True))
        classes = sorted(set(labels))

        def theirs(rows=rows, labels=labels, classes=classes):
            model = linear_model.LogisticRegression()
            model = multiclass.OneVsRestClassifier(model) if len(classes) > 2 else model
            return in_turn(model, rows * 10, labels * 10)[0]

        def private(rows=rows, labels=labels, classes=classes):
            model = dplasso.PrivateOnlineClassifier(
                1.0, window=1000, feature_names=list(rows[0]), classes=classes
            )
            return in_turn(model, rows * 10, labels * 10)[0]

        private()  # compiled
        runs = [(theirs(), private()) for _ in range(3)]
        slow, fast = (statistics.median(part) for part in zip(*runs, strict=True))
        results[kind.__name__] = {"river": slow, "ours": fast}
        told = f"{fast:>10,.0f} rows/s, river {slow:>10,.0f} {fast / slow:>7.2f} of river's"
        lines.append(f"  {kind.__name__:<44}{told}")
    return results, lines


def shares_of_time(X: sp.csr_array, y: np.ndarray, **options) -> dict[str, float]:
    """Shares of the time of `ours` that its parts take; none of them calls another."""
    spent = dict.fromkeys(PARTS, 0.0)

    def timed(part, method):
        def call(*given, **named):
            start = time.process_time()
            found = method(*given, **named)
            spent[part] += time.process_time() - start
            return found

        return call

    with ExitStack() as stack:
        for part, (kind, name) in PARTS.items():
            method = timed(part, getattr(kind, name))
            stack.enter_context(mock.patch.object(kind, name, method))
        start = time.process_time()
        ours(X, y, **options)
        whole = time.process_time() - start
    return {part: seconds / whole for part, seconds in spent.items()}


def memory_growth() -> float:
    """Megabytes by which the peak grows while a stream goes on for 900,000 rows more."""
    rng = np.random.default_rng(0)
    model = dplasso.PrivateOnlineClassifier(1.0, window=10_000, classes=[0, 1])
    X, y = rng.normal(size=(1000, 118)), np.arange(1000) % 2
    for part in range(1000):
        model.partial_fit(X, y)
        if part == 99:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def measured(X: sp.csr_array, y: np.ndarray, runs: dict) -> dict:
    """Median rows a second, and accuracy, of runs that take turns."""
    found: dict[str, list] = {name: [] for name in runs}
    for _ in range(3):
        for name, run in runs.items():
            found[name].append(run(X, y))
    return {
        name: {"rows_per_second": statistics.median(r for r, _ in each), "accuracy": each[0][1]}
        for name, each in found.items()
    }


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--rows", type=int, default=100_000)
    rows = command.parse_args().rows
    if hasattr(os, "sched_setaffinity"):  # one core for all, also those started from here
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    grown = memory_growth()
    ours(sp.csr_array(np.eye(8)), np.arange(8) % 2, window=5)  # compiled
    results = {"machine": machine(), "peak_growth_mb_100k_to_1m_rows": grown}
    lines = [f"peak of memory, 100,000 to 1,000,000 rows of 118 columns: + {grown:.1f} MB"]
    for name, count in (("kddcup99_10pct", rows), ("reuters21578_usa", rows)):
        if (data := in_random_order(name, count)) is None:
            print(f"{name} is not at hand")
            continue
        X, y = data
        X = hashed(X, 1 << 16) if X.shape[1] > 1000 else X
        runs = {"river, not private": river}
        if X.shape[1] < 1000:
            for window in (1000, 10_000):
                runs[f"window {window}, a release a row"] = _bind(window=window)
            runs["every row for good, a release a row"] = _bind(n_rows=count)
            runs["window 1000, predict_one and learn_one"] = by_name
            runs["window 1000, partial_fit of one row"] = one_row_calls
        else:
            runs["window 10000, a release every 64 rows"] = _bind(window=10_000, batch=64)
            runs["window 10000, a release a row"] = _bind(window=10_000)
        results[name] = measured(X, y, runs)
        theirs = results[name]["river, not private"]["rows_per_second"]
        lines.append(f"\n{name}, {X.shape[0]:,} rows, {X.shape[1]:,} columns")
        for run, told in results[name].items():
            speed = told["rows_per_second"]
            lines.append(f"  {run:<44}{speed:>10,.0f} rows/s {speed / theirs:>7.2f} of river's")
        if X.shape[1] > 1000:
            results["parts"] = shares_of_time(X, y, window=10_000)
            told = (f"{part} {share:.0%}" for part, share in results["parts"].items())
            lines.append(f"  of a release a row: {', '.join(told)}")
    results["own_sets"], more = own_sets()
    lines += more
    print("\n".join(lines))
    save("online_speed", "\n".join(lines), results)


def _bind(**options):
    return lambda X, y: ours(X, y, **options)


if __name__ == "__main__":
    main()
