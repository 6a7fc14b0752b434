"""What privacy for people costs: 20 newsgroups, protected by article and by author.

    python benchmarks/people.py [--epsilons 1,3,8] [--counts 1,2,5,20] [--seeds 10]

Authors wrote from 1 to 139 articles. A fifth of the authors are kept apart, with all of their
articles, to test on. Columns of the table:

row        protects single articles only: an author with 139 articles is protected 139 times less
k = ...    protects authors (``groups=``), each of whom counts as k articles at most
divided    protects authors by the advice to divide: noise for single articles, strong enough that
           the largest number of articles of an author, which would have to be known, is covered

Figures are accuracies on the articles of new authors.
Saves a table and a plot after every seed, as benchmarks/results/people.*, and prints the table.
"""

import statistics
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from harness import newsgroups
from harness.machine import machine
from harness.options import allow_seeds, numbers, parser, whole_numbers
from harness.results import legend_below, mark_epsilons, pyplot, save, save_plot

from dplasso import PrivateLassoClassifier
from dplasso.privacy.gaussian import epsilon_of, mu_of

DELTA = 1e-6
ROW, DIVIDED = "row", "divided"


class Articles(NamedTuple):
    """Articles to train and to test on, by different authors."""

    train: sp.csr_array
    labels: np.ndarray
    authors: np.ndarray
    test: sp.csr_array
    truth: np.ndarray

    @property
    def most(self) -> int:
        """The largest number of articles of an author."""
        return int(np.unique(self.authors, return_counts=True)[1].max())


def split(seed: int, rows: Any, authors: np.ndarray) -> Articles:
    """Keep a fifth of the authors apart."""
    X, groups, _ = rows
    names, of = np.unique(authors, return_inverse=True)
    held = np.random.default_rng(seed).random(len(names)) < 0.2
    test = held[of]
    return Articles(X[~test], groups[~test], authors[~test], X[test], groups[test])


def score(articles: Articles, epsilon: float, protects: str | int, seed: int) -> float:
    """The accuracy of one fit."""
    people = len(np.unique(articles.authors))
    public: dict[str, Any] = {"classes": list(range(20)), "x_bound": 1.0, "delta": DELTA}
    public |= {"n_rows": len(articles.labels), "random_state": seed}
    groups = None
    if protects == DIVIDED:
        epsilon = epsilon_of(mu_of(epsilon, DELTA) / articles.most, DELTA)
    elif protects != ROW:
        public |= {"rows_per_person": int(protects), "n_people": people}
        groups = articles.authors
    model = PrivateLassoClassifier(epsilon, **public)
    model.fit(articles.train, articles.labels, groups=groups)
    return float(model.score(articles.test, articles.truth))


def table(found: dict[str, dict[str, list[float]]], ways: list[str | int]) -> Iterator[str]:
    """The lines of the table."""
    titles = [f"k = {way}" if isinstance(way, int) else way for way in ways]
    yield "epsilon" + "".join(f"{title:>10}" for title in titles)
    for epsilon, cells in found.items():
        figures = "".join(f"{statistics.mean(cells[str(way)]):10.3f}" for way in ways)
        yield f"{epsilon:>7}{figures}"


def draw(found: dict[str, dict[str, list[float]]], ways: list[str | int]) -> None:
    """Accuracy over epsilon, one line for each way to protect."""
    plot = pyplot()
    figure, axes = plot.subplots(figsize=(7, 4.2), layout="constrained")
    epsilons = [float(epsilon) for epsilon in found]
    for way in ways:
        label = (
            f"author, k = {way}"
            if isinstance(way, int)
            else {ROW: "article only", DIVIDED: "author, by dividing"}[way]
        )
        means = [statistics.mean(cells[str(way)]) for cells in found.values()]
        style = "-" if isinstance(way, int) else "--"
        axes.plot(epsilons, means, style, marker="o", label=label)
    mark_epsilons(axes, epsilons)
    axes.set_xlabel("epsilon")
    axes.set_ylabel("accuracy on new authors")
    axes.set_title("20 newsgroups: what is protected, and what it costs")
    legend_below(figure, [axes], columns=3)
    save_plot(figure, "people")


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--epsilons", type=numbers, default=[1.0, 3.0, 8.0])
    command.add_argument("--counts", type=whole_numbers, default=[1, 2, 5, 20])
    command.add_argument("--seeds", type=int, default=10)
    options = command.parse_args()
    allow_seeds()
    rows, authors = newsgroups.load(), newsgroups.authors()
    if rows is None or authors is None:
        print(f"{newsgroups.TEXT} is not in the data folder: nothing to measure")
        return
    ways: list[str | int] = [ROW, *options.counts, DIVIDED]
    found: dict[str, dict[str, list[float]]] = {
        f"{epsilon:g}": {str(way): [] for way in ways} for epsilon in options.epsilons
    }
    for seed in range(1, options.seeds + 1):
        articles = split(seed, rows, authors)
        for epsilon in options.epsilons:
            for way in ways:
                accuracy = score(articles, epsilon, way, seed)
                found[f"{epsilon:g}"][str(way)].append(accuracy)
                print(f"seed {seed}, epsilon {epsilon:g}, {way}: {accuracy:.3f}", flush=True)
        lines = [
            f"{machine()}; seeds: {seed}, a fresh split of the authors for each",
            *table(found, ways),
            "",
            *(line for line in __doc__.splitlines()[4:] if "after every seed" not in line),
        ]
        save("people", "\n".join(lines), found)
        draw(found, ways)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
