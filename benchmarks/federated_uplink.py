"""Bytes that parties send as rows grow: a federation, one-shot sketching, and dFW.

    python benchmarks/federated_uplink.py [--most 1000000] [--seeds 3]

Generated rows: 60 fair coins dealt out to three parties, labels that follow six of them. (3, 1e-9)
for a row. The federation is as `agree` chooses it: T features of m numbers each, T m growing like
n^(2/3). One-shot sketching sends every row once, projected to 10 numbers a party; dFW, which is not
private, raw columns, as many rounds as the federation. The slope is that of a straight line through
all points of the log-log plot. Accuracy on fresh rows stands beside it: bytes that buy nothing
would be easy to save. Prints a table, and saves it with a plot under benchmarks/results.
"""

import numpy as np
from harness.federations import (
    DELTA,
    EPSILON,
    PARTIES,
    RADIUS,
    Task,
    federate,
    generated,
    split,
)
from harness.machine import machine
from harness.options import allow_seeds, parser
from harness.results import pyplot, save, save_plot
from rivals_federated import one_shot
from rivals_federated.dfw import distributed_frank_wolfe

WIDTH = 10
ASKED = 0.72
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)


def ours(task: Task, seed: int) -> dict:
    terms, outcome = federate(task, PARTIES, EPSILON, seed, delta=DELTA, radius=RADIUS)
    margins = outcome.margins(split(task.test, PARTIES, seed))
    uplink = sum(outcome.card.uplink_bytes.values())
    return {"uplink": uplink, "accuracy": task.accuracy(margins), "asks": terms.rounds}


def one_shot_sketching(task: Task, seed: int) -> dict:
    blocks = split(task.train, PARTIES, seed)
    rng = np.random.default_rng(seed)
    sent = one_shot.send(blocks, task.labels, WIDTH, EPSILON, DELTA, rng)
    weights, intercept = one_shot.fit(sent, RADIUS)
    margins = np.hstack(list(split(task.test, PARTIES, seed).values())) @ weights + intercept
    return {"uplink": sent.uplink, "accuracy": task.accuracy(margins), "asks": PARTIES}


def dfw(task: Task, seed: int, rounds: int) -> dict:
    blocks = split(task.train - task.train.mean(axis=0), PARTIES, seed)
    mean = task.labels.mean()
    *_, last = distributed_frank_wolfe(blocks, task.labels - mean, RADIUS, rounds)
    test = split(task.test - task.train.mean(axis=0), PARTIES, seed)
    margins = np.hstack(list(test.values())) @ last.weights + mean
    asks = rounds * PARTIES
    return {"uplink": last.uplink, "accuracy": task.accuracy(margins), "asks": asks}


def measured(n: int, seeds: int) -> dict:
    runs: dict[str, list[dict]] = {}
    for seed in range(seeds):
        task = generated(n, seed)
        found = {"federation": ours(task, seed), "one-shot": one_shot_sketching(task, seed)}
        found["dFW, not private"] = dfw(task, seed, found["federation"]["asks"])
        for name, run in found.items():
            runs.setdefault(name, []).append(run)
    means = {
        name: {key: float(np.mean([run[key] for run in each])) for key in each[0]}
        for name, each in runs.items()
    }
    print(n, means, flush=True)
    return {"rows": n, **means}


def slope(points: list[dict], name: str) -> float:
    rows, uplinks = ([p["rows"] for p in points], [p[name]["uplink"] for p in points])
    return float(np.polyfit(np.log(rows), np.log(uplinks), 1)[0])


def table(points: list[dict]) -> str:
    names = [name for name in points[0] if name != "rows"]
    lines = [
        f"{'rows':>9}  "
        + "".join(f"{name + ': bytes':>26}{'an answer':>11}{'accuracy':>10}" for name in names)
    ]
    for point in points:
        cells = (point[name] for name in names)
        lines.append(
            f"{point['rows']:>9}  "
            + "".join(
                f"{c['uplink']:>26.0f}{c['uplink'] / c['asks']:>11.0f}{c['accuracy']:>10.3f}"
                for c in cells
            )
        )
    slopes = ", ".join(f"{name} {slope(points, name):.3f}" for name in names)
    lines.append(f"slope of bytes over rows, log-log: {slopes}; asked of ours: {ASKED} at most")
    return "\n".join(lines)


def plot(points: list[dict]) -> None:
    plt = pyplot()
    figure, (left, right) = plt.subplots(1, 2, figsize=(11.0, 4.4))
    rows = [point["rows"] for point in points]
    for name in points[0]:
        if name == "rows":
            continue
        style = "s--" if "not private" in name else "o-"
        label = f"{name}, slope {slope(points, name):.2f}"
        left.plot(rows, [point[name]["uplink"] for point in points], style, label=label)
        right.plot(rows, [point[name]["accuracy"] for point in points], style, label=name)
    left.set(xscale="log", yscale="log", xlabel="rows", ylabel="bytes sent by all parties")
    right.set(xscale="log", xlabel="rows", ylabel="accuracy on fresh rows")
    left.set_title(f"uplink, epsilon {EPSILON:g}, {PARTIES} parties", loc="left")
    right.set_title("what it buys", loc="left")
    for axis in (left, right):
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    figure.tight_layout()
    save_plot(figure, "federated_uplink")


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--most", type=int, default=1_000_000)
    command.add_argument("--seeds", type=int, default=3)
    options = command.parse_args()
    allow_seeds()
    points = [measured(n, options.seeds) for n in SIZES if n <= options.most]
    text = f"epsilon {EPSILON:g}, delta {DELTA:g}, {options.seeds} seeds; {machine()}\n"
    text += table(points)
    print(text)
    told = {"machine": machine(), "epsilon": EPSILON, "delta": DELTA, "points": points}
    told["slopes"] = {name: slope(points, name) for name in points[0] if name != "rows"}
    save("federated_uplink", text, told)
    plot(points)


if __name__ == "__main__":
    main()
