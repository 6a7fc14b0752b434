"""Progressive accuracy of the online classifier: what a window costs, beside rivals.

    python benchmarks/online.py [--seeds 10] [--rival-seeds 3 | --keep-rivals]

Rows come in a random order; each is predicted before it is learned from. Epsilon is 1 or 4, delta
1e-6, for each of the last W rows, or for every row for good. Ours has one set of constants, the
defaults. The set of weights and mu were chosen by sweeps over imdb_uni, kddcup99_10pct and
reuters21578_usa at a window of 10,000; the clip and the intercept's length by sweeps over w8a, the
first 2,000 rows of kddcup99_10pct and a9a, and the short sets of benchmarks/online_short.py; how
weights are averaged, and how they start, by sweeps over digits (scikit-learn), seven letters of the
letter set, Bananas, and the first 8,000 rows of a9a and kddcup99_10pct. phishing had no part in any
of them, w8a, imdb_uni and reuters21578_usa none in the last. DP-FTRL and DP-SGD have the best of
several rates, chosen anew for every set and seed by the very score that is shown, and river the
rate it comes with.

A release a row for kddcup99_10pct (100,000 rows of it) and the small sets, one every 64 for text,
which is hashed to 2^16 columns. DP-FTRL is gradient steps of one size along a tree's noisy sums
over the whole stream; DP-SGD one pass with noise for every release. Both are calibrated as tightly
as ours and protect every row for good. river's logistic regression is not private. Prints a table,
and saves it beside a plot under benchmarks/results. With --keep-rivals, DP-FTRL and DP-SGD are not
run again: their figures are those of the last run.
"""

import numpy as np
from harness.machine import machine
from harness.options import allow_seeds, parser
from harness.results import pyplot, save, save_plot, saved
from harness.streams import hashed, in_random_order
from rivals_online.descents import DescentSum, best_rate
from rivals_online.river import river

import dplasso
from dplasso.privacy.gaussian import mu_of
from dplasso.streams import running_sum

EPSILONS, DELTA = (1.0, 4.0), 1e-6
WINDOWS = (100, 1_000, 10_000, None)
RATES = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
CHOSEN_ON = {"a9a": 1, "imdb_uni": 64, "reuters21578_usa": 64, "w8a": 1, "kddcup99_10pct": 1}
HELD_OUT = {"phishing": 1}  # the LIBSVM set of that name, not the one of river


def progressive(X, y, batch, epsilon, window, seed) -> float:
    model = dplasso.PrivateOnlineClassifier(
        epsilon, DELTA, window=window, n_rows=len(y), batch=batch, classes=[0, 1], random_state=seed
    )
    return float(np.mean(model.predict_then_learn(X, y) == y))


def not_private(X, y, batch) -> float:
    model = dplasso.PrivateOnlineClassifier(float("inf"), batch=batch, classes=[0, 1])
    return float(np.mean(model.predict_then_learn(X, y) == y))


def dp_ftrl(X, y, batch, epsilon, seed) -> tuple[float, float]:
    def total(dimension):
        return running_sum(
            dimension,
            sensitivity=1.0,
            steps=-(-len(y) // batch),
            batch=batch,
            epsilon=epsilon,
            delta=DELTA,
            construction="tree",
            seed=seed,
        )

    return best_rate(X, y, total, batch, RATES)


def dp_sgd(X, y, batch, epsilon, seed) -> tuple[float, float]:
    def total(dimension):
        return DescentSum(dimension, 1.0 / mu_of(epsilon, DELTA), seed)

    return best_rate(X, y, total, batch, RATES)


def span(window: int | None) -> str:
    return "every row for good" if window is None else f"last {window:,} rows"


def measured(
    X, y, batch: int, seeds: int, rival_seeds: int, kept: dict | None
) -> tuple[dict, dict]:
    """Accuracies, and the rates at which the rivals had theirs; of ``kept`` if it is given."""
    found = {"river, not private": river(X, y)[1], "ours, not private": not_private(X, y, batch)}
    rates = {}
    for epsilon in EPSILONS:
        for window in WINDOWS:
            scores = [progressive(X, y, batch, epsilon, window, seed) for seed in range(seeds)]
            found[f"epsilon {epsilon:g}, {span(window)}"] = float(np.mean(scores))
        for name, rival in (("DP-FTRL", dp_ftrl), ("DP-SGD", dp_sgd)):
            key = f"epsilon {epsilon:g}, {name}, every row for good"
            if kept is not None:
                found[key], rates[key] = kept["accuracy"][key], kept["best_rates"][key]
                continue
            runs = [rival(X, y, batch, epsilon, seed) for seed in range(rival_seeds)]
            found[key] = float(np.mean([score for score, _ in runs]))
            rates[key] = [rate for _, rate in runs]
    found["always the larger class"] = float(max(y.mean(), 1.0 - y.mean()))
    return found, rates


def plot(results: dict) -> None:
    plt = pyplot()
    figure, grid = plt.subplots(2, 3, figsize=(12.6, 7.0))
    axes = grid.ravel()
    for axis, (name, found) in zip(axes, results.items(), strict=False):
        places = [w or found["rows"] for w in WINDOWS]
        scores = found["accuracy"]
        for epsilon in EPSILONS:
            each = [scores[f"epsilon {epsilon:g}, {span(w)}"] for w in WINDOWS]
            axis.plot(places, each, "o-", label=f"window W, epsilon {epsilon:g}")
        for kind, style in (("river, not private", "--"), ("always the larger class", ":")):
            axis.axhline(scores[kind], linestyle=style, color="grey", label=kind)
        for kind, mark in (("DP-FTRL", "s"), ("DP-SGD", "^")):
            shown = scores[f"epsilon 1, {kind}, every row for good"]
            axis.plot(places[-1], shown, mark, label=f"{kind}, whole stream, epsilon 1")
        title = name + (", held out" if found["held_out"] else "")
        axis.set(xscale="log", title=title, xlabel="rows protected", ylabel="progressive accuracy")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(labels), fontsize=8)
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    save_plot(figure, "online")


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--seeds", type=int, default=10)
    command.add_argument("--rival-seeds", type=int, default=3)
    command.add_argument("--keep-rivals", action="store_true")
    asked = command.parse_args()
    seeds, rival_seeds = asked.seeds, asked.rival_seeds
    before = saved("online") if asked.keep_rivals else None
    if before is not None:
        rival_seeds = before["rival_seeds"]
    allow_seeds()
    results, lines = {}, []
    for name, batch in {**HELD_OUT, **CHOSEN_ON}.items():
        if (data := in_random_order(name, 100_000)) is None:
            print(f"{name} is not at hand")
            continue
        X, y = data
        X = hashed(X, 1 << 16) if X.shape[1] > 1000 else X
        scores, rates = measured(X, y, batch, seeds, rival_seeds, before and before["sets"][name])
        facts = {
            "rows": len(y),
            "columns": X.shape[1],
            "batch": batch,
            "held_out": name in HELD_OUT,
        }
        results[name] = {**facts, "accuracy": scores, "best_rates": rates}
        part = "not used" if name in HELD_OUT else "used"
        size = f"{len(y):,} rows, {X.shape[1]:,} columns, a release every {batch}"
        lines.append(f"{name}, {size}; {part} to choose our defaults")
        lines += [f"  {kind:<44}{score:>8.4f}" for kind, score in scores.items()]
        print("\n".join(lines[-len(scores) - 1 :]), flush=True)
    lines.append(f"means of {seeds} seeds, of DP-FTRL and DP-SGD {rival_seeds}; {machine()}")
    told = {"machine": machine(), "delta": DELTA, "seeds": seeds, "rival_seeds": rival_seeds}
    save("online", "\n".join(lines), {**told, "sets": results})
    plot(results)


if __name__ == "__main__":
    main()
