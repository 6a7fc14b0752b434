"""Progressive accuracy of the online classifier: what a window costs, next to rivals.

    python benchmarks/online.py [--seeds 10] [--rival-seeds 10 | --keep-rivals]
    python benchmarks/online.py --more-rivals [--rival-seeds 10] [--sets a9a ...]

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

One release per row for kddcup99_10pct (100,000 rows of it) and the small sets, one every 64 rows
for text, which is hashed to 2^16 columns. DP-FTRL is gradient steps of one size along a tree's
noisy sums over the whole stream; DP-SGD one pass with noise for every release. Both are calibrated
as tightly as ours and protect every row for good. river's logistic regression is not private.
Prints a table, and saves it beside a plot under benchmarks/results. With --keep-rivals, DP-FTRL and
DP-SGD are not run again: their figures are those of the last run. With --more-rivals, nothing else
is run: they get the seeds that the last run left out, set by set, and each set is saved when it is
done.
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


RIVALS = {"DP-FTRL": dp_ftrl, "DP-SGD": dp_sgd}


def rival_key(epsilon: float, name: str) -> str:
    return f"epsilon {epsilon:g}, {name}, every row for good"


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
        for name, rival in RIVALS.items():
            key = rival_key(epsilon, name)
            if kept is not None:
                found[key], rates[key] = kept["accuracy"][key], kept["best_rates"][key]
                continue
            runs = [rival(X, y, batch, epsilon, seed) for seed in range(rival_seeds)]
            found[key] = float(np.mean([score for score, _ in runs]))
            rates[key] = [rate for _, rate in runs]
    found["always the larger class"] = float(max(y.mean(), 1.0 - y.mean()))
    return found, rates


def add_rivals(X, y, found: dict, rival_seeds: int) -> None:
    """Add the seeds of the rivals that ``found`` lacks to its means."""
    for epsilon in EPSILONS:
        for name, rival in RIVALS.items():
            key = rival_key(epsilon, name)
            rates, total = found["best_rates"][key], found["accuracy"][key]
            total *= len(rates)
            for seed in range(len(rates), rival_seeds):
                score, rate = rival(X, y, found["batch"], epsilon, seed)
                total += score
                rates.append(rate)
            found["accuracy"][key] = total / len(rates)


def rival_seeds_of(sets: dict) -> str:
    """How many seeds the rivals had, in words."""
    counts = {
        name: len(found["best_rates"][rival_key(1.0, "DP-SGD")]) for name, found in sets.items()
    }
    if len(set(counts.values())) == 1:
        return str(min(counts.values()))
    most = max(counts.values())
    fewer = (f"{count} on {name}" for name, count in counts.items() if count < most)
    return f"{most} ({', '.join(fewer)})"


def stored(told: dict, results: dict) -> None:
    """Save the figures, the table and the plot."""
    lines = []
    for name, found in results.items():
        part = "not used" if found["held_out"] else "used"
        size = f"{found['rows']:,} rows, {found['columns']:,} columns"
        lines.append(
            f"{name}, {size}, a release every {found['batch']}; {part} to choose our defaults"
        )
        lines += [f"  {kind:<44}{score:>8.4f}" for kind, score in found["accuracy"].items()]
    told = {**told, "rival_seeds": rival_seeds_of(results)}
    ends = f"means of {told['seeds']} seeds, of DP-FTRL and DP-SGD {told['rival_seeds']}"
    lines.append(f"{ends}; {told['machine']}")
    save("online", "\n".join(lines), {**told, "sets": results})
    plot(results)


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


def rows_of(name: str):
    """Rows and labels of a set as a stream; None where it is not at hand."""
    if (data := in_random_order(name, 100_000)) is None:
        print(f"{name} is not at hand")
        return None
    X, y = data
    return (hashed(X, 1 << 16) if X.shape[1] > 1000 else X), y


def main() -> None:
    every = {**HELD_OUT, **CHOSEN_ON}
    command = parser(__doc__)
    command.add_argument("--seeds", type=int, default=10)
    command.add_argument("--rival-seeds", type=int, default=10)
    command.add_argument("--keep-rivals", action="store_true")
    command.add_argument("--more-rivals", action="store_true")
    command.add_argument("--sets", nargs="+", choices=every, default=every)
    asked = command.parse_args()
    allow_seeds()
    if asked.more_rivals:
        before, where = saved("online"), f"seeds of rivals added on {machine()}"
        if where not in before["machine"]:
            before["machine"] += f"; {where}"
        for name in asked.sets:
            if (data := rows_of(name)) is not None:
                add_rivals(*data, before["sets"][name], asked.rival_seeds)
                stored({key: before[key] for key in ("machine", "delta", "seeds")}, before["sets"])
                print(f"{name} has {asked.rival_seeds} seeds of each rival", flush=True)
        return
    before = saved("online") if asked.keep_rivals else None
    results = {}
    for name in asked.sets:
        if (data := rows_of(name)) is None:
            continue
        (X, y), batch = data, every[name]
        kept = before and before["sets"][name]
        scores, rates = measured(X, y, batch, asked.seeds, asked.rival_seeds, kept)
        facts = {
            "rows": len(y),
            "columns": X.shape[1],
            "batch": batch,
            "held_out": name in HELD_OUT,
        }
        results[name] = {**facts, "accuracy": scores, "best_rates": rates}
        print("\n".join([name, *(f"  {kind:<44}{score:>8.4f}" for kind, score in scores.items())]))
    stored({"machine": machine(), "delta": DELTA, "seeds": asked.seeds}, results)


if __name__ == "__main__":
    main()
