"""Accuracy of a federation against the centralised engine, as epsilon grows.

    python benchmarks/federated_accuracy.py [--seeds 5] [--parties 3,8,20] [--epsilons 1,3,8,...]

Every set is taken as presence (entries 0 and 1, labels -1 and 1); its columns are dealt out at
random. All is as `agree` chooses it: the constants of its rules were chosen by sweeps over these
very sets, and are the same for all. Centralised is PrivateLassoRegressor by Frank-Wolfe: the same
loss, radius and budget, on all columns at one place. delta is 1 / rows^2.
Means over seeds with 95 % intervals. Prints a table that says from which epsilon on a federation is
within 0.02 of the centralised engine at the same epsilon, and saves it with a plot.
"""

import numpy as np
from harness.federations import RADIUS, SETS, Task, centralised, federate, real, split
from harness.intervals import interval
from harness.machine import machine
from harness.options import allow_seeds, study, whole_numbers
from harness.results import mark_epsilons, pyplot, save, save_plot

CLOSE = 0.02
EPSILONS = (1.0, 3.0, 8.0, 16.0, 32.0, 64.0, 128.0)


def federated(task: Task, parties: int, epsilon: float, seed: int) -> dict:
    terms, outcome = federate(task, parties, epsilon, seed, radius=RADIUS)
    margins = outcome.margins(split(task.test, parties, seed))
    return {
        "accuracy": task.accuracy(margins),
        "uplink": sum(outcome.card.uplink_bytes.values()),
        "rounds": terms.rounds,
        "sketch_size": terms.sketch_size,
    }


def measured(task: Task, parties: list[int], epsilons: list[float], seeds: int) -> list[dict]:
    rows = []
    for epsilon in epsilons:
        models = [centralised(task, epsilon, task.delta, seed) for seed in range(seeds)]
        central = interval([task.accuracy(model.predict(task.test)) for model in models])
        for count in parties:
            runs = [federated(task, count, epsilon, seed) for seed in range(seeds)]
            ours = interval([run["accuracy"] for run in runs])
            row = {
                "set": task.name,
                "rows": len(task.labels),
                "columns": task.train.shape[1],
                "majority": task.majority,
                "parties": count,
                "epsilon": epsilon,
                "federated": ours,
                "centralised": central,
                "uplink": float(np.mean([run["uplink"] for run in runs])),
                "rounds": runs[0]["rounds"],
                "sketch_size": runs[0]["sketch_size"],
            }
            rows.append(row)
            print(line(row), flush=True)
    return rows


HEADER = (
    f"{'set':<18}{'parties':>8}{'eps':>6}{'federated':>11}{'+-':>7}{'centralised':>13}{'+-':>7}"
    f"{'short by':>10}{'majority':>10}{'rounds':>8}{'sketch':>8}{'uplink KiB':>12}"
)


def line(row: dict) -> str:
    ours, central = row["federated"], row["centralised"]
    short = central["mean"] - ours["mean"]
    return (
        f"{row['set']:<18}{row['parties']:>8}{row['epsilon']:>6g}{ours['mean']:>11.3f}"
        f"{ours['half']:>7.3f}{central['mean']:>13.3f}{central['half']:>7.3f}"
        f"{short:>9.3f}{'*' if short <= CLOSE else ' '}{row['majority']:>10.3f}{row['rounds']:>8}"
        f"{row['sketch_size']:>8}{row['uplink'] / 1024:>12.0f}"
    )


def plot(rows: list[dict]) -> None:
    plt = pyplot()
    sets = list(dict.fromkeys(row["set"] for row in rows))
    figure, axes = plt.subplots(1, len(sets), figsize=(5.0 * len(sets), 4.4), squeeze=False)
    for axis, name in zip(axes[0], sets, strict=True):
        of_set = [row for row in rows if row["set"] == name]
        counts = list(dict.fromkeys(row["parties"] for row in of_set))
        first = [row for row in of_set if row["parties"] == counts[0]]
        epsilons = [row["epsilon"] for row in first]
        central = np.array([row["centralised"]["mean"] for row in first])
        axis.plot(epsilons, central, "k-", label="centralised")
        axis.fill_between(epsilons, central - CLOSE, central, color="0.85", label="within 0.02")
        for count in counts:
            own = [row["federated"] for row in of_set if row["parties"] == count]
            means, halves = ([each[key] for each in own] for key in ("mean", "half"))
            axis.errorbar(epsilons, means, halves, fmt="o-", capsize=3, label=f"{count} parties")
        axis.axhline(first[0]["majority"], color="grey", linestyle=":", label="larger class")
        axis.set(xlabel="epsilon", ylabel="accuracy", title=name)
        mark_epsilons(axis, epsilons)
    axes[0][0].legend(fontsize=8, loc="lower right")
    figure.tight_layout()
    save_plot(figure, "federated_accuracy")


def main() -> None:
    command = study(__doc__, SETS, EPSILONS, seeds=5)
    command.add_argument("--parties", type=whole_numbers, default="3,8,20")
    options = command.parse_args()
    allow_seeds()
    rows: list[dict] = []
    print(HEADER)
    for name in options.sets:
        if (task := real(name)) is None:
            print(f"{name} is not at hand")
            continue
        rows += measured(task, options.parties, options.epsilons, options.seeds)
    if not rows:
        return
    told = {"machine": machine(), "seeds": options.seeds, "radius": RADIUS, "rows": rows}
    notes = f"{options.seeds} seeds, delta 1 / rows^2, * within {CLOSE} of centralised; {machine()}"
    save("federated_accuracy", "\n".join([notes, HEADER, *map(line, rows)]), told)
    plot(rows)


if __name__ == "__main__":
    main()
