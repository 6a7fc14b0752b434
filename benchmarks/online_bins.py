"""How many bins does a number with public bounds need, and are there streams that they harm?

    python benchmarks/online_bins.py [--seeds 10]

Progressive accuracy of the online classifier, with its defaults, on rows scaled by `PublicScaler`
without bins and with several numbers of them. The default of `PublicScaler` was chosen by the mean
over four tables that river does not have: letter, adult, telco_churn, and california, whose target
here is whether a house is worth more than 200,000. digits (scikit-learn; 64 pixels, and the means
of 2 and of 4 neighbours) decided up to how many names. Rows are the first 2,500 in a random order,
with the bounds that the descriptions of the sets state; a level of a category is a feature of value
1. One release per row, delta 1e-6; the last 1,000 rows are protected, or every row.
benchmarks/online_short.py reports what the choice does on river's own sets, which had no part in
the number of bins.
"""

import numpy as np
import scipy.sparse as sp
from harness import tables
from harness.machine import machine
from harness.options import allow_seeds, parser
from harness.results import save
from online_short import DELTA, ours
from sklearn.datasets import load_digits

import dplasso

ROWS, WINDOWS, EPSILONS = 2500, (1000, None), (0.3, 1.0, 4.0)
BINS = (None, 4, 6, 8, 10, 12, 16, 24)
TABLES = ("letter", "adult", "telco_churn", "california")
CHOSEN_BY = EPSILONS[1:]  # at 0.3, most of these streams are too short to learn from


def digits(pooled: int) -> tuple:
    """Rows of pixels, each the mean of so many neighbours, by name; labels; public bounds."""
    found = load_digits()
    order = np.random.default_rng(0).permutation(len(found.target))
    tall, wide = (2 if pooled > 2 else 1), (2 if pooled > 1 else 1)
    pixels = found.data.reshape(-1, 8 // tall, tall, 8 // wide, wide).mean(axis=(2, 4))
    pixels = pixels.reshape(len(order), -1)
    names = [f"pixel {k}" for k in range(pixels.shape[1])]
    rows = [dict(zip(names, row, strict=True)) for row in pixels[order].tolist()]
    return rows, found.target[order], dict.fromkeys(names, (0.0, 16.0))


def table(name: str) -> tuple | None:
    """The same of a table of the data folder."""
    if (found := tables.load(name)) is None:
        return None
    order = np.random.default_rng(0).permutation(len(found.y))[:ROWS]
    bounds = {f"number {k}": found.ranges[k] for k in range(found.n_numbers)}
    rows = [
        dict(zip(bounds, row[: found.n_numbers], strict=True))
        | {f"level {k}": "" for k in np.flatnonzero(row[found.n_numbers :])}
        for row in found.X[order].tolist()
    ]
    y = found.y[order]
    return rows, y if found.n_classes else (y > -50_000).astype(int), bounds


def matrix(rows: list[dict]) -> sp.csr_array:
    """Columns of all names that occur; a text is a feature of its own, of value 1."""
    places: dict[str, int] = {}
    starts, columns, values = [0], [], []
    for row in rows:
        for name, value in row.items():
            text = isinstance(value, str)
            columns.append(places.setdefault(f"{name}={value}" if text else name, len(places)))
            values.append(1.0 if text else value)
        starts.append(len(columns))
    found = sp.csr_array((values, columns, starts), shape=(len(rows), len(places)))
    found.sum_duplicates()
    return found


def measured(rows: list[dict], y: np.ndarray, bounds: dict, seeds: int) -> dict[tuple, list]:
    """Mean accuracy of every epsilon and window, for each number of bins."""
    scalers = [dplasso.PublicScaler(bounds, bins=bins) for bins in BINS]
    forms = [matrix([scaler.transform_one(row) for row in rows]) for scaler in scalers]
    return {
        (epsilon, window): [ours(X, y, epsilon, window, seeds) for X in forms]
        for epsilon in EPSILONS
        for window in WINDOWS
    }


def best(scores: dict[str, dict], names: list[str]) -> str:
    """The number of bins with the largest mean over some sets."""
    cells = [scores[n][e, w] for n in names for e in CHOSEN_BY for w in WINDOWS]
    return str(BINS[int(np.argmax(np.mean(cells, axis=0)))])


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--seeds", type=int, default=10)
    seeds = command.parse_args().seeds
    allow_seeds()
    lines, scores = [], {}
    sets = {name: table(name) for name in TABLES}
    sets |= {f"digits, {64 // pooled} pixels": digits(pooled) for pooled in (1, 2, 4)}
    for name, data in sets.items():
        if data is None:
            print(f"{name} is not at hand")
            continue
        rows, labels, bounds = data
        classes, y = np.unique(labels, return_inverse=True)
        scores[name] = measured(rows, y, bounds, seeds)
        lines.append(f"{name}: {len(y):,} rows, {len(bounds)} numbers, {len(classes)} classes")
        lines.append(f"  {'bins':<28}" + "".join(f"{bins or 'none':>8}" for bins in BINS))
        for (epsilon, window), found in scores[name].items():
            span = "every row" if window is None else f"last {window:,} rows"
            told = "".join(f"{score:>8.4f}" for score in found)
            lines.append(f"  {f'epsilon {epsilon:g}, {span}':<28}{told}")
        print("\n".join(lines[-len(scores[name]) - 2 :]), flush=True)
    known = [name for name in TABLES if name in scores]
    lines.append(
        f"best mean of epsilon 1 and 4 over {', '.join(known)}: {best(scores, known)} bins"
    )
    for left in known:
        others = [name for name in known if name != left]
        lines.append(f"  without {left}: {best(scores, others)} bins")
    lines.append(f"{seeds} seeds; {machine()}")
    print("\n".join(lines[-len(known) - 2 :]))
    told = {name: {f"{e:g}, {w}": v for (e, w), v in each.items()} for name, each in scores.items()}
    facts = {"machine": machine(), "delta": DELTA, "seeds": seeds, "bins": BINS}
    save("online_bins", "\n".join(lines), {**facts, "scores": told})


if __name__ == "__main__":
    main()
