"""Every selection rule and the replay floor, on every set, in one process and one run.

    python benchmarks/selection.py [--sets news20_rebuilt,zipf] [--epsilons 1,0.1] [--seeds 5]

Prints a table and saves it beside a plot under benchmarks/results. Times are wall-clock, from the
column-compressed matrix in memory (a ColumnMatrix, for every rule) to the weights, set-up included,
medians over seeds; "rounds" leaves the set-up out. *replay* re-runs the released vertices doing
nothing but the margin updates: no algorithm that keeps margins can be faster. It runs right after
the rounds it repeats, so the columns it touches are in the cache, where the rounds had to fetch
them from memory: the ratio to replay is on the strict side. Rules too slow for all rounds are timed
on fewer (the last column says how many) and their rounds scaled up.
"""

import math
import statistics
from functools import partial

import numpy as np
from harness import datasets
from harness.machine import machine, memory_mib, peak_reset, timed
from harness.options import names, study
from harness.results import pyplot, save, save_plot
from harness.walks import DELTA, RADIUS, ROUNDS, run_once, time_replay

import dplasso
from dplasso.data import ColumnMatrix

SLOW_SECONDS = 6.0  # a rule that would take longer is timed on fewer rounds


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
    matrix, held = timed(partial(ColumnMatrix.of, X))
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


def plot(rows: list[dict], name: str) -> None:
    """Seconds of every rule, and of replay, on a log scale."""
    plt = pyplot()
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
    save_plot(figure, name)


def main() -> None:
    command = study(__doc__, (*datasets.REAL, "zipf"), (1.0, 0.1), seeds=5)
    command.add_argument("--rules", type=names, default="lazy,big_step_little_step,noisy_max")
    command.add_argument("--name", default="selection")
    options = command.parse_args()
    print(machine())
    print(HEADER)
    rows: list[dict] = []
    for name in options.sets:
        rows += run_set(name, options.epsilons, options.seeds, options.rules)
    facts = {"machine": machine(), "rounds": ROUNDS, "radius": RADIUS, "delta": DELTA, "rows": rows}
    save(options.name, "\n".join([machine(), HEADER, *map(line, rows)]), facts)
    if rows:
        plot(rows, options.name)


if __name__ == "__main__":
    main()
