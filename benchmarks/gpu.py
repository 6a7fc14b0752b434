"""Fits on a card: the same bits as on threads, and the time of a step.

    python benchmarks/gpu.py [--parts same,news20_rebuilt,zipf,table,kdda] [--rounds]
                             [--results FOLDER]

*same*: the hard cases, noise, and whole descents and tables of several kinds, on the card and on
threads; every released number, weight and intercept must be equal.
*table*: 5,000,000 dense rows of 50 numbers. *card* and *threads* are from step to step; *floor* is
the time to read the rows twice, and *fit* is from the cells to the weights at epsilon 1.
*news20_rebuilt*, *zipf* (500,000 x 5,000,000) and *kdda* (8,407,752 x 20,216,830, generated, four
columns nearly full): milliseconds of a whole step, noise included, on the card, on all threads and
on two. *card* is from step to step, *kernels* what the card itself works for a step. *floor* is the
time to read both copies of the entries, and the vectors that a step needs, at the speed of a copy
within the card. *whole fit* is from the matrix in memory to the weights at epsilon 1.
With ``--rounds``, also standard Frank-Wolfe (``selection="noisy_max"``): a round, and 4,000.
A card is needed, and the extra ``gpu``.
"""

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from harness import datasets
from harness.machine import machine, timed
from harness.options import names, parser
from harness.results import RESULTS, save
from harness.walks import DELTA, RADIUS, ROUNDS
from numba import njit

import dplasso
from dplasso import frank_wolfe
from dplasso.base import threads as pool
from dplasso.base.extras import MissingExtraError
from dplasso.data import ColumnMatrix
from dplasso.data.unit_rows import UnitRows
from dplasso.kernels import grid_gaussian
from dplasso.kernels.cuda.card import Card, NoCardError
from dplasso.kernels.cuda.hard_cases import PAIRS, check
from dplasso.kernels.probe import OPERATIONS
from dplasso.losses import LogisticLoss, SoftmaxLoss, SquaredLoss
from dplasso.losses.encoded import EncodedLabels, encoded, row_weights
from dplasso.losses.smoothed_hinge import SmoothedHingeLoss
from dplasso.mechanisms.card_noise import CardNoise
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.mechanisms.random_bits import random_bits
from dplasso.solvers.gradient import GradientPlan, gradient_descent, plan_descent
from dplasso.solvers.gradient.backend import Backend, ThreadBackend
from dplasso.solvers.gradient.card import CardBackend
from dplasso.solvers.gradient.card_conditioning import CardConditioning
from dplasso.solvers.gradient.card_rows import CardRows
from dplasso.solvers.gradient.conditioning import Conditioning, Mass
from dplasso.solvers.gradient.descent import Descent
from dplasso.solvers.gradient.rows import PrivateRows
from dplasso.solvers.gradient.solve import descend
from dplasso.solvers.table import fit_table, plan_table
from dplasso.solvers.table.card_table import CardTable
from dplasso.solvers.table.plan import CELL
from dplasso.solvers.table.rows import PrivateTable
from dplasso.solvers.table.solve import ask

KDDA = (8_407_752, 20_216_830, 298_000_000)
PARTS = ("same", "news20_rebuilt", "zipf", "table", "kdda")
TABLE = (5_000_000, 50)
STEPS = 60  # timed on the card


def problems() -> dict[str, tuple]:
    """Six kinds of problems and a few more: loss, rows, labels, scaling, numbers of the plan."""
    rng = np.random.default_rng(0)
    rows, columns = 3000, 6000
    X = sp.random_array((rows, columns), density=0.01, rng=rng, format="lil")
    X[:, 3], X[5, :], X[7, 40:] = 1.0, 0.0, 1.5
    X = X.tocsr()
    y, people = rng.integers(0, 2, rows), rng.random(rows)
    dense = rng.normal(size=(20_000, 50))
    return {
        "0/1": (LogisticLoss(), X, y, "presence", {}),
        "real values": (LogisticLoss(), X, y, "unit", {}),
        "softmax": (SoftmaxLoss(list(range(5))), X, rng.integers(0, 5, rows), "presence", {}),
        "squared": (SquaredLoss(2.0), X, rng.normal(size=rows), "unit", {}),
        "few nonzeros": (LogisticLoss(), X, y, "presence", {"n_nonzero": 300}),
        "dense": (LogisticLoss(), dense, rng.integers(0, 2, len(dense)), "unit", {}),
        "hinge": (SmoothedHingeLoss(), X, y, "unit", {}),
        "people": (LogisticLoss(), X, EncodedLabels(y * 1.0, people), "unit", {}),
    }


def same_bits(card: Card) -> list[str]:
    """Compare the card with threads; returns what differs."""
    wrong = []
    check(card)
    print(f"{PAIRS * OPERATIONS:,} hard cases: the same bits", flush=True)
    for sigma in (2.0**12, 12345.678, 2.0**31 * 1.999, 2.0**48):
        size = 5 * grid_gaussian.BLOCK + 77
        expected, mechanism = np.arange(size), GridGaussian(sigma)
        mechanism.add_to(expected, random_bits(3).generator)
        secret = random_bits(3).generator.bytes(32)
        key, news = card.put(np.frombuffer(secret, "<u8")), card.zeros(2, np.uint64)
        values, noise = card.put(np.arange(size)), CardNoise(card, mechanism.cells, size)
        noise.draw(size, key, news)
        noise.add_to(values, values, news)
        noise.settle(values, values, key, secret, card.get(news))
        apart = int(np.sum(card.get(values) != expected))
        print(f"noise of sigma {sigma:.6g}: {apart} of {size} differ", flush=True)
        wrong += [f"noise of {sigma}"] * bool(apart)
    for name, (loss, X, y, scaling, more) in problems().items():
        rows = UnitRows.of(X, scaling)
        facts = (rows, encoded(loss, y, rows.shape[0]), loss)
        plan = plan_descent(
            loss, epsilon=1.0, delta=1e-6, n_rows=rows.shape[0], n_columns=rows.shape[1], **more
        )
        expected = run(on_threads(facts, plan, row_weights(y), pool.available()), plan)
        for room in (None, 1 << 14):
            private = CardRows(card, *facts, plan, row_weights(y), room)
            found = run(CardBackend(card, private, plan), plan)
            apart = [int(np.sum(found.mass != expected.mass))]
            pairs = zip(found.releases, expected.releases, strict=True)
            apart += [int(np.sum(mine != other)) for mine, other in pairs]
            difference = sp.csr_array(found.weights) - sp.csr_array(expected.weights)
            apart.append(difference.count_nonzero())
            apart.append(int(np.sum(found.intercepts != expected.intercepts)))
            held = "held" if room is None else "streamed"
            told = "the same bits" if not any(apart) else f"DIFFERS: {apart}"
            print(f"{name}, {held}, {plan.steps} steps: {told}", flush=True)
            if any(apart):
                wrong.append(f"{name}, {held}: {stages(card, facts, plan, row_weights(y), room)}")
    return wrong


def same_tables(card: Card) -> list[str]:
    """Compare fits to tables on the card with those on threads."""
    rng = np.random.default_rng(2)
    n_rows, columns = 30_000, 40
    cells = rng.integers(0, CELL + 1, (n_rows, columns), dtype=np.int32)
    weights = np.floor(rng.random(n_rows) * 2.0**40) / 2.0**40
    tables: dict[str, tuple] = {
        "two classes": (LogisticLoss(), rng.integers(0, 2, n_rows) * 1.0, None),
        "numbers": (SquaredLoss(2.0), rng.normal(size=n_rows), None),
        "five classes": (SoftmaxLoss(list(range(5))), rng.integers(0, 5, n_rows) * 1.0, None),
        "people": (LogisticLoss(), rng.integers(0, 2, n_rows) * 1.0, weights),
    }
    wrong = []
    for name, (loss, y, own) in tables.items():
        public = {"n_rows": n_rows, "n_columns": columns}
        plan = plan_table(loss, epsilon=1.0, delta=1e-9, **public)
        facts = (cells, y, loss, plan, pool.available(), None, own)
        expected: list[np.ndarray] = []
        ask(PrivateTable(*facts), loss, plan, random_bits(1), pool.available(), expected)
        for room in (None, 1 << 20):
            found: list[np.ndarray] = []
            there = CardTable(card, *facts, room)
            ask(there, loss, plan, random_bits(1), pool.available(), found)
            pairs = zip(found, expected, strict=True)
            apart = sum(int(np.sum(mine != other)) for mine, other in pairs)
            held = "held" if room is None else "streamed"
            told = "the same bits" if not apart else f"DIFFERS: {apart}"
            print(f"table of {name}, {held}, {len(found)} releases: {told}", flush=True)
            wrong += [f"table of {name}, {held}"] * bool(apart)
    return wrong


def run_table(speed: float, threads: list[int]) -> dict:
    """Seconds of steps and of a fit to a large table, on the card and on threads."""
    rng, (n, columns) = np.random.default_rng(3), TABLE
    cells = rng.integers(0, CELL + 1, TABLE, dtype=np.int32)
    margins = cells[:, :5].sum(axis=1) / CELL - 2.5
    y = (margins + rng.logistic(size=n) > 0.0).astype(np.float64)
    loss = LogisticLoss()
    plan = plan_table(loss, epsilon=1.0, delta=n**-2.0, n_rows=n, n_columns=columns)

    def step_ms(steps: int, **how: Any) -> tuple[float, float]:
        """Median milliseconds from one step to the next, and seconds of the fit."""
        at: list[float] = []
        given = {"loss": loss, "plan": replace(plan, steps=steps), "generator": 0}
        noted = {"progress": lambda _: at.append(time.perf_counter())}
        _, spent = timed(lambda: fit_table(cells, y, **given, **noted, **how))
        return 1e3 * float(np.median(np.diff(at))), spent

    step_ms(3, device="cuda")
    row: dict[str, Any] = {"rows": n, "columns": columns, "steps": plan.steps}
    row["card_ms"], row["fit_seconds"] = step_ms(plan.steps, device="cuda")
    row["floor_ms"] = 1e3 * 2 * 4 * cells.size / speed
    for count in threads:
        row[f"threads_{count}_ms"], _ = step_ms(4, n_threads=count)
    row["fit_on_threads_seconds"] = step_ms(plan.steps, n_threads=threads[0])[1]
    print(row, flush=True)
    return row


def same_selections(card: Card) -> list[str]:
    """Compare standard Frank-Wolfe on the card with that on threads."""
    wrong = []
    for name, (loss, X, y, _, _) in problems().items():
        if name in ("few nonzeros", "people"):
            continue
        given = {"loss": loss, "radius": 20.0, "rounds": 100, "theta": 0.05, "x_bound": 10.0}
        given |= {"selection": "noisy_max", "generator": 5}
        one, other = (frank_wolfe(X, y, **given, device=device) for device in ("cuda", "cpu"))
        apart = int(np.sum((one.columns != other.columns) | (one.signs != other.signs)))
        apart += (one.weights != other.weights).nnz
        told = "the same bits" if not apart else f"DIFFERS: {apart}"
        print(f"{name}, 100 rounds of Frank-Wolfe: {told}", flush=True)
        wrong += [f"{name}, Frank-Wolfe"] * bool(apart)
    return wrong


def stages(card: Card, facts: tuple, plan: GradientPlan, weights: Any, room: Any) -> str:
    """Which of the sums differ: of masses, and of gradients at some place."""
    rng = np.random.default_rng(1)
    columns = facts[0].shape[1]
    private = PrivateRows(*facts, plan, 1, weights)
    mine = CardRows(card, *facts, plan, weights, room)
    out = card.empty(columns, np.int64)
    mine.mass(out)
    told = [f"mass {int(np.sum(card.get(out) != private.mass()))}"]
    conditioning = Conditioning.of(rng.uniform(0.1, 3.0, columns), np.full(columns, 1e-3))
    for scale in (0.0, 1.0):
        at, intercepts = (
            scale * rng.normal(size=(plan.outputs, columns)),
            rng.normal(size=plan.outputs),
        )
        sums = card.empty((plan.outputs, columns + 1), np.int64)
        place = CardConditioning.on(card, conditioning, plan.outputs)
        mine.weigh(place)
        on_card = card.put(at)
        centres = mine.centres(place, on_card)
        mine.sums(place, on_card, card.put(intercepts), centres, sums)
        expected = private.sums(conditioning, at, intercepts)
        lengths = int(np.sum(card.get(mine._lengths) != private._lengths))
        told.append(f"lengths {lengths}, sums {int(np.sum(card.get(sums) != expected))}")
    return "; ".join(told)


def on_threads(facts: tuple, plan: GradientPlan, weights: Any, threads: int) -> Backend:
    return ThreadBackend(PrivateRows(*facts, plan, threads, weights), plan, threads)


def run(backend: Backend, plan: GradientPlan) -> Any:
    return descend(backend, plan, random_bits(1), keep_releases=True)


class TimedCard(Card):
    """A card that notes how long each kernel takes."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[tuple[str, Any, Any]] = []

    def launch(self, kernel: str, work: int, *arguments: Any, **kinds: Any) -> None:
        first, last = (self._cupy.cuda.Event() for _ in range(2))
        first.record(self._stream)
        super().launch(kernel, work, *arguments, **kinds)
        last.record(self._stream)
        self.events.append((kernel, first, last))

    def recorded(self, launches: Callable[[], None]) -> Callable[[], None]:
        return launches

    def beside(self, launches: Callable[[], None]) -> None:
        launches()

    def join(self, started: None) -> None:
        pass

    def milliseconds(self) -> dict[str, list[float]]:
        self._stream.synchronize()
        found = defaultdict(list)
        for kernel, first, last in self.events:
            found[kernel].append(self._cupy.cuda.get_elapsed_time(first, last))
        return found


def copy_speed(card: Card) -> float:
    """Bytes per second that a copy within the card reads and writes."""
    a, b = (card.zeros(1 << 28, np.float64) for _ in range(2))
    cuda = card._cupy.cuda
    best = np.inf
    for _ in range(5):
        first, last = cuda.Event(), cuda.Event()
        first.record(card._stream)
        b.data.copy_from_device_async(a.data, a.nbytes, card._stream)
        last.record(card._stream)
        last.synchronize()
        best = min(best, cuda.get_elapsed_time(first, last))
    return 2 * a.nbytes / (1e-3 * best)


def steps_of(backend: Backend, plan: GradientPlan, count: int) -> list[float]:
    """Seconds of steps, each from its sums to the weights, after one that is not counted."""
    stream = random_bits(1).generator
    mass = backend.release_mass(GridGaussian(plan.mass_sigma), stream)
    walk = Descent(plan, Mass.of(mass, plan), backend.start())
    noise, seconds = GridGaussian(plan.step_sigma), []
    for _ in range(count + 2):
        start = time.perf_counter()
        place = (walk.conditioning, walk.iterate, walk.intercepts)
        walk.receive(backend.release_sums(*place, noise, stream))
        seconds.append(time.perf_counter() - start)
    return seconds[2:]


def load(name: str) -> tuple[Any, np.ndarray] | None:
    if name == "zipf":
        return datasets.text_like(500_000, 5_000_000, 17_000_000)
    return kdda() if name == "kdda" else datasets.real(name)


def kdda() -> tuple[sp.csc_array, np.ndarray]:
    """The shape of KDDA, made on all cores in seconds: a row in each of a column's strata."""
    rows, columns, entries = KDDA
    rng = np.random.default_rng(0)
    lengths = rng.permutation(datasets._zipf_lengths(rows, columns, entries, 4))
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    indices = np.empty(indptr[-1], np.int32)
    runs = pool.balanced_runs(indptr, 4 * pool.available())
    pool.run(_fill, [(indptr, indices, rows, *run) for run in runs])
    X = sp.csc_array((rows, columns), dtype=np.int8)
    X.indptr, X.indices, X.data = indptr.astype(np.int32), indices, np.ones(len(indices), np.int8)
    return X, rng.integers(0, 2, rows).astype(np.float64)


@njit(nogil=True)
def _fill(indptr, indices, rows, first, last):  # type: ignore[no-untyped-def]
    state = np.uint64(first * 2654435761 + 12345)
    for column in range(first, last):
        start, wanted = indptr[column], indptr[column + 1] - indptr[column]
        for k in range(wanted):
            low, high = k * rows // wanted, (k + 1) * rows // wanted
            state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
            indices[start + k] = low + np.int64(state >> np.uint64(33)) % (high - low)


def run_set(name: str, card: Card, speed: float, threads: list[int], rounds: bool) -> dict | None:
    data, made = timed(lambda: load(name))
    if data is None:
        print(f"{name}: not at hand, left out")
        return None
    X, y = data
    rows, held = timed(lambda: UnitRows.of(X))
    (n, columns), entries = rows.shape, len(rows.indices)
    print(f"\n{name}: {n:,} x {columns:,}, {entries:,} entries; read or made in {made:.1f} s, "
          f"scaled in {held:.1f} s", flush=True)  # fmt: skip
    loss = LogisticLoss()
    public = {"delta": n**-2.0, "n_rows": n, "n_columns": columns}
    plan = plan_descent(loss, epsilon=1.0, **public)
    # Ordinary steps: those that re-weight columns are in the whole fit.
    steady = replace(plan, reweighted=False, steps=10**6, held_back=1.0)
    facts, memory = (rows, y, loss), card._cupy.get_default_memory_pool()
    memory.free_all_blocks()
    private, put = timed(lambda: CardRows(card, *facts, steady))
    backend = CardBackend(card, private, steady)
    seconds = steps_of(backend, steady, STEPS)
    kernels = graph_time(card, backend)
    peak = memory.total_bytes()
    del private, backend
    memory.free_all_blocks()
    parts = breakdown(facts, steady)
    memory.free_all_blocks()
    bytes_read = entries * 8 + 24 * columns + 32 * n
    row = {
        "set": name,
        "rows": n,
        "columns": columns,
        "entries": entries,
        "card_ms": 1e3 * float(np.median(seconds)),
        "worst_ms": 1e3 * max(seconds),
        "kernels_ms": kernels,
        "floor_ms": 1e3 * bytes_read / speed,
        "put_seconds": put,
        "peak_card_gib": peak / 2**30,
        "kernel_ms": parts,
    }
    print(f"card {row['card_ms']:.3f} ms a step (worst {row['worst_ms']:.3f}), kernels "
          f"{kernels:.3f}, floor {row['floor_ms']:.3f}; put in {put:.2f} s; "
          f"peak {row['peak_card_gib']:.2f} GiB", flush=True)  # fmt: skip
    for kernel, spent in sorted(parts.items(), key=lambda item: -item[1])[:10]:
        print(f"    {kernel:<24}{spent:>9.4f} ms", flush=True)
    gradient_descent(rows, y, loss=loss, plan=replace(plan, steps=2), generator=0, device="cuda")
    for label, few in (("whole fit", None), ("whole fit, a quarter", columns // 4)):
        again = plan_descent(loss, epsilon=1.0, **public, n_nonzero=few)
        # Fresh: from the matrix as it was given.
        _, spent = timed(
            lambda again=again: gradient_descent(
                X, y, loss=loss, plan=again, generator=0, device="cuda"
            )
        )
        memory.free_all_blocks()
        row[f"{label}_seconds"], row[f"{label}_steps"] = spent, again.steps
        print(f"{label}: {spent:.2f} s, {again.steps} steps", flush=True)
    if rounds:
        row |= rounds_of(name, X, y, threads)
        memory.free_all_blocks()
    for count in threads:
        few = 1 if name == "kdda" else 5
        spent = steps_of(on_threads(facts, steady, None, count), steady, few)
        row[f"threads_{count}_ms"] = 1e3 * float(np.median(spent))
        print(f"{count} threads: {row[f'threads_{count}_ms']:.1f} ms a step, "
              f"{row[f'threads_{count}_ms'] / row['card_ms']:.0f} times", flush=True)  # fmt: skip
    return row


def rounds_of(name: str, X: Any, y: np.ndarray, threads: list[int]) -> dict[str, float]:
    """Standard Frank-Wolfe: milliseconds of a round, and seconds of a whole fit."""
    matrix, loss = ColumnMatrix.of(X), LogisticLoss()
    given = {"loss": loss, "radius": RADIUS, "selection": "noisy_max", "generator": 0}
    given["theta"] = dplasso.calibrate(1.0, DELTA, ROUNDS)

    def seconds(rounds: int, device: str, count: int | None = None) -> float:
        how = {"rounds": rounds, "device": device, "n_threads": count}
        return timed(lambda: frank_wolfe(matrix, y, **given, **how))[1]

    seconds(2, "cuda")
    little, much = seconds(10, "cuda"), seconds(110, "cuda")
    found = {"round_ms": 10.0 * (much - little), "rounds_fit_seconds": seconds(ROUNDS, "cuda")}
    print(f"Frank-Wolfe on the card: {found['round_ms']:.3f} ms a round, {ROUNDS:,} rounds in "
          f"{found['rounds_fit_seconds']:.1f} s", flush=True)  # fmt: skip
    for count in threads:
        seconds(1, "cpu", count)
        more = 2 if name == "kdda" else 10
        spent = (seconds(1 + more, "cpu", count) - seconds(1, "cpu", count)) / more
        found[f"round_{count}_ms"] = 1e3 * spent
        print(f"    {count} threads: {1e3 * spent:.1f} ms a round", flush=True)
    return found


def graph_time(card: Card, backend: CardBackend) -> float:
    """Milliseconds that the card takes for the launches of a step, one after the other."""
    cuda = card._cupy.cuda
    if backend._step is None:
        return float("nan")
    first, last = cuda.Event(), cuda.Event()
    first.record(card._stream)
    for _ in range(20):
        backend._step()
    last.record(card._stream)
    last.synchronize()
    return cuda.get_elapsed_time(first, last) / 20


def breakdown(facts: tuple, plan: GradientPlan) -> dict[str, float]:
    """Milliseconds of a step by kernel."""
    card = TimedCard()
    backend = CardBackend(card, CardRows(card, *facts, plan), plan)
    steps_of(backend, plan, 1)
    card.events.clear()
    steps_of(backend, plan, 8)
    found = card.milliseconds()
    usual = max(len(spent) for spent in found.values())
    return {
        kernel: float(np.median(spent)) * round(len(spent) / usual)
        for kernel, spent in found.items()
        if len(spent) > usual / 2
    }


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--parts", type=names, default=list(PARTS), help="names, with commas")
    command.add_argument("--rounds", action="store_true", help="standard Frank-Wolfe, too")
    command.add_argument("--results", type=Path, default=RESULTS)
    command.add_argument("--name", default="gpu")
    options = command.parse_args()
    try:
        card = Card()
    except (MissingExtraError, NoCardError) as error:
        print(f"left out: {error}")
        return
    speed = copy_speed(card)
    about = f"{card.name}, copies within it at {speed / 1e12:.2f} TB/s; {machine()}"
    print(about, flush=True)
    found: dict[str, Any] = {"card": card.name, "copy_tb_per_s": speed / 1e12, "machine": machine()}
    if "same" in options.parts:
        found["differs"] = same_bits(card) + same_tables(card)
        if options.rounds:
            found["differs"] += same_selections(card)
        save(options.name, data=found, folder=options.results)
    threads = sorted({2, pool.available()}, reverse=True)
    found["sets"] = []
    for name in options.parts:
        row = None
        if name == "table":
            found["table"] = run_table(speed, threads)
            save(options.name, data=found, folder=options.results)
        elif name != "same":
            row = run_set(name, card, speed, threads, options.rounds)
        if row is not None:
            found["sets"].append(row)
            save(options.name, data=found, folder=options.results)
    lines = [about, ""]
    if "differs" in found:
        lines += [f"differs from threads: {', '.join(found['differs']) or 'nothing'}", ""]
    lines += table(found["sets"], threads)
    if "table" in found:
        lines += ["", *of_table(found["table"], threads)]
    print("\n" + "\n".join(lines))
    save(options.name, "\n".join(lines), found, folder=options.results)


def table(rows: list[dict], threads: list[int]) -> list[str]:
    """The figures as lines of text."""
    rivals = "".join(f"{f'{count} threads':>12}{'times':>7}" for count in threads)
    lines = [
        "Milliseconds of a step of gradient descent; seconds of whole fits, of all columns and of",
        "a quarter of them; and the most that the card held.",
        f"{'set':<16}{'card':>8}{'kernels':>9}{'floor':>8}{rivals}{'steps':>7}{'fit s':>8}"
        f"{'quarter':>9}{'GiB':>7}",
    ]
    for row in rows:
        told = f"{row['set']:<16}{row['card_ms']:>8.3f}{row['kernels_ms']:>9.3f}"
        told += f"{row['floor_ms']:>8.3f}{beside(row, 'threads', 'card_ms', threads)}"
        told += f"{row['whole fit_steps']:>7,}{row['whole fit_seconds']:>8.2f}"
        lines.append(
            told + f"{row['whole fit, a quarter_seconds']:>9.2f}{row['peak_card_gib']:>7.2f}"
        )
    timed_rounds = [row for row in rows if "round_ms" in row]
    if timed_rounds:
        lines += [
            "",
            "Milliseconds of a round of standard Frank-Wolfe, and seconds of 4,000 rounds.",
        ]
        lines.append(f"{'set':<16}{'card':>8}{rivals}{'fit s':>8}")
    for row in timed_rounds:
        rest = f"{row['rounds_fit_seconds']:>8.2f}"
        ratios = beside(row, "round", "round_ms", threads)
        lines.append(f"{row['set']:<16}{row['round_ms']:>8.3f}{ratios}{rest}")
    return lines


def of_table(row: dict, threads: list[int]) -> list[str]:
    """The figures of the large table as lines of text."""
    return [
        f"A table of {row['rows']:,} x {row['columns']}: milliseconds of a step, and seconds of "
        f"{row['steps']} steps from cells to weights.",
        f"card {row['card_ms']:.2f}, floor {row['floor_ms']:.2f}; "
        + "; ".join(
            f"{count} threads {row[f'threads_{count}_ms']:.0f}, "
            f"{row[f'threads_{count}_ms'] / row['card_ms']:.0f} times"
            for count in threads
        )
        + f"; fit {row['fit_seconds']:.1f} s on the card, {row['fit_on_threads_seconds']:.1f} s on "
        f"{threads[0]} threads",
    ]


def beside(row: dict, name: str, own: str, threads: list[int]) -> str:
    """Milliseconds on threads, and how many times those of the card that is."""
    spent = [row[f"{name}_{count}_ms"] for count in threads]
    return "".join(f"{ms:>12.1f}{ms / row[own]:>7.0f}" for ms in spent)


if __name__ == "__main__":
    main()
