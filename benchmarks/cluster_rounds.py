"""The time of a round of Frank-Wolfe on a cluster of this machine, next to the latency of Ray.

    python benchmarks/cluster_rounds.py [--sets news20_rebuilt,half_full] [--actors 1,2,4]
        [--rounds 4000] [--epsilon 1]

Rows are converted to four column stores, which actors of Ray read; they then exchange columns. Five
times a second, the rounds pause for two questions that need no work: *call* goes to one actor, and
*all* to every actor. Both are in milliseconds, the medians of the run. *round* is the time of the
run without these pauses, over the number of rounds. *floor* is *round* over *call* of the same run.
*work* is the processor time of the busiest actor per round, and *memory* what the largest uses, in
MiB. *one process* is the time of a round of the same algorithm without Ray. The vertices are
compared: they are the same for any number of actors. *half_full* is news20_rebuilt with one more
column, which half of all rows have.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from harness.machine import MIB, machine
from harness.results import draw_memory, save

from cluster import rows_of, store
from dplasso import Cluster, PrivateLassoClassifier, Shards
from dplasso.cluster.opened import OpenShards, opened
from dplasso.mechanisms.random_bits import random_bits

SETS = ("news20_rebuilt", "half_full")
STORES = 4
HEADER = (
    f"{'set':<16}{'columns':>11}{'actors':>8}{'rounds':>8}{'one process':>13}{'round':>8}"
    f"{'call':>7}{'all':>7}{'floor':>7}{'work':>7}{'memory':>8}"
)


def data_of(name: str) -> tuple[sp.csr_array, np.ndarray] | None:
    found = rows_of("news20_rebuilt" if name == "half_full" else name)
    if found is None or name != "half_full":
        return found
    X, y = found
    half = sp.csr_array((np.arange(X.shape[0]) % 2).astype(X.dtype)[:, None])
    return sp.csr_array(sp.hstack([X, half], format="csr")), y


class Pauses:
    """Questions to actors, put while the rounds run."""

    def __init__(self, rows: OpenShards) -> None:
        self._crew: Any = rows._crew
        self.one: list[float] = []
        self.all: list[float] = []
        self.seconds = 0.0

    def __call__(self, done: int) -> None:
        began = time.perf_counter()
        self._crew.answer(self._crew.call(done % self._crew.count, "load"))
        middle = time.perf_counter()
        self._crew.loads()
        end = time.perf_counter()
        self.one.append(middle - began)
        self.all.append(end - middle)
        self.seconds += end - began


def walked(model: Any, shards: Shards, backend: Any, rounds: int) -> dict:
    """Run all rounds; what they released and what they cost."""
    with opened(shards, backend) as rows:
        task: Any = model.prepare(rows.facts.described(), None)
        # Loops are compiled or loaded, and pages are mapped, before the clock starts.
        task.selections.run(min(rounds, 100), random_bits(1), None)
        before, pauses = rows.loads(), Pauses(rows)
        start = time.perf_counter()
        released = task.selections.run(rounds, random_bits(0), pauses)
        seconds = time.perf_counter() - start - pauses.seconds
        loads = rows.loads()
    work = max(now.seconds - then.seconds for now, then in zip(loads, before, strict=True))
    return {
        "released": released,
        "round": 1000.0 * seconds / rounds,
        "call": 1000.0 * float(np.median(pauses.one)) if pauses.one else 0.0,
        "all": 1000.0 * float(np.median(pauses.all)) if pauses.all else 0.0,
        "work": 1000.0 * work / rounds,
        "memory": max(one.memory for one in loads) / MIB,
    }


def run(name: str, actors: list[int], rounds: int, epsilon: float, place: Path) -> list[dict]:
    found = data_of(name)
    if found is None:
        print(f"{name}: not at hand, left out")
        return []
    X, y = found
    known = {"classes": [0.0, 1.0], "n_rows": X.shape[0], "x_bound": 1.0, "random_state": 0}
    model = PrivateLassoClassifier(
        epsilon, solver="frank_wolfe", row_map="as_is", max_iter=rounds, **known
    )
    shards = Shards(store(place / name, X, y, STORES))
    here, table = walked(model, shards, "local", rounds), []
    for count in actors:
        there = walked(model, shards, Cluster(address="local", actors=count), rounds)
        for mine, theirs in zip(here["released"], there.pop("released"), strict=True):
            assert np.array_equal(mine, theirs)
        facts = {"set": name, "columns": X.shape[1], "actors": count, "rounds": rounds}
        table.append(facts | {"one": here["round"], **there})
        print(line(table[-1]), flush=True)
    return table


def line(row: dict) -> str:
    return (
        f"{row['set']:<16}{row['columns']:>11,}{row['actors']:>8}{row['rounds']:>8,}"
        f"{row['one']:>13.2f}{row['round']:>8.2f}{row['call']:>7.2f}{row['all']:>7.2f}"
        f"{row['round'] / row['call']:>7.2f}{row['work']:>7.2f}{row['memory']:>8.0f}"
    )


def main() -> None:
    command = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    command.add_argument("--sets", default=",".join(SETS))
    command.add_argument("--actors", default="1,2,4")
    command.add_argument("--rounds", type=int, default=4000)
    command.add_argument("--epsilon", type=float, default=1.0)
    options = command.parse_args()
    actors, table = [int(count) for count in options.actors.split(",")], []
    print(HEADER)
    with tempfile.TemporaryDirectory() as folder:
        for name in options.sets.split(","):
            table += run(name, actors, options.rounds, options.epsilon, Path(folder))
    lines = [HEADER, *map(line, table), machine()]
    print(lines[-1])
    save("cluster_rounds", "\n".join(lines), {"epsilon": options.epsilon, "rows": table})
    draw_memory(table, "cluster_rounds_memory")


if __name__ == "__main__":
    main()
