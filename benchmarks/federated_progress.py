"""Objective against rounds and against bytes, with privacy: a federation and its rivals.

    python benchmarks/federated_progress.py [--rows 100000] [--seeds 5]

Generated rows (60 fair coins, three parties, labels that follow six), (3, 1e-9) for a row. The
objective is the mean of (prediction - y)^2 / 2 on the training rows. The federation and dFW (not
private) have a value after every round, at the bytes sent so far; one-shot sketching has one value
for each width of its projection; the centralised private Frank-Wolfe engine, one for its whole
budget, sends nothing. Means over seeds. Saves a table and a plot under benchmarks/results.
"""

import numpy as np
from harness.federations import (
    DELTA,
    EPSILON,
    PARTIES,
    RADIUS,
    Task,
    centralised,
    federate,
    generated,
    split,
)
from harness.machine import machine
from harness.options import allow_seeds, parser
from harness.results import pyplot, save, save_plot
from rivals_federated import one_shot
from rivals_federated.dfw import distributed_frank_wolfe

from dplasso.federated import Coordinator

WIDTHS = (2, 5, 10, 20)
Curve = list[tuple[float, float]]  # bytes and objective


def objective(task: Task, margins: np.ndarray) -> float:
    return float(np.mean((margins - task.labels) ** 2)) / 2.0


def federation(task: Task, seed: int) -> Curve:
    blocks, curve = split(task.train, PARTIES, seed), []

    def watch(coordinator: Coordinator) -> None:
        card = coordinator.card()
        margins = np.full(len(task.labels), card.intercept)
        for party, feature, value in zip(
            card.parties, card.features, card.coefficients, strict=True
        ):
            margins += value * blocks[party][:, feature]
        curve.append((float(sum(card.uplink_bytes.values())), objective(task, margins)))

    federate(task, PARTIES, EPSILON, seed, watch, delta=DELTA, radius=RADIUS)
    return curve[:-1]  # the last round sends weights, not features


def dfw(task: Task, seed: int, rounds: int) -> Curve:
    blocks = split(task.train - task.train.mean(axis=0), PARTIES, seed)
    mean = task.labels.mean()
    columns = np.hstack(list(blocks.values()))
    points = distributed_frank_wolfe(blocks, task.labels - mean, RADIUS, rounds)
    start = (0.0, objective(task, np.full(len(task.labels), mean)))
    return [
        start,
        *((float(p.uplink), objective(task, columns @ p.weights + mean)) for p in points),
    ]


def one_shot_sketching(task: Task, seed: int) -> Curve:
    blocks, curve = split(task.train, PARTIES, seed), []
    for width in WIDTHS:
        rng = np.random.default_rng([seed, width])
        sent = one_shot.send(blocks, task.labels, width, EPSILON, DELTA, rng)
        weights, intercept = one_shot.fit(sent, RADIUS)
        margins = np.hstack(list(blocks.values())) @ weights + intercept
        curve.append((float(sent.uplink), objective(task, margins)))
    return curve


def measured(n: int, seeds: int) -> dict[str, list]:
    curves: dict[str, list[Curve]] = {}
    for seed in range(seeds):
        task = generated(n, seed)
        ours = federation(task, seed)
        alone = centralised(task, EPSILON, DELTA, seed).predict(task.train)
        found = {
            "federation": ours,
            "dFW, not private": dfw(task, seed, len(ours) - 1),
            "one-shot, by width": one_shot_sketching(task, seed),
            "centralised": [(0.0, objective(task, alone))],
        }
        for name, curve in found.items():
            curves.setdefault(name, []).append(curve)
            print(seed, name, f"{curve[-1][1]:.4f}", flush=True)
    return {name: np.mean(each, axis=0).tolist() for name, each in curves.items()}


def table(curves: dict[str, list]) -> str:
    lines = [f"{'':<22}{'points':>8}{'bytes at the end':>18}{'objective':>12}{'least':>10}"]
    for name, curve in curves.items():
        least = min(value for _, value in curve)
        lines.append(
            f"{name:<22}{len(curve):>8}{curve[-1][0]:>18.0f}{curve[-1][1]:>12.4f}{least:>10.4f}"
        )
    return "\n".join(lines)


def plot(curves: dict[str, list]) -> None:
    plt = pyplot()
    figure, (left, right) = plt.subplots(1, 2, figsize=(11.0, 4.4), sharey=True)
    for name, curve in curves.items():
        sent, values = np.array(curve).T
        if name == "centralised":
            for axis in (left, right):
                axis.axhline(values[0], color="k", linestyle=":", label="centralised, private")
            continue
        style = "s--" if "not private" in name else "o-"
        if name.startswith("one-shot"):
            right.plot(sent, values, "^-", color="C2", label=name)
            left.axhline(values.min(), color="C2", linestyle="-.", label="one-shot, best width")
            continue
        left.plot(np.arange(len(values)), values, style, markersize=4, label=name)
        right.plot(np.maximum(sent, 1.0), values, style, markersize=4, label=name)
    left.set(xlabel="rounds", ylabel="objective on the training rows")
    right.set(xlabel="bytes sent by all parties", xscale="log", xlim=(1e3, None))
    left.set_title(f"epsilon {EPSILON:g}, {PARTIES} parties", loc="left")
    for axis in (left, right):
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    figure.tight_layout()
    save_plot(figure, "federated_progress")


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--rows", type=int, default=100_000)
    command.add_argument("--seeds", type=int, default=5)
    options = command.parse_args()
    allow_seeds()
    curves = measured(options.rows, options.seeds)
    notes = f"{options.rows} rows, epsilon {EPSILON:g}, delta {DELTA:g}, {options.seeds} seeds"
    text = f"{notes}; {machine()}\n{table(curves)}"
    print(text)
    told = {"machine": machine(), "rows": options.rows, "curves": curves}
    save("federated_progress", text, told)
    plot(curves)


if __name__ == "__main__":
    main()
