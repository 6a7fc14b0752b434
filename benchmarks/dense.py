"""Time of the table solver on dense narrow data, next to scikit-learn's logistic regression.

    python benchmarks/dense.py [--rows 500000,5000000] [--columns 50] [--runs 3]

Prints a table and saves it under benchmarks/results. Rows are numbers between -1 and 1, labels
follow a logistic model of all columns, epsilon is 1. *seconds* is wall-clock time of a fit with all
cores, *CPU* its processor time; the rival is ``LogisticRegression(solver="lbfgs")`` with its
defaults, on the same array and one core. Fits take turns; each figure is the least of its runs,
because other programs only add to it. *step* is a step of the descent, and *floor* two bare passes
over as many whole numbers of 32 bits (one that multiplies rows by weights, one that adds up rows),
both on one core in processor time.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from harness.machine import machine
from harness.options import allow_seeds, parser, whole_numbers
from harness.results import save
from numba import njit
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from dplasso import LogisticLoss, PrivateLassoClassifier
from dplasso.solvers.table import plan_table
from dplasso.solvers.table.questions import GradientSums, Position, Standard
from dplasso.solvers.table.rows import CELL, PrivateTable


@njit(nogil=True)
def multiplied(rows, weights, out):  # type: ignore[no-untyped-def]
    for i in range(out.size):
        total = np.int64(0)
        for j in range(weights.size):
            total += rows[i, j] * weights[j]
        out[i] = total


@njit(nogil=True)
def added(rows, numbers, out):  # type: ignore[no-untyped-def]
    for i in range(numbers.size):
        for j in range(out.size):
            out[j] += rows[i, j] * numbers[i]


def data(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (rows, columns))
    margins = X @ rng.normal(size=columns)
    return X, (rng.random(rows) < 1.0 / (1.0 + np.exp(-margins))).astype(np.int64)


def spent(call: Callable[[], Any]) -> tuple[float, float]:
    """Wall-clock and processor seconds of a call."""
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - wall, time.process_time() - cpu


def step_and_floor(rows: int, columns: int, runs: int) -> tuple[float, float]:
    """Processor seconds of a step of the descent, and of two bare passes."""
    rng, loss = np.random.default_rng(0), LogisticLoss()
    cells = rng.integers(0, CELL, (rows, columns), dtype=np.int32)
    plan = plan_table(loss, epsilon=1.0, delta=1e-6, n_rows=rows, n_columns=columns)
    table = PrivateTable(cells, rng.integers(0, 2, rows).astype(np.float64), loss, plan, 1)
    standard = Standard(np.full(columns, CELL // 2), np.full(columns, 4.0 / CELL))
    weights = rng.normal(size=(1, columns))
    question = GradientSums(Position(standard, weights, np.zeros(1), 0.5))
    numbers, sums = rng.integers(-9, 9, rows), np.zeros(columns, np.int64)
    whole, products = rng.integers(-(2**30), 2**30, columns), np.empty(rows, np.int64)

    def floor() -> None:
        multiplied(cells, whole, products)
        added(cells, numbers, sums)

    for call in (floor, lambda: table.answer(question)):  # compiled, and rows standardised
        call()
    pairs = [(spent(lambda: table.answer(question))[1], spent(floor)[1]) for _ in range(5 * runs)]
    return min(step for step, _ in pairs), min(bare for _, bare in pairs)


def fits(rows: int, columns: int, runs: int) -> dict[str, Any]:
    """Seconds of fits of both models, which take turns, and their accuracy."""
    X, y = data(rows, columns)
    model = PrivateLassoClassifier(1.0, classes=[0, 1], n_rows=rows, x_bound=1.0, random_state=0)
    rival = LogisticRegression(solver="lbfgs")
    for each in (model, rival):
        each.fit(X[:1000], y[:1000])
    found: dict[str, list[tuple[float, float]]] = {"ours": [], "sklearn": []}
    for _ in range(runs):
        found["ours"].append(spent(lambda: model.fit(X, y)))
        # Threads of BLAS that wait for each other would only add to its processor time.
        with threadpool_limits(1):
            found["sklearn"].append(spent(lambda: rival.fit(X, y)))
    least = {
        name: dict(zip(("seconds", "cpu"), map(min, zip(*each, strict=True)), strict=True))
        for name, each in found.items()
    }
    shown = {"accuracy": model.score(X, y), "sklearn_accuracy": rival.score(X, y)}
    return {"rows": rows, "columns": columns, "steps": model.n_iter_, **least, **shown}


def measured(rows: int, columns: int, runs: int) -> dict[str, Any]:
    found = fits(rows, columns, runs)
    step, floor = step_and_floor(rows, columns, runs)
    found["cpu_ratio"] = found["ours"]["cpu"] / found["sklearn"]["cpu"]
    return found | {"step_ms": 1e3 * step, "floor_ms": 1e3 * floor, "step_ratio": step / floor}


HEADER = (
    f"{'rows':>10}{'columns':>8}{'steps':>6}{'seconds':>9}{'CPU':>8}{'sklearn':>9}{'CPU':>8}"
    f"{'CPU ratio':>11}{'step, ms':>10}{'floor':>8}{'ratio':>7}"
)


def line(row: dict[str, Any]) -> str:
    ours, theirs = row["ours"], row["sklearn"]
    return (
        f"{row['rows']:>10,}{row['columns']:>8}{row['steps']:>6}{ours['seconds']:>9.2f}"
        f"{ours['cpu']:>8.2f}{theirs['seconds']:>9.2f}{theirs['cpu']:>8.2f}"
        f"{row['cpu_ratio']:>11.2f}{row['step_ms']:>10.2f}{row['floor_ms']:>8.2f}"
        f"{row['step_ratio']:>7.2f}"
    )


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--rows", type=whole_numbers, default=[500_000, 5_000_000])
    command.add_argument("--columns", type=int, default=50)
    command.add_argument("--runs", type=int, default=3)
    options = command.parse_args()
    allow_seeds()
    lines, rows = [HEADER], []
    print(HEADER)
    for count in options.rows:
        rows.append(measured(count, options.columns, options.runs))
        lines.append(line(rows[-1]))
        print(lines[-1], flush=True)
    lines.append(machine())
    print(lines[-1])
    save("dense", "\n".join(lines), {"machine": machine(), "rows": rows})


if __name__ == "__main__":
    main()
