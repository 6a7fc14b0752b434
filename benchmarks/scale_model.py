"""A cost model of fits on a cluster, checked against measured runs, and what it says of 1e9 x 1e9.

    python benchmarks/scale_model.py [--sets few_columns,wide] [--actors 1,2,4]
    python benchmarks/scale_model.py --known-costs

Costs are measured first, on data other than those of the checks: seconds per entry, column and row
of an actor's sums, per draw, per move, per byte copied, per call of Ray. (For shards of very many
rows, those per entry come from saved steps on the shape of KDDA.) The model
(`harness/cluster_model.py`) then replays steps that are measured next, on a cluster of this
machine: *step* is the shortest of many, *work* the processor time of all sums per step, *MiB* the
memory of the largest actor. It also replays runs that other scripts have saved, which saw another
load of the machine, or another machine. Ratios are predicted over measured. The forecast is for
machines with 16 of these cores, a network card of 100 Gbit/s each, and one actor.
With --known-costs, nothing is measured: costs and measured runs are those of the last run, and what
other scripts have saved since is compared and used.
"""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from harness import cluster_model as model
from harness import datasets, walks
from harness.machine import MIB, machine
from harness.options import allow_seeds, names, parser, whole_numbers
from harness.results import RESULTS, pyplot, save, save_plot, saved
from scipy.optimize import nnls

import dplasso
from cluster import rows_of, run, store, stored, worked
from dplasso import Cluster, Shards
from dplasso.base import threads as pool
from dplasso.cluster.opened import opened
from dplasso.data import ColumnMatrix
from dplasso.data.unit_rows import UnitRows
from dplasso.losses import LogisticLoss
from dplasso.losses.encoded import encoded
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.mechanisms.random_bits import random_bits
from dplasso.solvers.gradient import plan_descent
from dplasso.solvers.gradient.conditioning import Conditioning
from dplasso.solvers.gradient.iterate import ThreadIterate
from dplasso.solvers.gradient.rows import PrivateRows

SETS = ("few_columns", "wide")
# Rows, columns and entries on which costs are measured: three numbers of rows, very many columns,
# and hardly more entries than rows.
PROBES = (
    (20_000, 100_000, 3_000_000),
    (300_000, 100_000, 4_000_000),
    (3_000_000, 100_000, 6_000_000),
    (20_000, 2_000_000, 2_200_000),
    (3_000_000, 1_000, 3_100_000),
)
ROUND_PROBES = (PROBES[0], PROBES[1], PROBES[3])
# The data of saved runs.
SAVED = {
    "few_columns": model.Shape(20_000, 20_000, 1_000_000),
    "many_rows": model.Shape(400_000, 20_000, 20_000_000),
    "news20_rebuilt": model.Shape(19_953, 1_343_315, 9_815_351),
    "zipf": model.Shape(500_000, 5_000_000, 16_603_245),
}
LARGE = model.Shape(10**9, 10**9, 10**11)
ACTORS = (16, 32, 64, 128, 256, 512, 1024)
CORES, NETWORK = 16, 100e9 / 8
LOSS = LogisticLoss()
GIB = 1 << 30


def least(action: Callable[[], Any], repeats: int, clock: Callable[[], float]) -> float:
    """The shortest time of several, after one run that compiles."""
    action()
    found = []
    for _ in range(repeats):
        start = clock()
        action()
        found.append(clock() - start)
    return min(found)


def step_of(X: Any, y: np.ndarray, threads: int) -> Callable[[], Any]:
    """An exact gradient sum over rows, again and again at the same weights."""
    held = UnitRows.of(X, "presence")
    rows, columns = held.shape
    plan = plan_descent(LOSS, epsilon=1.0, delta=1e-9, n_rows=rows, n_columns=columns)
    private = PrivateRows(held, encoded(LOSS, y, rows), LOSS, plan, threads)
    rng = np.random.default_rng(0)
    at = Conditioning.of(rng.uniform(0.3, 1.0, columns), np.zeros(columns))
    weights, intercepts = rng.normal(size=(1, columns)), np.zeros(1)
    return lambda: private.sums(at, weights, intercepts)


def solved(equations: list[list[float]], seconds: list[float]) -> list[float]:
    """Costs that are not negative, by least squares of relative errors."""
    relative = np.array(equations) / np.array(seconds)[:, None]
    size = np.abs(relative).max(axis=0)
    found, _ = nnls(relative / size, np.ones(len(seconds)))
    return [float(cost) for cost in found / size]


def sums_costs() -> tuple[tuple[tuple[float, float], ...], float, float]:
    """Seconds per entry by the number of rows, per column and per row, on one core."""
    levels = sorted({float(rows) for rows, _, _ in PROBES})
    equations, seconds = [], []
    for shape in PROBES:
        X, y = datasets.text_like(*shape)
        per_level = [X.nnz * (shape[0] == level) for level in levels]
        equations.append([*per_level, shape[1], shape[0]])
        seconds.append(least(step_of(X, y, 1), 4, time.process_time))
    *entries, column, row = solved(equations, seconds)
    return tuple(zip(levels, entries, strict=True)), column, row


def with_many_rows(costs: model.Costs) -> model.Costs:
    """The same costs, and those per entry of shards with as many rows as KDDA, from its steps."""
    steps, (rows, columns) = saved("gradient_step_kdda"), datasets.KDDA[:2]
    beside = columns * (costs.column + costs.draw + costs.move) + rows * costs.row
    entry = (steps["threads_1"]["cpu_s"] - beside) / steps["entries"]
    return replace(costs, entries=(*costs.entries, (float(rows), entry)))


def driver_costs(count: int = 2_000_000) -> dict[str, float]:
    """Seconds per draw, per move and per number added, on one core."""
    values, stream = np.zeros(count, np.int64), random_bits(0).generator
    noise, iterate = GridGaussian(2.0**30), ThreadIterate(1, count, 1)
    at = Conditioning.of(np.ones(count), np.zeros(count))
    sums, other = np.ones((1, count + 1), np.int64), np.ones(count, np.int64)

    def add() -> None:
        values[:] += other

    actions = {
        "draw": lambda: noise.add_to(values, stream, 1),
        "move": lambda: iterate.move(sums, at, 1.0, 1.0),
        "add": add,
    }
    return {name: least(act, 7, time.process_time) / count for name, act in actions.items()}


def ray_costs(place: Path) -> tuple[dict[str, float], float]:
    """Seconds of Ray's part, and the memory of an actor that holds next to nothing.

    They come from sums over hardly any rows. A question to A actors takes two messages, A calls,
    and the work of an actor once for every A / cores actors.
    """
    X, y = sp.csr_array(np.ones((400, 20))), np.arange(400) % 2
    at, spent, base, work, copy = Conditioning.of(np.ones(20), np.zeros(20)), {}, 0.0, 0.0, 0.0
    known = {"classes": [0.0, 1.0], "n_rows": 400, "x_bound": 1.0, "random_state": 0}
    model_ = dplasso.PrivateLassoClassifier(1.0, solver="gradient", **known)
    for actors in (1, 4):
        shards = Shards(store(place / f"tiny-{actors}", X, y, actors))
        with opened(shards, Cluster(address="local", actors=actors)) as rows:
            import ray

            task: Any = model_.prepare(rows.facts.described(), None)
            sums = partial(rows.descent(task.plan.descent).sums, at, np.zeros((1, 20)), np.zeros(1))
            for _ in range(3):  # what loops need is in memory then
                sums()
            before = worked(rows)
            spent[actors] = least(sums, 60, time.perf_counter)
            if actors == 1:
                work, base = (worked(rows) - before) / 61, max(one.memory for one in rows.loads())
                put = partial(ray.put, np.ones(2_000_000))
                copy = least(put, 20, time.perf_counter) / (8 * 2_000_000)
    waves = -(-4 // pool.available()) - 1
    call = max((spent[4] - spent[1] - waves * work) / 3, 1e-5)
    latency = max(spent[1] - call - work, 1e-5) / 2
    return {"call": call, "answer": work, "latency": latency, "copy": copy}, base


def round_costs(place: Path) -> model.RoundCosts:
    """Seconds of a round of standard Frank-Wolfe per entry, column and row, on one core."""
    equations, seconds = [], []
    for shape in ROUND_PROBES:
        X, y = datasets.text_like(*shape)
        matrix = ColumnMatrix.of(X)
        equations.append([X.nnz, shape[1], shape[0]])
        seconds.append(standard_round(matrix, y))
    entry, column, row = solved(equations, seconds)
    kept = stored(np.zeros(2, np.int64), place / "log")
    return model.RoundCosts(entry, column, row, entry, kept)


def standard_round(matrix: ColumnMatrix, y: np.ndarray, rounds: int = 6) -> float:
    """Processor seconds of a round."""
    theta = dplasso.calibrate(1.0, walks.DELTA, walks.ROUNDS)
    walks.run_once("noisy_max", matrix, y, theta, 0, 1)
    few, many = (_spent(matrix, y, theta, count) for count in (1, 1 + rounds))
    return (many - few) / rounds


def _spent(matrix: ColumnMatrix, y: np.ndarray, theta: float, rounds: int) -> float:
    start = time.process_time()
    walks.run_once("noisy_max", matrix, y, theta, 0, rounds)
    return time.process_time() - start


def rows_named(name: str) -> tuple[sp.csr_array, np.ndarray] | None:
    if name == "wide":
        X, y = datasets.text_like(40_000, 1_500_000, 5_000_000, seed=1)
        return sp.csr_array(X).astype(np.float64), y
    return rows_of(name)


def predicted(
    shape: model.Shape, actors: int, costs: model.Costs, base: float, together: float
) -> dict[str, float]:
    """What a step on a cluster of this machine should take, in the words of `cluster.run`."""
    parts = model.shares(shape, actors)
    local = model.Cluster.local(actors, pool.available(), together)
    replayed = model.row_step(shape, parts, costs, local)
    work = sum(costs.sums(part) for part in parts)
    memory = model.actor_memory(shape, parts[0], base).own
    return {"cluster": 1e3 * replayed.summed, "work": 1e3 * work, "memory": memory / MIB}


def with_calls_of(costs: model.Costs, rows: list[dict]) -> model.Costs:
    """The same costs, with calls and messages as they were in saved runs, which measured both."""
    calls = {row["actors"]: row["call"] / 1e3 for row in rows if row["set"] == "few_columns"}
    call = (calls[4] - calls[1]) / 3
    return replace(costs, call=call, latency=(calls[1] - call) / 2)


def ratios(name: str, shape: model.Shape, measured: dict, expected: dict) -> dict:
    row = {"run": name, "columns": shape.columns, "actors": measured["actors"]}
    for what in ("cluster", "work", "memory"):
        row[what] = measured[what]
        row[f"{what}_ratio"] = expected[what] / measured[what]
    return row


CHECK_HEADER = (
    f"{'run':<26}{'columns':>11}{'actors':>8}{'step ms':>9}{'ratio':>7}{'work ms':>9}"
    f"{'ratio':>7}{'MiB':>7}{'ratio':>7}"
)


def check_line(row: dict) -> str:
    cells = (
        f"{row['cluster']:>9.1f}{row['cluster_ratio']:>7.2f}{row['work']:>9.1f}"
        f"{row['work_ratio']:>7.2f}{row['memory']:>7.0f}{row['memory_ratio']:>7.2f}"
    )
    return f"{row['run']:<26}{row['columns']:>11,}{row['actors']:>8}{cells}"


def earlier(costs: model.Costs) -> list[dict]:
    """Steps in one process that other scripts have saved, beside the model."""
    found = []

    def compared(name: str, expected: float, measured: float) -> None:
        found.append({"run": name, "measured_ms": measured, "ratio": expected / measured})

    def alone(shape: model.Shape) -> float:
        part = model.Part(shape.rows, shape.columns, shape.entries)
        return 1e3 * (costs.sums(part) + shape.columns * (costs.draw + costs.move))

    for row in saved("gradient_step")["rows"]:
        if row["threads"] == 1:
            compared(f"{row['set']}, 1 thread, cpu", alone(SAVED[row["set"]]), row["step"])
    gain, steps = many_threads()
    for name, (one, many) in steps.items():
        if name != "zipf":
            compared(f"{name}, 16 threads of a Xeon", one / gain, many)
    sets = {row["set"]: row for row in saved("gpu")["sets"]}
    known = [sets["news20_rebuilt"], sets["kdda"]]
    equations = [[float(row["entries"]), float(row["columns"])] for row in known]
    entry, column = solved(equations, [row["card_ms"] for row in known])
    zipf = sets["zipf"]
    expected = entry * zipf["entries"] + column * zipf["columns"]
    compared("zipf, H200", expected, zipf["card_ms"])
    return found


def many_threads() -> tuple[float, dict[str, tuple[float, float]]]:
    """How many times as fast 16 threads are on zipf, and milliseconds of steps on 1 and 16."""
    lines = (RESULTS / "gradient_step_16_cores.txt").read_text().splitlines()
    place = lines[1].split().index("step")
    cells = [line.split() for line in lines[2:]]
    steps = {(row[0], int(row[1])): float(row[place]) for row in cells}
    both = {name: (steps[name, 1], steps[name, 16]) for name, count in steps if count == 16}
    return both["zipf"][0] / both["zipf"][1], both


def forecast(costs: model.Costs, rounds: model.RoundCosts, base: float, gain: float) -> list[dict]:
    facts = {"cores": CORES, "threads": CORES, "efficiency": gain / CORES, "bandwidth": NETWORK}
    table = []
    for actors in ACTORS:
        parts = model.shares(LARGE, actors)
        today = model.row_step(LARGE, parts, costs, model.Cluster.of(actors, **facts))
        late = [3.0 if k == actors // 2 else 1.0 for k in range(actors)]
        slow = model.row_step(
            LARGE, model.shares(LARGE, actors, late), costs, model.Cluster.of(actors, **facts)
        )
        ranges = model.range_step(LARGE, parts, costs, model.Cluster.of(actors, **facts))
        present = model.present_columns(LARGE, actors)
        own = [model.Part(part.rows, present, part.entries) for part in parts]
        sparse = model.range_step(
            *(LARGE, own, costs, model.Cluster.of(actors, **facts)),
            sent=min(12.0 * present, LARGE.vector),
        )
        standard, full = (
            model.column_round(
                *(LARGE, actors, costs, rounds, model.Cluster.of(actors, **facts), drawn)
            )
            for drawn in (100.0, 0.9 * LARGE.rows)
        )
        lazy = model.column_round(
            *(LARGE, actors, costs, rounds, model.Cluster.of(actors, **facts)),
            *(100.0, [100.0] * 3),
        )
        held = model.actor_memory(LARGE, parts[0], base, CORES)
        few = model.actor_memory(model.Shape(*_whole(own[0])), own[0], base, CORES)
        driver = model.driver_memory(LARGE, base, today.waiting)
        work = costs.sums(parts[0]) / gain
        entries_only = parts[0].entries * costs.entry(parts[0].rows) / gain
        table.append(
            {
                "actors": actors,
                "step_s": today.seconds,
                "straggler_s": slow.seconds,
                "work_s": work,
                "entries_s": entries_only,
                "to_driver_gb": today.to_driver / 1e9,
                "actor_gb": today.per_actor / 1e9,
                "actor_gib": held.total / GIB,
                "driver_gib": driver.total / GIB,
                "waiting_gib": today.waiting / GIB,
                "ranges_s": ranges.seconds,
                "ranges_actor_gb": ranges.per_actor / 1e9,
                "present": present,
                "sparse_s": sparse.seconds,
                "sparse_actor_gb": sparse.per_actor / 1e9,
                "sparse_actor_gib": few.total / GIB,
                "standard_s": standard.seconds,
                "full_s": full.seconds,
                "lazy_s": lazy.seconds,
                "round_gib": (
                    base
                    + 4 * LARGE.entries / actors
                    + 16 * LARGE.rows
                    + 40 * LARGE.columns / actors
                )
                / GIB,
            }
        )
    return table


def _whole(part: model.Part) -> tuple[int, int, int]:
    return int(part.rows), int(part.columns), int(part.entries)


FORECAST = (
    ("actors", "actors", ",d"),
    ("step_s", "step s", ".1f"),
    ("straggler_s", "1 slow s", ".1f"),
    ("work_s", "work s", ".2f"),
    ("entries_s", "entries s", ".2f"),
    ("to_driver_gb", "in GB", ",.0f"),
    ("actor_gib", "actor GiB", ".0f"),
    ("driver_gib", "driver GiB", ",.0f"),
    ("ranges_s", "ranges s", ".2f"),
    ("ranges_actor_gb", "GB/actor", ".1f"),
    ("sparse_s", "sparse s", ".2f"),
    ("sparse_actor_gb", "GB/actor", ".2f"),
    ("sparse_actor_gib", "GiB/actor", ".1f"),
    ("standard_s", "FW std s", ".2f"),
    ("full_s", "FW full s", ".1f"),
    ("lazy_s", "FW lazy s", ".4f"),
    ("round_gib", "FW GiB", ".1f"),
)


def forecast_lines(table: list[dict]) -> list[str]:
    lines = ["".join(f"{title:>11}" for _, title, _ in FORECAST)]
    lines += ["".join(f"{row[key]:>11{form}}" for key, _, form in FORECAST) for row in table]
    return lines


def draw(table: list[dict]) -> None:
    figure, (left, right) = pyplot().subplots(1, 2, figsize=(9.5, 4), layout="constrained")
    actors = [row["actors"] for row in table]
    times = {
        "step_s": "driver adds all sums (today)",
        "ranges_s": "actors add ranges of columns",
        "sparse_s": "ranges, only columns with entries",
        "entries_s": "reading the entries",
    }
    marks = ("o-", "s-", "^-", "k:")
    for (key, label), mark in zip(times.items(), marks, strict=True):
        left.plot(actors, [row[key] for row in table], mark, label=label, markersize=4)
    sizes = {
        "driver_gib": "driver (today)",
        "actor_gib": "actor (today)",
        "sparse_actor_gib": "actor, only columns with entries",
    }
    for (key, label), mark, colour in zip(
        sizes.items(), ("o--", "o-", "^-"), ("C3", "C0", "C2"), strict=True
    ):
        right.plot(
            actors, [row[key] for row in table], mark, label=label, color=colour, markersize=4
        )
    for axes, title in ((left, "seconds per step"), (right, "memory of a machine, GiB")):
        axes.set(xscale="log", yscale="log", xlabel="actors, one per machine of 16 cores")
        axes.set_xticks(actors, [str(count) for count in actors])
        axes.minorticks_off()
        axes.set_title(title, loc="left", fontsize=10)
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize=8)
    figure.suptitle("Model: 1e9 rows, 1e9 columns, 1e11 entries, 100 Gbit/s", fontsize=11)
    save_plot(figure, "scale_model")


@dataclass
class Measured:
    """What this script measures: costs, and runs beside the model."""

    machine: str
    costs: model.Costs
    rounds: model.RoundCosts
    base: float  # bytes of an actor without data
    together: float  # how well two cores work together, 1 at best
    checks: list[dict]  # steps on a cluster
    standard: list[dict]  # rounds of standard Frank-Wolfe

    @classmethod
    def now(cls, sets: list[str], actors: list[int], steps: int, place: Path) -> "Measured":
        entries, column, row = sums_costs()
        of_ray, base = ray_costs(place)
        costs = with_many_rows(
            model.Costs(entries=entries, column=column, row=row, **driver_costs(), **of_ray)
        )
        X, y = datasets.text_like(*PROBES[1])
        one, two = (least(step_of(X, y, n), 7, time.perf_counter) for n in (1, 2))
        rounds, together = round_costs(place), min(one / two / 2, 1.0)
        found = cls(machine(), costs, rounds, base, together, [], round_checks(rounds))
        for name in sets:
            rows = rows_named(name)
            if rows is None:
                print(f"{name}: not at hand, left out")
                continue
            shape = model.Shape(*rows[0].shape, rows[0].nnz)
            for count in actors:
                measured = run(name, *rows, count, steps, place)
                expected = predicted(shape, count, costs, base, found.together)
                found.checks.append(ratios(name, shape, measured, expected))
                print(check_line(found.checks[-1]), flush=True)
        return found

    @classmethod
    def before(cls) -> "Measured":
        """That of the last run."""
        known = saved("scale_model")
        return cls(
            known["machine"],
            model.Costs(**known["costs"]),
            model.RoundCosts(**known["round_costs"]),
            MIB * known["base_mib"],
            known["together"],
            [row for row in known["checks"] if "cluster" in row and "(saved)" not in row["run"]],
            [row for row in known["checks"] if "standard round" in row["run"]],
        )


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--sets", type=names, default=list(SETS), help="names, with commas")
    command.add_argument("--actors", type=whole_numbers, default=[1, 2, 4])
    command.add_argument("--steps", type=int, default=20)
    command.add_argument("--known-costs", action="store_true")
    options = command.parse_args()
    allow_seeds()
    if options.known_costs:
        found = Measured.before()
    else:
        with tempfile.TemporaryDirectory() as folder:
            given = (options.sets, options.actors, options.steps)
            found = Measured.now(*given, Path(folder))
    costs, rounds, base = found.costs, found.rounds, found.base
    lines = [
        found.machine,
        "nanoseconds on one core: " + costs_line(costs),
        "Frank-Wolfe, standard round: " + rounds_line(rounds),
        f"two cores: {2 * found.together:.2f} times one; actor without data: {base / MIB:.0f} MiB",
        "\nMeasured on a cluster of this machine, and predicted over measured",
        CHECK_HEADER,
    ]
    earlier_runs, of_others = saved("cluster")["rows"], []
    then = with_calls_of(costs, earlier_runs)
    for saved_row in earlier_runs:
        shape = SAVED[saved_row["set"]]
        expected = predicted(shape, saved_row["actors"], then, base, found.together)
        of_others.append(ratios(f"{saved_row['set']} (saved)", shape, saved_row, expected))
    lines += map(check_line, found.checks + of_others)
    lines.append("\nSteps and rounds in one process, and predicted over measured")
    others = earlier(costs) + found.standard
    lines += [
        f"{row['run']:<40}{row['measured_ms']:>9.1f} ms{row['ratio']:>7.2f}" for row in others
    ]
    gain, _ = many_threads()
    table = forecast(costs, rounds, base, gain)
    lines += [
        f"\nForecast: 1e9 rows, 1e9 columns, 1e11 entries of 0/1; machines of {CORES} cores, "
        f"{gain:.1f} times one; 100 Gbit/s",
        *forecast_lines(table),
    ]
    print("\n".join(lines))
    data = {"machine": found.machine, "costs": vars(costs), "round_costs": vars(rounds)}
    data |= {"base_mib": base / MIB, "together": found.together}
    checks = found.checks + of_others + others
    save("scale_model", "\n".join(lines), data | {"checks": checks, "forecast": table})
    draw(table)


def costs_line(costs: model.Costs) -> str:
    entries = ", ".join(f"{1e9 * cost:.2f} ({rows:,.0f} rows)" for rows, cost in costs.entries)
    return (
        f"entry {entries}; column {1e9 * costs.column:.2f}, row {1e9 * costs.row:.2f}, draw "
        f"{1e9 * costs.draw:.1f}, move {1e9 * costs.move:.2f}, add {1e9 * costs.add:.2f}, byte "
        f"copied {1e9 * costs.copy:.3f}, call {1e9 * costs.call:,.0f}, answer "
        f"{1e9 * costs.answer:,.0f}, message {1e9 * costs.latency:,.0f}"
    )


def rounds_line(rounds: model.RoundCosts) -> str:
    return (
        f"entry {1e9 * rounds.entry:.2f}, column {1e9 * rounds.column:.2f}, row "
        f"{1e9 * rounds.row:.2f}, release stored {1e9 * rounds.stored:,.0f}"
    )


def round_checks(rounds: model.RoundCosts) -> list[dict]:
    """Rounds of standard Frank-Wolfe on data other than those of the costs."""
    found = []
    for name, shape in {"zipf / 5": (100_000, 1_000_000, 3_400_000)}.items():
        X, y = datasets.text_like(*shape, seed=2)
        matrix = ColumnMatrix.of(X)
        entries, (rows, columns) = matrix.entries, matrix.shape
        expected = entries * rounds.entry + columns * rounds.column + rows * rounds.row
        spent = standard_round(matrix, y)
        row = {"run": f"{name}, standard round, cpu", "measured_ms": 1e3 * spent}
        found.append(row | {"ratio": expected / spent})
    return found


if __name__ == "__main__":
    main()
