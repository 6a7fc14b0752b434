"""Accuracy of secret-shared moments against one party that holds everything.

    python benchmarks/federated_moments.py [--seeds 10] [--parties 3,8,20] [--epsilons 0.3,1,3,8]

Parties hold whole attributes, dealt out at random: a number, or a category with a column of 0 and 1
per level. Where there are fewer attributes than parties, each party has one. Bounds on rows are
those of `agree_moments`, which knows the numbers of attributes and how large the noise is; nothing
is read from the rows. a9a and kddcup99 (125,000 of its rows, 4 of 5 to train on) are taken as
presence; tables have the public ranges and a fresh split for each seed. delta is 1 / rows^2.

*Centralised* is the same matrix with one party's noise. *One colluder*, the default, has noise such
that a party still faces epsilon; *all but one* such that all other parties together do.
Exact matrices are computed in the clear, and the noise of each party and of the server is drawn and
added, to means and to the matrix: what the protocol opens, to the last bit
(tests/federated/moments/test_protocol.py). The
protocol itself runs once per set, with three parties, for its seconds and bytes.
Means over seeds with 95 % intervals: accuracy, or R^2 where numbers are predicted. Splits of fewer
than 20,000 rows get five draws of the noise each.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from harness import cases, tables
from harness.intervals import interval
from harness.machine import machine
from harness.options import allow_seeds, study, whole_numbers
from harness.results import legend_below, mark_epsilons, pyplot, save, save_plot

from dplasso.federated.moments import (
    MomentModel,
    Moments,
    MomentTerms,
    agree_moments,
    moment_plan,
    simulate_moments,
)
from dplasso.federated.moments.centring import Centring
from dplasso.federated.moments.entries import opened_entries
from dplasso.federated.moments.noise import NoiseShare
from dplasso.federated.moments.rows import RowMap, Units, labels_of
from dplasso.federated.moments.server_noise import ServerNoise
from dplasso.federated.moments.weights import fit_moments
from dplasso.mechanisms.random_bits import random_bits

SETS = ("a9a", "kddcup99_10pct", "adult", "telco_churn", "california", "letter")
EPSILONS = (0.3, 1.0, 3.0, 8.0)
CLOSE = 0.015
# Of the noise, for each split: more where one draw may decide the mean.
DRAWS, FEW_ROWS = 5, 20_000
# Columns of each attribute, as the sets were made: bins and levels of 14 attributes; 38 numbers,
# then protocol, service and flag.
COLUMNS = {
    "a9a": (5, 8, 5, 16, 5, 7, 14, 6, 5, 2, 2, 2, 5, 41),
    "kddcup99_10pct": (*(1,) * 38, 3, 66, 11),
}
Block = dict[str, np.ndarray]


class Data(NamedTuple):
    """Rows to train and to test on; ``attributes`` has the columns of each attribute."""

    name: str
    train: np.ndarray
    y: np.ndarray
    test: np.ndarray
    truth: np.ndarray
    attributes: list[np.ndarray]
    ranges: list
    n_classes: int
    y_bound: float

    def blocks(self, parties: int, seed: int) -> dict[str, np.ndarray]:
        """The columns of each party."""
        dealt = np.random.default_rng(seed).permutation(len(self.attributes)) % parties
        return {
            f"p{k}": np.concatenate([self.attributes[a] for a in np.flatnonzero(dealt == k)])
            for k in range(parties)
        }

    def agreed(self, parties: int, seed: int, **options) -> MomentTerms:
        """Terms by public rules."""
        dealt = np.random.default_rng(seed).permutation(len(self.attributes)) % parties
        return agree_moments(
            {name: len(columns) for name, columns in self.blocks(parties, seed).items()},
            "p0",
            attributes={f"p{k}": int(np.sum(dealt == k)) for k in range(parties)},
            n_rows=len(self.y),
            delta=float(len(self.y)) ** -2.0,
            n_classes=self.n_classes,
            y_bound=self.y_bound,
            **options,
        )

    def judged(self, model: MomentModel, blocks: Block) -> tuple[float, float]:
        """Accuracy and log loss on test rows; R^2 and NaN for numbers."""
        bounds = {name: [self.ranges[j] for j in own] for name, own in blocks.items()}
        scores = model.scores({name: self.test[:, own] for name, own in blocks.items()}, bounds)
        if not self.n_classes:
            errors = model.numbers(scores) - self.truth
            return float(1.0 - np.mean(errors**2) / np.var(self.truth)), np.nan
        chances = model.probabilities(scores)[np.arange(len(self.truth)), self.truth]
        return float(np.mean(model.classes(scores) == self.truth)), float(-np.mean(np.log(chances)))


def sparse_set(name: str) -> Data | None:
    """a9a or kddcup99, as presence."""
    found = cases.split(cases.CASES[name])
    if found is None:
        return None
    train, y, test, truth = found
    ends = np.cumsum([0, *COLUMNS[name]])
    attributes = [np.arange(low, high) for low, high in zip(ends, ends[1:], strict=False)]
    rows = [(half.toarray() != 0).astype(np.float64) for half in (train, test)]
    for half in rows:
        assert all(half[:, own].sum(axis=1).max() <= 1 for own in attributes)
    labels = [np.asarray(each > 0, np.int64) for each in (y, truth)]
    ranges = [(0, 1)] * len(rows[0][0])
    return Data(name, rows[0], labels[0], rows[1], labels[1], attributes, ranges, 2, 1.0)


def table_set(table: tables.Table, seed: int) -> Data:
    """A table split anew."""
    schema = tables.SCHEMAS[table.name]
    numbers = [np.array([j]) for j in range(table.n_numbers)]
    levels = np.concatenate([[0], np.cumsum(level_counts(table.name, schema.categories))])
    categories = [
        table.n_numbers + np.arange(low, high)
        for low, high in zip(levels, levels[1:], strict=False)
    ]
    assert sum(map(len, numbers + categories)) == table.X.shape[1]
    train, test = table.halves(seed)
    rows = table.X[train], table.y[train], table.X[test], table.y[test]
    about = numbers + categories, table.ranges, table.n_classes, table.y_bound
    return Data(table.name, *rows, *about)


def level_counts(name: str, categories: tuple[str, ...]) -> list[int]:
    """Levels of each category, in order."""
    cells = tables.cells_of(name)
    return [len(np.unique(cells[column])) for column in categories]


def prepared(name: str, seeds: int) -> Iterator[Data]:
    """The data of each seed."""
    if name in COLUMNS:
        data = sparse_set(name)
        yield from [] if data is None else [data] * seeds
    elif (table := tables.load(name)) is not None:
        yield from (table_set(table, seed) for seed in range(seeds))


class Exact:
    """The exact matrix of a split about noisy means, to which noise of any size is added."""

    def __init__(self, data: Data, parties: int, seed: int, epsilon: float) -> None:
        self.data, self.parties, self.seed, self._epsilon = data, parties, seed, epsilon
        self.blocks = data.blocks(parties, seed)
        self._terms = data.agreed(parties, seed, epsilon=epsilon)
        self.centred = lru_cache(self._centred)  # the same for all numbers of colluders

    def _centred(self, draw: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """The exact matrix, and what rows are centred about: as many draws as of the noise."""
        data, terms, plan = self.data, self._terms, moment_plan(self._terms)
        bits = random_bits(10**6 + DRAWS * self.seed + draw)
        parts, centres = [], {}
        for name, own in self.blocks.items():
            ranges = [data.ranges[j] for j in own]
            cells = Units(ranges, len(ranges)).of(data.train[:, own])
            centres[name] = Centring(plan, name).drawn(cells, bits.generator)
            parts.append(RowMap(terms, name, ranges, centres[name]).whole(data.train[:, own]))
            if name == terms.label_holder:
                labels = labels_of(data.y, terms, plan.label_entry)
                parts += [np.full((len(data.y), 1), plan.entry), labels]
        whole = np.hstack(parts).astype(np.float64)  # sums are below 2^53: exact
        matrix = (whole.T @ whole).astype(np.int64)
        assert np.abs(matrix).max() < 2**53
        return matrix, centres

    def model(self, colluders: int, draw: int) -> MomentModel:
        """The model of the matrix plus the noise of every party and the server, as the protocol
        opens it."""
        public = {"epsilon": self._epsilon, "colluders": colluders}
        terms = self.data.agreed(self.parties, self.seed, **public)
        plan, (matrix, centres) = moment_plan(terms), self.centred(draw)
        assert (plan.bits, plan.mean_sigma) == (
            moment_plan(self._terms).bits,
            moment_plan(self._terms).mean_sigma,
        )
        bits = random_bits(DRAWS * self.seed + draw)
        draws = [*(NoiseShare(plan, name) for name in terms.names), ServerNoise(plan)]
        noise = np.zeros_like(matrix)
        noise[opened_entries(terms)] = sum(one.drawn(bits.generator) for one in draws)
        moments = Moments.read(plan, matrix + noise + np.triu(noise, 1).T)
        return replace(fit_moments(moments), centres=centres)

    def judged(self, colluders: int) -> tuple[float, float]:
        """Means over draws of the noise, of which a single one may be far off."""
        draws = range(DRAWS if len(self.data.y) < FEW_ROWS else 1)
        models = (self.model(colluders, draw) for draw in draws)
        score, loss = np.mean([self.data.judged(one, self.blocks) for one in models], axis=0)
        return float(score), float(loss)


def measured(name: str, parties: list[int], epsilons: list[float], seeds: int) -> list[dict]:
    """A row for each number of parties and epsilon."""
    runs: dict[tuple, list] = {}
    counts: list[int] = []
    for seed, data in enumerate(prepared(name, seeds)):
        counts = sorted({min(count, len(data.attributes)) for count in parties})
        for count in (1, *counts):
            for epsilon in epsilons:
                exact = Exact(data, count, seed, epsilon)
                for colluders in {1: (0,)}.get(count, (1, count - 1)):
                    found = exact.judged(colluders)
                    runs.setdefault((count, epsilon, colluders), []).append(found)
    rows = []
    for count in counts:
        for epsilon in epsilons:
            ways = {"centralised": (1, 0), "one": (count, 1), "all_but_one": (count, count - 1)}
            row = {"set": name, "parties": count, "epsilon": epsilon}
            for way, (held, colluders) in ways.items():
                scores, losses = zip(*runs[held, epsilon, colluders], strict=True)
                row[way] = interval(list(scores))
                row[f"{way}_log_loss"] = float(np.mean(losses))
            rows.append(row)
            print(line(row), flush=True)
    return rows


HEADER = (
    f"{'set':<16}{'parties':>8}{'eps':>5}{'centralised':>13}{'+-':>7}{'one colluder':>14}{'+-':>7}"
    f"{'short by':>10}{'all but one':>13}{'+-':>7}{'log loss':>10}{'centralised':>13}"
)


def line(row: dict) -> str:
    central, one, most = (row[way] for way in ("centralised", "one", "all_but_one"))
    short = central["mean"] - one["mean"]
    return (
        f"{row['set']:<16}{row['parties']:>8}{row['epsilon']:>5g}{central['mean']:>13.3f}"
        f"{central['half']:>7.3f}{one['mean']:>14.3f}{one['half']:>7.3f}{short:>9.3f}"
        f"{'*' if short <= CLOSE else ' '}{most['mean']:>13.3f}{most['half']:>7.3f}"
        f"{row['one_log_loss']:>10.3f}{row['centralised_log_loss']:>13.3f}"
    )


def timed(name: str) -> dict:
    """The protocol itself, with three parties at epsilon 1."""
    data = next(prepared(name, 1))
    blocks = data.blocks(3, 0)
    bounds = {party: [data.ranges[j] for j in own] for party, own in blocks.items()}
    rows = {party: data.train[:, own] for party, own in blocks.items()}
    began = time.process_time()
    outcome = simulate_moments(
        data.agreed(3, 0, epsilon=1.0), rows, data.y, x_bounds=bounds, random_state=0
    )
    return {
        "set": name,
        "rows": len(data.y),
        "columns": len(outcome.moments.products),
        "seconds": time.process_time() - began,
        "uplink": sum(outcome.uplink_bytes.values()),
        "accuracy": data.judged(outcome.model, blocks)[0],
    }


def told(run: dict) -> str:
    return (
        f"{run['set']:<16}{run['rows']:>9,} rows x {run['columns']:>4} columns: "
        f"{run['seconds']:>6.1f} s of processor for all parties and the server, "
        f"{run['uplink'] / 2**20:>6.1f} MiB sent by the parties, {run['accuracy']:.3f}"
    )


def plot(rows: list[dict]) -> None:
    plt = pyplot()
    sets = list(dict.fromkeys(row["set"] for row in rows))
    across = min(3, len(sets))
    down = -(-len(sets) // across)
    figure, axes = plt.subplots(
        down, across, figsize=(4.4 * across, 3.6 * down + 0.4), squeeze=False, layout="constrained"
    )
    for axis, name in zip(axes.flat, sets, strict=False):
        of_set = [row for row in rows if row["set"] == name]
        counts = list(dict.fromkeys(row["parties"] for row in of_set))
        first = [row for row in of_set if row["parties"] == counts[0]]
        epsilons = [row["epsilon"] for row in first]
        axis.plot(epsilons, [row["centralised"]["mean"] for row in first], "k-", label="one place")
        for place, label in ((0, "fewest parties"), (-1, "most parties")):
            own = [row for row in of_set if row["parties"] == counts[place]]
            for way, style, whom in (("one", "-", "one"), ("all_but_one", "--", "all but one")):
                means, halves = ([row[way][key] for row in own] for key in ("mean", "half"))
                axis.errorbar(
                    epsilons, means, halves, fmt=f"o{style}", capsize=3, color=f"C{-place}",
                    label=f"{label}, {whom} may collude",
                )  # fmt: skip
        kind = "R²" if name == "california" else "accuracy"
        title = f"{name}, {counts[0]} to {counts[-1]} parties"
        axis.set(xlabel="epsilon", ylabel=kind, title=title)
        mark_epsilons(axis, epsilons)
    legend_below(figure, axes.flat, columns=3)
    save_plot(figure, "federated_moments")


def main() -> None:
    command = study(__doc__, SETS, EPSILONS, seeds=10)
    command.add_argument("--parties", type=whole_numbers, default="3,8,20")
    options = command.parse_args()
    allow_seeds()
    rows: list[dict] = []
    runs: list[dict] = []
    print(HEADER)
    for name in options.sets:
        found = measured(name, options.parties, options.epsilons, options.seeds)
        if not found:
            print(f"{name} is not at hand")
            continue
        rows += found
        runs.append(timed(name))
        print(told(runs[-1]), flush=True)
    if not rows:
        return
    noises = f"{DRAWS} noises each below {FEW_ROWS:,} rows"
    close = f"* within {CLOSE} of centralised"
    notes = f"{options.seeds} seeds ({noises}), delta 1 / rows^2, {close}; {machine()}"
    text = [notes, HEADER, *map(line, rows), "", "The protocol, 3 parties, epsilon 1:"]
    content = {"machine": machine(), "seeds": options.seeds, "rows": rows, "runs": runs}
    save("federated_moments", "\n".join([*text, *map(told, runs)]), content)
    plot(rows)


if __name__ == "__main__":
    main()
