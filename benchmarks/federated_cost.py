"""What a job of secret-shared moments costs as rows and columns grow, next to sketches.

    python benchmarks/federated_cost.py [--most-cells 100000000]

Three parties hold d columns of n rows of fair coins; labels follow six of them. (1, 1 / n^2) for a
person. *seconds* are processor time of one party: all work of the job, divided by the number of
parties; the server's part, the deals, is stated apart. *bytes* are those that one party sends.
Sketches are as `agree` chooses them, in one process, too. Jobs of more cells than ``--most-cells``
are not run: their bytes follow from the shape exactly, and their seconds are extrapolated, as ten
times those of a tenth of the rows. Such figures have a ~, and a hollow mark in the plot.
"""

import time
from typing import NamedTuple

import numpy as np
from harness.machine import machine
from harness.options import allow_seeds, parser
from harness.results import pyplot, save, save_plot

from dplasso.federated import agree, simulate
from dplasso.federated.moments import MomentParty, MomentServer, agree_moments
from dplasso.federated.moments.simulation import pairs_of
from dplasso.mechanisms.random_bits import random_bits

PARTIES, EPSILON = 3, 1.0
ROWS = (1_000, 10_000, 100_000, 1_000_000)
COLUMNS = (10, 100, 1_000)
HEAD = 256  # bytes of a message besides its numbers, about


class Cost(NamedTuple):
    """Seconds of processor per party, those of the server, and bytes that a party sends."""

    seconds: float
    server_seconds: float
    sent: float


def names_of(columns: int) -> dict[str, int]:
    """Parties and their numbers of columns."""
    cuts = np.linspace(0, columns, PARTIES + 1).astype(int)
    return {f"party{k + 1}": int(cuts[k + 1] - cuts[k]) for k in range(PARTIES)}


def generated(n: int, columns: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    rng = np.random.default_rng(0)
    names = names_of(columns)
    blocks = {name: rng.integers(0, 2, (n, width)).astype(float) for name, width in names.items()}
    first = next(iter(blocks.values()))[:, : min(6, min(names.values()))]
    return blocks, 2.0 * (first.mean(axis=1) > 0.5) - 1.0


def of_moments(blocks: dict[str, np.ndarray], y: np.ndarray) -> Cost:
    names, n = {name: block.shape[1] for name, block in blocks.items()}, len(y)
    holder, bits = next(iter(names)), random_bits(0)
    terms = agree_moments(names, holder, n_rows=n, epsilon=EPSILON, delta=n**-2.0)
    server, pairs = MomentServer(terms, bits), pairs_of(terms, bits)
    began = time.process_time()
    deals = server.deals()
    dealt = time.process_time()
    parties = {
        name: MomentParty(
            *(terms, name, blocks[name], pairs[name]),
            y=y if name == holder else None,
            random_state=bits,
        )
        for name in names
    }
    masked = {name: party.masked(deals[name]) for name, party in parties.items()}
    shares = {
        name: party.share({other: sent for other, sent in masked.items() if other != name})
        for name, party in parties.items()
    }
    done = time.process_time()
    sent = sum(len(masked[name]) + len(shares[name]) for name in names) / PARTIES
    return Cost((done - dealt) / PARTIES, dealt - began, sent)


def of_sketches(blocks: dict[str, np.ndarray], y: np.ndarray) -> Cost:
    names, n = {name: block.shape[1] for name, block in blocks.items()}, len(y)
    bounds = {"x_bounds": dict.fromkeys(names, 1.0), "y_bound": 1.0}
    terms = agree(names, next(iter(names)), n_rows=n, epsilon=EPSILON, delta=n**-2.0, **bounds)
    began = time.process_time()
    outcome = simulate(terms, blocks, y, random_state=0)
    seconds = time.process_time() - began
    sent = sum(outcome.card.uplink_bytes.values()) / PARTIES
    return Cost(seconds / PARTIES, 0.0, sent)


def bytes_of(n: int, columns: int) -> float:
    """Bytes that a party sends: its masked cells, and the triangle of the matrix but one entry."""
    size = columns + 2
    return 8.0 * n * size / PARTIES + 4.0 * size * (size + 1) - 8.0 + HEAD


def measured(n: int, columns: int, most: int) -> dict:
    row: dict = {"rows": n, "columns": columns, "bytes": bytes_of(n, columns)}
    if n * columns <= most:
        blocks, y = generated(n, columns)
        row["moments"] = of_moments(blocks, y)._asdict()
        row["sketches"] = of_sketches(blocks, y)._asdict()
    print(line(row), flush=True)
    return row


HEADER = (
    f"{'rows':>10}{'columns':>9}{'MB sent':>10}{'seconds':>9}{'server s':>10}"
    f"{'sketches: MB':>14}{'seconds':>9}"
)


def line(row: dict) -> str:
    told = f"{row['rows']:>10,}{row['columns']:>9,}"
    if "extrapolated" in row:
        seconds = [f"~{row['extrapolated'][fact]:.0f}" for fact in ("seconds", "server_seconds")]
        return f"{told}{row['bytes'] / 1e6:>10.2f}{seconds[0]:>9}{seconds[1]:>10}"
    if "moments" not in row:
        return told + f"{row['bytes'] / 1e6:>10.2f}{'not run':>9}"
    ours, other = row["moments"], row["sketches"]
    return (
        f"{told}{ours['sent'] / 1e6:>10.2f}{ours['seconds']:>9.2f}{ours['server_seconds']:>10.2f}"
        f"{other['sent'] / 1e6:>14.3f}{other['seconds']:>9.2f}"
    )


def extrapolate(rows: list[dict]) -> None:
    """State what jobs that were not run would take, where a tenth of their rows was run."""
    ran = {(row["rows"], row["columns"]): row["moments"] for row in rows if "moments" in row}
    for row in rows:
        tenth = ran.get((row["rows"] // 10, row["columns"]))
        if "moments" not in row and tenth is not None:
            facts = ("seconds", "server_seconds")
            row["extrapolated"] = {fact: 10.0 * tenth[fact] for fact in facts}


def plot(rows: list[dict]) -> None:
    plt = pyplot()
    figure, (left, right) = plt.subplots(1, 2, figsize=(11.0, 4.4), layout="constrained")
    for place, columns in enumerate(COLUMNS):
        own = [row for row in rows if row["columns"] == columns]
        ran = [row for row in own if "moments" in row]
        sizes, colour = [row["rows"] for row in ran], f"C{place}"
        left.plot([r["rows"] for r in own], [r["bytes"] for r in own], "-", color=colour)
        for axis, fact in ((left, "sent"), (right, "seconds")):
            moments = [row["moments"][fact] for row in ran]
            sketches = [row["sketches"][fact] for row in ran]
            style = "o" if fact == "sent" else "o-"
            axis.plot(sizes, moments, style, color=colour, label=f"moments, {columns:,} columns")
            axis.plot(sizes, sketches, "s:", color=colour, label=f"sketches, {columns:,} columns")
        for row in own:
            if "extrapolated" in row:
                hollow = {"marker": "o", "mfc": "none", "linestyle": "none", "color": colour}
                left.plot(row["rows"], row["bytes"], **hollow)
                right.plot(row["rows"], row["extrapolated"]["seconds"], **hollow)
    left.set(xscale="log", yscale="log", xlabel="rows", ylabel="bytes that a party sends")
    right.set(xscale="log", yscale="log", xlabel="rows", ylabel="seconds of processor per party")
    left.set_title(f"{PARTIES} parties, epsilon {EPSILON:g}", loc="left")
    for axis in (left, right):
        axis.grid(alpha=0.3)
    left.legend(fontsize=8)
    save_plot(figure, "federated_cost")


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--most-cells", type=int, default=100_000_000)
    options = command.parse_args()
    allow_seeds()
    print(HEADER)
    sizes = [(n, columns) for columns in COLUMNS for n in ROWS]
    measured(*sizes[0], options.most_cells)  # compiles
    rows = [measured(n, columns, options.most_cells) for n, columns in sizes]
    extrapolate(rows)
    head = f"{PARTIES} parties; {machine()}; ~: extrapolated, not run"
    save(
        "federated_cost",
        "\n".join([head, HEADER, *map(line, rows)]),
        {"machine": machine(), "parties": PARTIES, "epsilon": EPSILON, "rows": rows},
    )
    plot(rows)


if __name__ == "__main__":
    main()
