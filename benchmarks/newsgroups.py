"""20 Newsgroups from raw text to a private multinomial model: accuracy against epsilon.

    python benchmarks/newsgroups.py [--epsilons 1,3,8,inf] [--fits 5] [--greedy ROUNDS]

Words are hashed to 2^18 columns, so that the vocabulary is public, and only their presence counts:
entries are 0 or 1. Of an article the body is kept. The header is dropped, up to the first empty
line, as are lines of the body that name one of the 20 groups, which would tell the label; quotes
and signatures stay. 80 % of the articles are trained on, chosen with a fixed seed. The model is as
it comes: epsilon, classes and the number of rows are declared. Prints a table and saves it beside a
plot under benchmarks/results. *memory* is how much the process grew at most while fitting.

Without privacy (inf) the fit goes on to the optimum at the radius of the rule, or for as many
rounds of greedy Frank-Wolfe as `--greedy` says. Every private rule of selection draws from the
same distribution: `--selection` is about time alone.
"""

import contextlib
import ctypes
import json
import lzma
import math
import re
import statistics
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from harness import datasets
from harness.machine import machine, memory_mib, peak_reset, timed
from harness.options import allow_seeds, numbers, parser
from harness.results import mark_epsilons, pyplot, save, save_plot
from sklearn.feature_extraction.text import HashingVectorizer

from dplasso import PrivateLassoClassifier

TEXT = "news20_rebuilt/20_newsgroups_raw.jsonl.xz"
COLUMNS = 2**18


class Articles(NamedTuple):
    """Hashed words and groups, and what was dropped on the way."""

    X: sp.csr_array
    groups: np.ndarray
    names: list[str]
    lines_dropped: int
    repeated: int  # bodies that occur before, cross-posted for the most part


def load() -> Articles | None:
    """The articles; None where they are not at hand."""
    place = datasets.folder() / TEXT
    if not place.exists():
        return None
    with lzma.open(place, "rt", encoding="utf-8") as file:
        articles = [json.loads(line) for line in file]
    names = sorted({article["group"] for article in articles})
    telling = re.compile("|".join(map(re.escape, names)), re.IGNORECASE)
    bodies, dropped = [], 0
    for article in articles:
        lines = article["text"].partition("\n\n")[2].split("\n")
        kept = [line for line in lines if not telling.search(line)]
        dropped += len(lines) - len(kept)
        bodies.append("\n".join(kept))
    words = HashingVectorizer(n_features=COLUMNS, binary=True, norm=None, alternate_sign=False)
    groups = np.array([article["group"] for article in articles])
    X = sp.csr_array(words.transform(bodies)).astype(np.float32)
    return Articles(X, groups, names, dropped, len(bodies) - len(set(bodies)))


class Options(NamedTuple):
    fits: int
    selection: str
    greedy: int | None


class Rows(NamedTuple):
    train: sp.csc_array
    train_groups: np.ndarray
    test: sp.csr_array
    test_groups: np.ndarray


def split(articles: Articles) -> Rows:
    order = np.random.default_rng(0).permutation(len(articles.groups))
    cut = int(0.8 * len(order))
    train, test = order[:cut], order[cut:]
    X, groups = articles.X, articles.groups
    return Rows(sp.csc_array(X[train]), groups[train], X[test], groups[test])


def hand_back() -> None:
    """Return freed memory to the system, so that a fit cannot grow into it unseen (glibc)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def fit(rows: Rows, names: list[str], epsilon: float, seed: int, options: Options) -> dict:
    """One fit: how good, how large, how long."""
    private = not math.isinf(epsilon)
    model = PrivateLassoClassifier(
        epsilon,
        classes=names,
        n_rows=len(rows.train_groups),
        max_iter="auto" if private or options.greedy is None else options.greedy,
        selection=options.selection if private else "lazy",
        random_state=seed,
    )
    hand_back()
    before = memory_mib("VmRSS")
    peak_reset()
    _, seconds = timed(lambda: model.fit(rows.train, rows.train_groups))
    grown = memory_mib("VmHWM") - before
    if private and len(model.vertices_) != model.n_iter_:
        raise AssertionError("a round releases one signed coordinate of one class")
    return {
        "accuracy": float(np.mean(model.predict(rows.test) == rows.test_groups)),
        "nonzeros": int(np.count_nonzero(model.coef_)),
        "radius": model.privacy_["bounds"]["radius"]["value"],
        "rounds": model.n_iter_,
        "selections": len(model.vertices_),
        "seconds": seconds,
        "memory_mib": grown,
    }


def run(rows: Rows, names: list[str], epsilon: float, options: Options) -> dict:
    private = not math.isinf(epsilon)
    fits = options.fits if private else 1
    found = [fit(rows, names, epsilon, seed, options) for seed in range(fits)]
    accuracies = [one["accuracy"] for one in found]
    return {
        "epsilon": epsilon if private else "inf",
        "fits": len(found),
        "accuracy": statistics.fmean(accuracies),
        "accuracy_sd": statistics.pstdev(accuracies),
        "nonzeros": statistics.fmean(one["nonzeros"] for one in found),
        "radius": found[0]["radius"],
        "rounds": found[0]["rounds"],
        "selections": found[0]["selections"],
        "seconds": statistics.median(one["seconds"] for one in found),
        "memory_mib": max(one["memory_mib"] for one in found),
        "how": options.selection if private else "optimum" if options.greedy is None else "greedy",
    }


HEADER = (
    f"{'eps':>5}{'fits':>6}{'accuracy':>10}{'+-':>7}{'nonzeros':>10}{'radius':>8}{'rounds':>8}"
    f"{'selections':>12}{'seconds':>9}{'memory MiB':>12}  how"
)


CLOSING = (
    "accuracy: mean over fits, +- their spread; seconds: median over fits, from matrix to model.",
    "A private round is one selection (rounds == len(vertices_)), whatever the number of classes.",
    "optimum: projected gradient at the radius of the rule; rounds are its steps.",
)


def line(row: dict) -> str:
    return (
        f"{row['epsilon']:>5}{row['fits']:>6}{row['accuracy']:>10.3f}{row['accuracy_sd']:>7.3f}"
        f"{row['nonzeros']:>10.1f}{row['radius']:>8.4g}{row['rounds']:>8}{row['selections']:>12}"
        f"{row['seconds']:>9.1f}{row['memory_mib']:>12.0f}  {row['how']}"
    )


def plot(table: list[dict], chance: float, name: str) -> None:
    """Accuracy against epsilon; without privacy, and chance, as lines."""
    plt = pyplot()
    figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
    private = [row for row in table if row["epsilon"] != "inf"]
    for row in table:
        if row["epsilon"] == "inf":
            label = f"without privacy ({row['how']} at radius {row['radius']:g})"
            axes.axhline(row["accuracy"], color="C1", ls="--", label=label)
    axes.errorbar(
        [row["epsilon"] for row in private],
        [row["accuracy"] for row in private],
        [row["accuracy_sd"] for row in private],
        fmt="o-",
        color="C0",
        capsize=3,
        label="private",
    )
    axes.axhline(chance, color="0.6", ls=":", label="most frequent class")
    mark_epsilons(axes, [row["epsilon"] for row in private])
    axes.set_ylim(0, None)
    axes.set_xlabel("epsilon (log scale)")
    axes.set_ylabel("share of test articles right")
    axes.set_title("20 Newsgroups, 20 classes, hashed words", loc="left")
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(0, 0.92))
    save_plot(figure, name)


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--epsilons", type=numbers, default="1,3,8,inf")
    command.add_argument("--fits", type=int, default=5)
    command.add_argument("--selection", default="lazy")
    command.add_argument("--greedy", type=int, default=None)
    command.add_argument("--name", default="newsgroups")
    given = command.parse_args()
    options = Options(given.fits, given.selection, given.greedy)
    allow_seeds()
    articles = load()
    if articles is None:
        print(f"{TEXT}: not at hand, left out")
        return
    rows = split(articles)
    shares = np.unique(rows.test_groups, return_counts=True)[1] / len(rows.test_groups)
    head = [
        machine(),
        f"{rows.train.shape[0]:,} articles to train on, {rows.test.shape[0]:,} to test on; "
        f"{COLUMNS:,} columns, {len(articles.names)} classes, {rows.train.nnz:,} entries; "
        "delta 1e-6",
        f"headers and {articles.lines_dropped:,} lines of bodies that name a group dropped; "
        f"{articles.repeated:,} bodies repeat an earlier one (cross-posts) and were kept",
        f"most frequent class {shares.max():.3f}",
        "",
        HEADER,
    ]
    print(*head, sep="\n", flush=True)
    fit(rows, articles.names, 0.1, 99, options)  # compiles what is not yet compiled
    table: list[dict] = []
    for epsilon in given.epsilons:
        row = run(rows, articles.names, epsilon, options)
        print(line(row), flush=True)
        table = sorted([*table, row], key=lambda row: float(row["epsilon"]))
        facts = {
            "machine": machine(),
            "train_rows": rows.train.shape[0],
            "test_rows": rows.test.shape[0],
            "columns": COLUMNS,
            "entries": int(rows.train.nnz),
            "most_frequent_class": float(shares.max()),
            "lines_dropped": articles.lines_dropped,
            "repeated_bodies": articles.repeated,
            "rows": table,
        }
        save(given.name, "\n".join([*head, *map(line, table), *CLOSING]), facts)
        plot(table, float(shares.max()), given.name)
    print(*CLOSING, sep="\n")


if __name__ == "__main__":
    main()
