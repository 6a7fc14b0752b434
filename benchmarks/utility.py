"""Accuracy of ``radius="auto"`` and ``max_iter="auto"`` against a tuned grid, set by set.

    python benchmarks/utility.py [--sets a9a,w8a] [--epsilons 0.1,1,8] [--seeds 5]

Prints a table and saves it beside a plot under benchmarks/results. *rule* is Frank-Wolfe as it
comes: only epsilon, classes, number of rows and the bound on entries are declared. *grid* is the
best of a grid of rounds and radii, picked by its accuracy on the test rows with nothing charged for
the picking, then run again on fresh seeds: what a tuned run could look like, not something a user
can have. *reference* is an earlier plain DP-FW, tuned without charge as well, where it has the set
(other splits, delta = 1/n^2). Figures are means over seeds of the share of
test rows that are right, of the area under the ROC curve where the set says AUC; *majority* is the
share of the larger class among the test rows.
"""

import statistics
import time

import numpy as np
from harness.cases import CASES, Case, Rows, load
from harness.machine import machine
from harness.options import allow_seeds, study
from harness.results import legend_below, mark_epsilons, pyplot, save, save_plot

from dplasso import PrivateLassoClassifier

DELTA = 1e-6
GRID_ROUNDS = (6, 20, 70, 200, 600)
GRID_REACH = (1.0, 3.0, 10.0, 30.0)
PICKING_SEEDS = 2
FRESH = 1000  # seeds from here on were not used to pick

# Earlier tuned DP-FW at epsilon 0.1, 1 and 8.
REFERENCE = {
    "a9a": (0.806, 0.838, 0.840),
    "w8a": (0.629, 0.740, 0.770),
    "farm_ads": (0.492, 0.678, 0.773),
    "reuters21578_usa": (0.746, 0.814, 0.872),
    "zipf": (0.505, 0.653, 0.698),
}
REFERENCE_EPSILONS = (0.1, 1.0, 8.0)


def fit(rows: Rows, epsilon: float, seed: int, **settings) -> PrivateLassoClassifier:
    model = PrivateLassoClassifier(
        epsilon,
        DELTA,
        x_bound=rows.x_bound,
        classes=[0, 1],
        n_rows=rows.train.shape[0],
        solver="frank_wolfe",
        random_state=seed,
        **settings,
    )
    return model.fit(rows.train, rows.train_labels)


def judge(case: Case, rows: Rows, model: PrivateLassoClassifier) -> float:
    return case.judge(rows.test_labels, model.decision_function(rows.test))


def tuned(case: Case, rows: Rows, epsilon: float, seeds: int) -> dict:
    """The best of the grid, run again on fresh seeds."""

    def mean(rounds: int, reach: float, first: int, count: int) -> float:
        settings = {"max_iter": rounds, "radius": reach / rows.x_bound}
        return statistics.fmean(
            judge(case, rows, fit(rows, epsilon, first + seed, **settings)) for seed in range(count)
        )

    picked = max(
        ((rounds, reach) for rounds in GRID_ROUNDS for reach in GRID_REACH),
        key=lambda place: mean(*place, 0, PICKING_SEEDS),
    )
    return {
        "grid": mean(*picked, FRESH, seeds),
        "grid_rounds": picked[0],
        "grid_radius": picked[1] / rows.x_bound,
    }


def run_set(name: str, epsilons: list[float], seeds: int) -> list[dict]:
    case = CASES[name]
    rows = load(case)
    if rows is None:
        print(f"{name}: not at hand, left out")
        return []
    table = []
    for epsilon in epsilons:
        models = [fit(rows, epsilon, FRESH + seed) for seed in range(seeds)]
        figures = [judge(case, rows, model) for model in models]
        row = {
            "set": name,
            "measure": case.measure,
            "rows": rows.train.shape[0],
            "columns": rows.train.shape[1],
            "x_bound": rows.x_bound,
            "majority": rows.majority,
            "epsilon": epsilon,
            "rounds": models[0].n_iter_,
            "radius": models[0].privacy_["bounds"]["radius"]["value"],
            "nonzeros": statistics.fmean(np.count_nonzero(model.coef_) for model in models),
            "rule": statistics.fmean(figures),
            "rule_sd": statistics.stdev(figures) if seeds > 1 else 0.0,
            **tuned(case, rows, epsilon, seeds),
        }
        if name in REFERENCE and epsilon in REFERENCE_EPSILONS:
            row["reference"] = REFERENCE[name][REFERENCE_EPSILONS.index(epsilon)]
        table.append(row)
        print(line(row), flush=True)
    return table


HEADER = (
    f"{'set':<19}{'eps':>5}{'rounds':>8}{'radius':>9}{'nonzeros':>10}{'rule':>8}{'+-':>6}"
    f"{'grid*':>8}{'rounds*':>9}{'radius*':>9}{'reference':>11}{'majority':>10}  measure"
)
FOOTNOTE = "* picked on the test rows, nothing charged for the picking, then run on fresh seeds"


def line(row: dict) -> str:
    reference = f"{row['reference']:.3f}" if "reference" in row else "-"
    return (
        f"{row['set']:<19}{row['epsilon']:>5g}{row['rounds']:>8}{row['radius']:>9.4g}"
        f"{row['nonzeros']:>10.0f}{row['rule']:>8.3f}{row['rule_sd']:>6.3f}{row['grid']:>8.3f}"
        f"{row['grid_rounds']:>9}{row['grid_radius']:>9.4g}{reference:>11}"
        f"{row['majority']:>10.3f}  {row['measure']}"
    )


def shortfalls(table: list[dict]) -> str:
    lost = [row["grid"] - row["rule"] for row in table]
    worst = table[int(np.argmax(lost))]
    return (
        f"rule below grid: {statistics.fmean(lost):.4f} on average, {max(lost):.4f} at worst "
        f"({worst['set']}, epsilon {worst['epsilon']:g})"
    )


def plot(table: list[dict], file: str) -> None:
    """Accuracy against epsilon, one small panel a set."""
    plt = pyplot()
    names = list(dict.fromkeys(row["set"] for row in table))
    across = min(5, len(names))
    down = -(-len(names) // across)
    figure, panels = plt.subplots(
        down, across, figsize=(2.5 * across, 2.2 * down + 0.7), squeeze=False, layout="constrained"
    )
    epsilons = sorted({row["epsilon"] for row in table})
    for name, axes in zip(names, panels.flat, strict=False):
        mine = [row for row in table if row["set"] == name]
        x = [row["epsilon"] for row in mine]
        known = [row for row in mine if "reference" in row]
        if mine[0]["measure"] == "accuracy":
            axes.axhline(mine[0]["majority"], color="0.6", lw=1, ls=":", label="majority class")
        axes.plot(x, [row["grid"] for row in mine], "s--", color="C1", ms=5, label="grid, tuned")
        axes.plot(
            [row["epsilon"] for row in known],
            [row["reference"] for row in known],
            "^",
            color="C2",
            ms=6,
            label="reference DP-FW, tuned",
        )
        axes.errorbar(
            x,
            [row["rule"] for row in mine],
            [row["rule_sd"] for row in mine],
            fmt="o-",
            color="C0",
            ms=4,
            capsize=2,
            label="rule, untuned",
        )
        mark_epsilons(axes, epsilons)
        what = "" if mine[0]["measure"] == "accuracy" else f" ({mine[0]['measure']})"
        axes.set_title(name + what, fontsize=9, loc="left")
        axes.tick_params(labelsize=8)
        axes.set_xlabel("ε (log scale)", fontsize=8)
    for axes in panels.flat[len(names) :]:
        axes.set_axis_off()
    legend_below(figure, panels.flat, columns=4)
    figure.suptitle("Test accuracy of the defaults, against a tuned grid", x=0.01, ha="left")
    save_plot(figure, file)


def main() -> None:
    command = study(__doc__, CASES, (0.1, 1.0, 8.0), seeds=5)
    command.add_argument("--name", default="utility")
    options = command.parse_args()
    allow_seeds()
    start = time.perf_counter()
    print(HEADER)
    table: list[dict] = []
    for name in options.sets:
        table += run_set(name, options.epsilons, options.seeds)
    if not table:
        return
    print(FOOTNOTE)
    print(shortfalls(table))
    print(f"{machine()}; {time.perf_counter() - start:.0f} s")
    found = {"machine": machine(), "delta": DELTA, "seeds": options.seeds, "rows": table}
    save(options.name, data=found)
    plot(table, options.name)


if __name__ == "__main__":
    main()
