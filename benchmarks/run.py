"""Every selection rule and the replay floor, on every set, in one process and one run.

    python benchmarks/run.py [--sets news20_rebuilt,zipf] [--epsilons 1,0.1] [--seeds 5]

Prints a table and saves it beside a plot under benchmarks/results. Times are wall-clock, from the
column-compressed matrix in memory (a ColumnMatrix, for every rule) to the weights, set-up included,
medians over seeds; "rounds" leaves the set-up out. *replay* re-runs the released vertices doing
nothing but the margin updates: no algorithm that keeps margins can be faster. It runs right after
the rounds it repeats, so the columns it touches are in the cache, where the rounds had to fetch
them from memory: the ratio to replay is on the strict side. Rules too slow for all rounds are timed
on fewer (the last column says how many) and their rounds scaled up.
"""

import argparse
import contextlib
import importlib
import json
import math
import platform
import statistics
import time
from pathlib import Path

import datasets
import numpy as np

import dplasso
from dplasso.data import ColumnMatrix
from dplasso.kernels.steps import replay
from dplasso.mechanisms.random_bits import random_bits
from dplasso.mechanisms.selection import PRIVATE

solver = importlib.import_module("dplasso.solvers.frank_wolfe")

RESULTS = Path(__file__).resolve().parent / "results"
ROUNDS, RADIUS, DELTA = 4000, 50.0, 1e-6
SLOW_SECONDS = 6.0  # a rule that would take longer is timed on fewer rounds


def peak_reset() -> None:
    """Start the process's high-water mark of memory anew (Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def memory_mib(field: str) -> float:
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(field):
                return float(line.split()[1]) / 1024
    except OSError:
        pass
    return math.nan


def machine() -> str:
    model = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    threads = importlib.import_module("dplasso.base.threads").available()
    return f"{model}, {threads} cores, Python {platform.python_version()}"


class Timing:
    """Median times of one rule on one set, in seconds."""

    def __init__(self, rule: str) -> None:
        self.rule = rule
        self.setup: list[float] = []
        self.rounds: list[float] = []
        self.total: list[float] = []
        self.replay: list[float] = []
        self.peak_mib = math.nan
        self.timed_rounds = ROUNDS

    def row(self) -> dict[str, float | str]:
        medians = {
            name: statistics.median(getattr(self, name))
            for name in ("setup", "rounds", "total", "replay")
        }
        return {
            "rule": self.rule,
            **medians,
            "peak_mib": self.peak_mib,
            "timed_rounds": self.timed_rounds,
        }


def run_once(name: str, matrix: ColumnMatrix, y: np.ndarray, theta: float, seed: int, rounds: int):
    """One timed run of a rule: set-up, rounds, weights."""
    loss = dplasso.LogisticLoss()
    bits = random_bits(seed)
    start = time.perf_counter()
    problem = solver._problem(matrix, loss.encode(y), loss, RADIUS, theta, 0.0)
    walk = solver._walk(problem, rounds)
    rule = PRIVATE[name](problem, walk, bits.generator, 2)
    ready = time.perf_counter()
    rule.advance(rounds)
    moved = time.perf_counter()
    solver._solution(problem, walk, matrix.shape[1], False)
    done = time.perf_counter()
    return problem, walk, ready - start, moved - ready, done - start


def time_replay(problem, walk) -> float:
    margins = np.zeros(len(problem.labels))
    start = time.perf_counter()
    replay(problem, walk, margins)
    return time.perf_counter() - start


def time_rule(name: str, matrix: ColumnMatrix, y: np.ndarray, theta: float, seeds: int) -> Timing:
    """Time a rule; scaled up from fewer rounds where all of them would take too long."""
    timing = Timing(name)
    rounds = ROUNDS
    if name != "lazy":
        _, _, setup, seconds, _ = run_once(name, matrix, y, theta, 99, 40)
        if setup + seconds * ROUNDS / 40 > SLOW_SECONDS:
            # Rounds of noisy_max all cost the same; those of big_step_little_step do not.
            seeds = 1 if name == "big_step_little_step" else min(seeds, 2)
            if name == "noisy_max":
                rounds = max(40, int(SLOW_SECONDS / seeds / (seconds / 40)))
    timing.timed_rounds = rounds
    before = memory_mib("VmRSS")
    peak_reset()
    for seed in range(seeds):
        problem, walk, setup, seconds, total = run_once(name, matrix, y, theta, seed, rounds)
        scaled = seconds * ROUNDS / rounds
        timing.setup.append(setup)
        timing.rounds.append(scaled)
        timing.total.append(total - seconds + scaled)
        timing.replay.append(time_replay(problem, walk) * ROUNDS / rounds)
    timing.peak_mib = memory_mib("VmHWM") - before
    return timing


def load(name: str):
    if name == "zipf":
        return datasets.text_like(500_000, 5_000_000, 17_000_000)
    return datasets.real(name)


def run_set(name: str, epsilons: list[float], seeds: int, rules: list[str]) -> list[dict]:
    data = load(name)
    if data is None:
        print(f"{name}: not at hand, left out")
        return []
    X, y = data
    start = time.perf_counter()
    matrix = ColumnMatrix.of(X)
    held = time.perf_counter() - start
    del X, data
    rows = []
    for epsilon in epsilons:
        theta = dplasso.calibrate(epsilon, DELTA, ROUNDS)
        run_once("lazy", matrix, y, theta, 0, 10)  # compiles what is not yet compiled
        timings = {rule: time_rule(rule, matrix, y, theta, seeds).row() for rule in rules}
        floor = timings["lazy"]["replay"]
        for rule, row in timings.items():
            row |= {
                "set": name,
                "rows": matrix.shape[0],
                "columns": matrix.shape[1],
                "entries": matrix.entries,
                "epsilon": epsilon,
                "hold_matrix": held,
                "rounds_over_replay": row["rounds"] / (floor if rule == "lazy" else row["replay"]),
                **{
                    f"{rival}_over_this": timings[rival]["total"] / row["total"]
                    for rival in rules
                    if rival != "lazy"
                },
            }
            rows.append(row)
            print(line(row), flush=True)
    return rows


HEADER = (
    f"{'set':<17}{'eps':>5}  {'rule':<21}{'total s':>11}{'set-up s':>11}{'rounds s':>11}"
    f"{'replay s':>11}{'/replay':>9}{'noisy_max/':>12}{'bsls/':>9}{'peak MiB':>10}{'timed':>7}"
)


def line(row: dict) -> str:
    def ratio(key: str) -> str:
        return f"{row[key]:,.1f}" if key in row else "-"

    return (
        f"{row['set']:<17}{row['epsilon']:>5g}  {row['rule']:<21}{row['total']:>11.5f}"
        f"{row['setup']:>11.5f}{row['rounds']:>11.5f}{row['replay']:>11.5f}"
        f"{row['rounds_over_replay']:>9.1f}{ratio('noisy_max_over_this'):>12}"
        f"{ratio('big_step_little_step_over_this'):>9}{row['peak_mib']:>10.0f}"
        f"{row['timed_rounds']:>7}"
    )


def plot(rows: list[dict], path: Path) -> None:
    """Seconds of every rule, and of replay, on a log scale."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    cases = list(dict.fromkeys((row["set"], row["epsilon"]) for row in rows))
    rules = list(dict.fromkeys(row["rule"] for row in rows))
    figure, axes = plt.subplots(figsize=(9, 0.62 * len(cases) + 1.6), layout="constrained")
    colours = dict(
        zip(["lazy", "big_step_little_step", "noisy_max"], plt.cm.tab10.colors, strict=False)
    )
    height = 0.8 / len(rules)
    for k, rule in enumerate(rules):
        times = {(row["set"], row["epsilon"]): row["total"] for row in rows if row["rule"] == rule}
        places = [n + (k - (len(rules) - 1) / 2) * height for n in range(len(cases))]
        axes.barh(
            places, [times[case] for case in cases], height, label=rule, color=colours.get(rule)
        )
    floors = {(row["set"], row["epsilon"]): row["replay"] for row in rows if row["rule"] == "lazy"}
    for n, case in enumerate(cases):
        axes.plot([floors[case]] * 2, [n - 0.42, n + 0.42], color="black", lw=2)
    axes.plot([], [], color="black", lw=2, label="replay (floor)")
    axes.set_yticks(range(len(cases)), [f"{name}, ε = {epsilon:g}" for name, epsilon in cases])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel(f"seconds for {ROUNDS:,} rounds, set-up included (log scale)")
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="upper center", bbox_to_anchor=(0.4, -0.12), ncols=4, frameon=False)
    axes.set_title("Private selection: seconds from matrix to weights", loc="left")
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=",".join((*datasets.REAL, "zipf")))
    parser.add_argument("--epsilons", default="1,0.1")
    parser.add_argument("--rules", default="lazy,big_step_little_step,noisy_max")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--name", default="selection")
    options = parser.parse_args()
    epsilons = [float(text) for text in options.epsilons.split(",")]
    print(machine())
    print(HEADER)
    rows: list[dict] = []
    for name in options.sets.split(","):
        rows += run_set(name, epsilons, options.seeds, options.rules.split(","))
    RESULTS.mkdir(exist_ok=True)
    saved = {"machine": machine(), "rounds": ROUNDS, "radius": RADIUS, "delta": DELTA, "rows": rows}
    (RESULTS / f"{options.name}.json").write_text(json.dumps(saved, indent=1))
    table = "\n".join([machine(), HEADER, *map(line, rows)]) + "\n"
    (RESULTS / f"{options.name}.txt").write_text(table)
    if rows:
        plot(rows, RESULTS / f"{options.name}.png")


if __name__ == "__main__":
    main()
