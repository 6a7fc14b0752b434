"""How the lazy rule scales: cost per round as columns grow, and the shape of KDDA.

    python benchmarks/scale.py [--part growth|kdda]

*growth*: 0/1 data of 500,000 rows and 40 million entries spread over 100,000 to 20 million columns,
labels from the same model. Means over seeds: whether a dense column is drawn early, when steps are
long, decides what a run costs at epsilon 0.1, and few runs draw one.
*kdda*: 8,407,752 x 20,216,830 with about 305 million entries, four columns nearly full. Peak memory
is that of the process after the data have been generated, the data included.
"""

import numpy as np
from harness import datasets
from harness.machine import machine, memory_mib, peak_reset, timed
from harness.options import parser
from harness.results import pyplot, save, save_plot
from harness.walks import DELTA, RADIUS, ROUNDS, run_once, time_replay

import dplasso
from dplasso.data import ColumnMatrix

GROWTH = (100_000, 400_000, 1_500_000, 5_000_000, 20_000_000)


def growth(seeds: int) -> list[dict]:
    rows = []
    print(f"{'columns':>12}{'eps':>6}{'set-up ms':>12}{'us a round':>12}{'replay us':>11}")
    for columns in GROWTH:
        X, y = datasets.text_like(500_000, columns, 40_000_000)
        matrix = ColumnMatrix.of(X)
        del X
        for epsilon in (1.0, 0.1):
            theta = dplasso.calibrate(epsilon, DELTA, ROUNDS)
            runs = []
            for seed in range(seeds if epsilon < 1.0 else 3):
                problem, walk, setup, seconds, _ = run_once("lazy", matrix, y, theta, seed, ROUNDS)
                runs.append((setup, seconds, time_replay(problem, walk)))
            setup, seconds, floor = (float(x) for x in np.mean(runs, axis=0))
            rows.append(
                {
                    "columns": columns,
                    "epsilon": epsilon,
                    "setup": setup,
                    "per_round": seconds / ROUNDS,
                    "replay_per_round": floor / ROUNDS,
                }
            )
            print(
                f"{columns:>12,}{epsilon:>6g}{1e3 * setup:>12.2f}{1e6 * seconds / ROUNDS:>12.3f}"
                f"{1e6 * floor / ROUNDS:>11.3f}",
                flush=True,
            )
    return rows


def kdda(noisy_rounds: int) -> list[dict]:
    (X, y), generated = timed(datasets.kdda_like)
    print(f"generated {X.nnz:,} entries in {generated:.0f} s", flush=True)
    peak_reset()
    matrix, held = timed(lambda: ColumnMatrix.of(X))
    print(f"checked in {held:.1f} s", flush=True)
    # A round of noisy_max costs the same at any epsilon: timed once, after one that compiles.
    theta = dplasso.calibrate(1.0, DELTA, ROUNDS)
    run_once("noisy_max", matrix, y, theta, 0, 1)
    _, _, start_up, rival, _ = run_once("noisy_max", matrix, y, theta, 0, noisy_rounds)
    rival = start_up + rival * ROUNDS / noisy_rounds
    peak_reset()
    rows = []
    for epsilon in (0.1, 1.0):
        theta = dplasso.calibrate(epsilon, DELTA, ROUNDS)
        problem, walk, setup, seconds, total = run_once("lazy", matrix, y, theta, 0, ROUNDS)
        floor = time_replay(problem, walk)
        peak = memory_mib("VmHWM")
        rows.append(
            {
                "epsilon": epsilon,
                "total": total,
                "setup": setup,
                "rounds": seconds,
                "replay": floor,
                "noisy_max": rival,
                "noisy_max_timed_rounds": noisy_rounds,
                "peak_mib": peak,
            }
        )
        print(
            f"epsilon {epsilon:g}: lazy {total:.1f} s (set-up {setup:.1f}), replay {floor:.2f} s "
            f"({seconds / floor:.1f} times), noisy_max {rival:,.0f} s scaled from {noisy_rounds} "
            f"rounds ({rival / total:.0f} times), peak {peak / 1024:.2f} GiB",
            flush=True,
        )
    return rows


def plot(rows: list[dict]) -> None:
    plt = pyplot()
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for epsilon, colour in ((1.0, "C1"), (0.1, "C0")):
        chosen = [row for row in rows if row["epsilon"] == epsilon]
        columns = [row["columns"] for row in chosen]
        axes.plot(
            columns,
            [1e6 * row["per_round"] for row in chosen],
            "o-",
            color=colour,
            label=f"lazy, ε = {epsilon:g}",
        )
        axes.plot(
            columns,
            [1e6 * row["replay_per_round"] for row in chosen],
            "o:",
            color=colour,
            alpha=0.6,
            label=f"replay, ε = {epsilon:g}",
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("columns (500,000 rows, 40 million entries)")
    axes.set_ylabel("microseconds a round")
    axes.grid(alpha=0.3)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=4, frameon=False)
    axes.set_title("Cost of a round as columns grow", loc="left")
    save_plot(figure, "growth")


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--part", choices=("growth", "kdda"), action="append")
    command.add_argument("--seeds", type=int, default=10)
    command.add_argument("--noisy-rounds", type=int, default=8)
    options = command.parse_args()
    print(f"{machine()}; {ROUNDS} rounds, radius {RADIUS:g}, delta {DELTA:g}")
    for part in options.part or ("growth", "kdda"):
        rows = growth(options.seeds) if part == "growth" else kdda(options.noisy_rounds)
        save(part, data={"machine": machine(), "rows": rows})
        if part == "growth":
            plot(rows)


if __name__ == "__main__":
    main()
