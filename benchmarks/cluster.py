"""The time of a step on a cluster of this machine, next to the engine in one process.

    python benchmarks/cluster.py [--sets few_columns,news20_rebuilt] [--actors 1,2,4] [--steps 30]

Rows are converted to column stores of shards, which actors of Ray read. A *step* is one exact
gradient sum over all rows. Steps of the cluster and of one process (all cores) are timed in turns,
so that both see the same load of the machine; figures are the shortest, in milliseconds. *overhead*
is their difference. *work* is the processor time of all actors per step. *call* is a question that
needs no work, put to all actors. *copy* is the time to copy as many bytes in one process as the
weights and the sums of all actors have. *passes* is how many times a column is passed over, on
average: once by every actor whose rows have it. *memory* is what the largest actor uses, in MiB.
*stored* is the time to store a release durably, as a checkpoint does. Sums are compared to the last
bit. *few_columns* is generated: 20,000 rows with 50 of 20,000 columns each; *many_rows* has 400,000
such rows.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from harness import datasets
from harness.machine import MIB, machine
from harness.results import draw_memory, save

from dplasso import Cluster, PrivateLassoClassifier, Shards
from dplasso.base.rooms import KeptRoom
from dplasso.cluster.opened import opened
from dplasso.cluster.run_log import RunLog
from dplasso.data import ColumnMatrix
from dplasso.data.row_chunks import RowChunk
from dplasso.data.unit_rows import UnitRows
from dplasso.solvers.gradient.conditioning import Conditioning
from dplasso.solvers.gradient.rows import PrivateRows
from dplasso.storage import build_store

SETS = ("few_columns", "many_rows", "news20_rebuilt")
GENERATED = {"few_columns": 20_000, "many_rows": 400_000}  # rows, each with 50 of COLUMNS columns
COLUMNS = 20_000
HEADER = (
    f"{'set':<16}{'columns':>11}{'actors':>8}{'one process':>13}{'cluster':>9}{'overhead':>10}"
    f"{'work':>8}{'call':>7}{'copy':>7}{'passes':>8}{'memory':>8}{'stored':>8}"
)


def rows_of(name: str) -> tuple[sp.csr_array, np.ndarray] | None:
    if name in GENERATED:
        rng, rows = np.random.default_rng(0), GENERATED[name]
        columns = rng.integers(0, COLUMNS, (rows, 50), np.int32)
        starts = np.arange(0, rows * 50 + 1, 50)
        X = sp.csr_array((np.ones(columns.size), columns.ravel(), starts), shape=(rows, COLUMNS))
        return X, rng.integers(0, 2, rows)
    found = datasets.real(name)
    return None if found is None else (sp.csr_array(found[0]), found[1])


def store(folder: Path, X: sp.csr_array, y: np.ndarray, shards: int) -> Path:
    chunk = RowChunk(y.astype(float), X.indptr.astype(np.int64), X.indices, X.data)
    return build_store(folder, [chunk], X.shape[1], memory=4 << 30, shards=shards)


def run(name: str, X: sp.csr_array, y: np.ndarray, actors: int, steps: int, place: Path) -> dict:
    n, columns = X.shape
    known = {"classes": [0.0, 1.0], "n_rows": n, "x_bound": 1.0, "random_state": 0}
    model = PrivateLassoClassifier(1.0, solver="gradient", row_map="presence", **known)
    held = UnitRows.of(ColumnMatrix.of(X, 1e30), "presence")
    shards = Shards(store(place / f"{name}-{actors}", X, y, actors))
    with opened(shards, Cluster(address="local", actors=actors)) as rows:
        task: Any = model.prepare(rows.facts.described(), None)
        plan = task.plan.descent
        loss = task.plan.request.loss
        local = PrivateRows(held, y.astype(float), loss, plan, cores(), room=KeptRoom())
        remote = rows.descent(plan)
        rng = np.random.default_rng(1)
        at = Conditioning.of(rng.uniform(0.3, 1.0, columns), np.zeros(columns))
        weights, intercepts = rng.normal(size=(1, columns)), np.zeros(1)
        seconds: dict[str, list[float]] = {"one": [], "cluster": [], "call": []}
        for step in range(steps + 2):
            if step == 2:
                before = worked(rows)
            start = time.perf_counter()
            mine = local.sums(at, weights, intercepts)
            middle = time.perf_counter()
            theirs = remote.sums(at, weights, intercepts)
            end = time.perf_counter()
            assert np.array_equal(mine, theirs)
            rows.loads()
            called = time.perf_counter()
            if step >= 2:  # loops are compiled or loaded, and pages are mapped
                seconds["one"].append(middle - start)
                seconds["cluster"].append(end - middle)
                seconds["call"].append(called - end)
        memory = max(one.memory for one in rows.loads())
        work = 1000.0 * (worked(rows) - before) / steps
    found = {what: 1000.0 * min(times) for what, times in seconds.items()}
    return {
        "set": name,
        "columns": columns,
        "actors": actors,
        **found,
        "overhead": found["cluster"] - found["one"],
        "work": work,
        "copy": 1000.0 * copied(weights.nbytes + actors * theirs.nbytes),
        "passes": sum(len(np.unique(X[k::actors].indices)) for k in range(actors)) / columns,
        "memory": memory / MIB,
        "stored": 1000.0 * stored(theirs, place / f"log-{name}-{actors}"),
    }


def worked(rows: Any) -> float:
    """Seconds of processor time of all actors so far."""
    return sum(one.seconds for one in rows.loads())


def copied(size: int) -> float:
    """Seconds to copy so many bytes."""
    source, target, times = np.ones(size, np.uint8), np.ones(size, np.uint8), []
    for _ in range(10):
        start = time.perf_counter()
        np.copyto(target, source)
        times.append(time.perf_counter() - start)
    return min(times)


def stored(release: np.ndarray, folder: Path) -> float:
    times = []
    with RunLog(folder) as log:
        log.begin({}, lambda key: key)
        for _ in range(5):
            start = time.perf_counter()
            log.append(release.reshape(-1))
            times.append(time.perf_counter() - start)
    return min(times)


def cores() -> int:
    from dplasso.base import threads

    return threads.available()


def line(row: dict) -> str:
    return (
        f"{row['set']:<16}{row['columns']:>11,}{row['actors']:>8}{row['one']:>13.1f}"
        f"{row['cluster']:>9.1f}{row['overhead']:>10.1f}{row['work']:>8.1f}"
        f"{row['call']:>7.1f}{row['copy']:>7.1f}{row['passes']:>8.1f}{row['memory']:>8.0f}"
        f"{row['stored']:>8.1f}"
    )


def main() -> None:
    command = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    command.add_argument("--sets", default=",".join(SETS))
    command.add_argument("--actors", default="1,2,4")
    command.add_argument("--steps", type=int, default=30)
    options = command.parse_args()
    lines, table = [HEADER], []
    print(HEADER)
    with tempfile.TemporaryDirectory() as folder:
        for name in options.sets.split(","):
            found = rows_of(name)
            if found is None:
                print(f"{name}: not at hand, left out")
                continue
            for actors in map(int, options.actors.split(",")):
                table.append(run(name, *found, actors, options.steps, Path(folder)))
                lines.append(line(table[-1]))
                print(lines[-1], flush=True)
    lines.append(machine())
    print(lines[-1])
    save("cluster", "\n".join(lines), {"steps": options.steps, "rows": table})
    draw_memory(table, "cluster_memory")


if __name__ == "__main__":
    main()
