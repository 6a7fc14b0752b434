"""Regret against time: the learners under window privacy, their published form, and their rivals.

    python benchmarks/regret.py [--rows 100000] [--dimension 32] [--seeds 3] [--streams]

Generated streams, logistic and squared loss over an L1 ball, one release per row. Regret is the
learner's loss so far, each row before it is learned from, less that of the best fixed point in
hindsight, which is computed anew at every point of the curve. (1, 1e-6) for Gaussian noise, 1 for
Gamma's. The windows hold 1,024 rows; POCG, PQFTL and PFTAL protect the whole stream, as they do.
"Steadied" learners have the start weigh like `rivals_online.theory.steadying_rows`. Noise is drawn
in floating point, or with --streams by dplasso.streams, as a product would.
Prints a table, fits a + b ln T and a + b sqrt T to the last nine tenths of the stream, and saves
all under benchmarks/results.
"""

import importlib
import math
from collections.abc import Callable

import numpy as np
from harness.machine import machine
from harness.options import parser
from harness.results import pyplot, save, save_plot
from rivals_online import sums
from rivals_online.generated import Stream, make_stream
from rivals_online.hindsight import best_fixed
from rivals_online.rivals import Pocg, Pqftl
from rivals_online.theory import TheoryLeader, steadying_rows

from dplasso.online import OracleLeader, ProjectedLeader
from dplasso.privacy.gaussian import mu_of

EPSILON, DELTA, WINDOW = 1.0, 1e-6, 1024
MU = mu_of(EPSILON, DELTA)
SECURE_SUM: Callable | None = None


# A learner of the benchmark: told a row and its label, it has weights.
Learn = Callable[[int], None]


def clipped_gradient(stream: Stream, t: int, weights: np.ndarray) -> np.ndarray:
    """The gradient of row t, which has length 1, shortened to the clip."""
    margin, label = stream.rows[t] @ weights, stream.labels[t : t + 1]
    slope = stream.loss.gradient(np.array([[margin]]), label)[0, 0]
    return np.clip(slope, -stream.clip, stream.clip) * stream.rows[t]


def with_leader(stream: Stream, leader, total):
    def learn(t: int) -> None:
        leader.follow(total.add(clipped_gradient(stream, t, leader.weights)), t + 1)

    return learn, lambda: leader.weights


def band(stream: Stream, rng):
    """The sliding band; `SECURE_SUM` makes one whose noise protects."""
    if SECURE_SUM is None:
        return sums.BandSum(stream.domain.dimension, WINDOW, stream.clip, MU, rng)
    budget = {"window": WINDOW, "epsilon": EPSILON, "delta": DELTA}
    return SECURE_SUM(stream.domain.dimension, sensitivity=stream.clip, **budget)


def tree(stream: Stream, leaves: int, draw) -> sums.TreeSum:
    return sums.TreeSum(stream.domain.dimension, leaves, draw)


def contestants(stream: Stream, rng) -> dict[str, tuple]:
    n, d = stream.rows.shape
    domain, weight, clip = stream.domain, stream.regularisation, stream.clip
    published = sums.published_tree_sd(WINDOW, clip, EPSILON, DELTA)
    whole = sums.gamma(d, clip * sums.levels(n) / EPSILON, rng)
    lipschitz = clip + weight * stream.radius
    sd = sums.BandSum(d, WINDOW, clip, MU, rng).sd
    steady = steadying_rows(domain, weight, sd)
    found = {
        "no privacy (FTAL)": with_leader(stream, ProjectedLeader(domain, weight), sums.ExactSum(d)),
        "COCOP": with_leader(stream, ProjectedLeader(domain, weight), band(stream, rng)),
        "COCOL, practical": with_leader(stream, OracleLeader(domain, weight), band(stream, rng)),
        "COCOP, steadied": with_leader(
            stream, ProjectedLeader(domain, weight, steady), band(stream, rng)
        ),
        "COCOL, steadied": with_leader(
            stream, OracleLeader(domain, weight, start_rows=steady), band(stream, rng)
        ),
        "COCOL, theory": with_leader(
            stream,
            TheoryLeader(domain, weight, lipschitz=lipschitz),
            band(stream, rng),
        ),
        "COCOP, published noise": with_leader(
            stream,
            ProjectedLeader(domain, weight),
            tree(stream, WINDOW, sums.gaussian(d, published, rng)),
        ),
        "PFTAL": with_leader(stream, ProjectedLeader(domain, weight), tree(stream, n, whole)),
        "POCG": pocg(stream, rng),
    }
    if stream.name == "squared":
        found["PQFTL"] = pqftl(stream, rng)
    return found


def pocg(stream: Stream, rng) -> tuple:
    n = len(stream.rows)
    rival = Pocg(stream.domain, stream.regularisation, stream.clip, n, MU, rng)

    def learn(t: int) -> None:
        rival.learn(clipped_gradient(stream, t, rival.at()))

    return learn, lambda: rival.weights


def pqftl(stream: Stream, rng) -> tuple:
    n, d = stream.rows.shape
    sensitivity = math.sqrt(1.0 + stream.loss.y_bound**2)  # of (x x', y x), rows of length 1
    sd = sums.tight_tree_sd(n, sensitivity, MU)
    total = sums.TreeSum(d * d + d, n, sums.gaussian(d * d + d, sd, rng))
    rival = Pqftl(stream.domain, stream.regularisation, total)
    return (lambda t: rival.learn(stream.rows[t], stream.labels[t])), lambda: rival.weights


def cumulative_loss(stream: Stream, learn: Learn, weights, marks: np.ndarray) -> np.ndarray:
    """Loss so far at every mark, with the L2 term, each row's before it is learned from."""
    n = len(stream.labels)
    margins, squares = np.empty(n), np.empty(n)
    for t in range(n):
        x = weights()
        margins[t], squares[t] = stream.rows[t] @ x, x @ x
        learn(t)
    each = np.array(
        [stream.loss.value(margins[t : t + 1, None], stream.labels[t : t + 1]) for t in range(n)]
    )
    return np.cumsum(each + stream.regularisation / 2.0 * squares)[marks - 1]


def hindsight(stream: Stream, marks: np.ndarray) -> np.ndarray:
    best, values = stream.domain.start(), []
    for mark in marks:
        best, value = best_fixed(
            stream.domain,
            stream.loss,
            stream.rows[:mark],
            stream.labels[:mark],
            stream.regularisation,
            best,
        )
        values.append(value)
    return np.array(values)


def fit(marks: np.ndarray, regret: np.ndarray, form) -> dict:
    """Least squares of a + b form(T) over T of a tenth of the stream and up."""
    late = marks >= marks[-1] // 10
    design = np.stack([np.ones(late.sum()), form(marks[late])], axis=1)
    (a, b), *_ = np.linalg.lstsq(design, regret[late], rcond=None)
    miss = regret[late] - design @ [a, b]
    spread = regret[late] - regret[late].mean()
    return {"a": a, "b": b, "r2": 1.0 - float(miss @ miss) / max(float(spread @ spread), 1e-300)}


def run_stream(name: str, n: int, d: int, seeds: int) -> dict:
    marks = np.unique(np.geomspace(100, n, 25).astype(int))
    curves: dict[str, list] = {}
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        stream = make_stream(name, n, d, rng)
        least = hindsight(stream, marks)
        for contestant, (learn, weights) in contestants(stream, rng).items():
            regret = cumulative_loss(stream, learn, weights, marks) - least
            curves.setdefault(contestant, []).append(regret)
            print(f"{name} {seed} {contestant}: {regret[-1]:.0f}", flush=True)
    means = {contestant: np.mean(curve, axis=0) for contestant, curve in curves.items()}
    return {
        "loss": name,
        "marks": marks.tolist(),
        "regret": {c: m.tolist() for c, m in means.items()},
        "fits": {
            c: {"ln T": fit(marks, m, np.log), "sqrt T": fit(marks, m, np.sqrt)}
            for c, m in means.items()
        },
    }


def table(result: dict) -> str:
    marks = result["marks"]
    tenth = next(i for i, m in enumerate(marks) if m >= marks[-1] // 10)
    lines = [
        f"{result['loss']} loss",
        f"{'learner':<24}{f'regret, T={marks[tenth]}':>20}{f'T={marks[-1]}':>12}"
        f"{'b of ln T':>12}{'R2 ln T':>9}{'R2 sqrt T':>11}",
    ]
    for name, curve in result["regret"].items():
        logs, roots = result["fits"][name]["ln T"], result["fits"][name]["sqrt T"]
        lines.append(
            f"{name:<24}{curve[tenth]:>20.0f}{curve[-1]:>12.0f}"
            f"{logs['b']:>12.1f}{logs['r2']:>9.3f}{roots['r2']:>11.3f}"
        )
    return "\n".join(lines)


def plot(results: list[dict]) -> None:
    plt = pyplot()
    figure, axes = plt.subplots(1, len(results), figsize=(6.5 * len(results), 5), squeeze=False)
    for axis, result in zip(axes[0], results, strict=True):
        for name, curve in result["regret"].items():
            published = name in ("PFTAL", "POCG", "PQFTL", "COCOP, published noise")
            style = "--" if published else ":" if "no privacy" in name else "-"
            axis.plot(result["marks"], np.maximum(curve, 1.0), style, label=name)
        axis.set(xscale="log", yscale="log", xlabel="rows", title=f"{result['loss']} loss")
        axis.set_ylabel("regret")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    figure.tight_layout()
    save_plot(figure, "regret")


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--rows", type=int, default=100_000)
    command.add_argument("--dimension", type=int, default=32)
    command.add_argument("--seeds", type=int, default=3)
    command.add_argument("--streams", action="store_true")
    options = command.parse_args()
    if options.streams:
        global SECURE_SUM
        SECURE_SUM = importlib.import_module("dplasso.streams").running_sum
    results = [
        run_stream(name, options.rows, options.dimension, options.seeds)
        for name in ("logistic", "squared")
    ]
    text = "\n\n".join(
        [
            f"{options.rows} rows of {options.dimension} columns, {options.seeds} seeds, window "
            f"{WINDOW}, epsilon {EPSILON:g}, delta {DELTA:g}; {machine()}"
        ]
        + [table(result) for result in results]
    )
    print(text)
    save("regret", text, results)
    plot(results)


if __name__ == "__main__":
    main()
