"""A step of the gradient solver, part by part, next to bare loops over the same data.

    python benchmarks/gradient_step.py [--sets news20_rebuilt,zipf] [--threads 1,2,4,8,16]

The floor is what no step can do without: coefficient and unit read for the row of every entry, a
number added to the row of every entry, and a draw for every column; bare loops, on as many threads.
*weigh* is the length of all rows, computed anew whenever dampings change; *cut* is a cut to 9 of 10
columns. *step* is a whole step of a descent that keeps all columns, */floor* is that over the
floor, and *gain* how often it is as fast as with the first number of threads. *quart.* and *few*
are the mean step of whole fits that keep a quarter of the columns and 100 of them, divided by that
of a fit that keeps all. All times in milliseconds, the best of several; means for whole fits.
*kdda* is the shape of KDDA: the median and least seconds of a step that does not weigh rows, its
processor seconds, and the peak of memory. It is saved by itself, as gradient_step_kdda.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from harness import datasets
from harness.machine import machine, memory_mib, peak_reset
from harness.options import names, parser, whole_numbers
from harness.results import save
from numba import njit

from dplasso.base import threads as pool
from dplasso.base.rooms import KeptRoom
from dplasso.data.unit_rows import UnitRows
from dplasso.losses import LogisticLoss
from dplasso.losses.encoded import encoded
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.mechanisms.random_bits import random_bits
from dplasso.solvers.gradient import plan_descent
from dplasso.solvers.gradient.backend import ThreadBackend
from dplasso.solvers.gradient.conditioning import Mass
from dplasso.solvers.gradient.descent import Descent
from dplasso.solvers.gradient.rows import PrivateRows

SETS = ("news20_rebuilt", "zipf")
FLOOR = ("gather", "scatter", "draws")
PARTS = ("margins", "coefficients", "sums", "noise", "move", "weigh", "cut", "step")
FITS = {"all": None, "quarter": 0.25, "few": 100}
LOSS = LogisticLoss()
clock = time.perf_counter  # or time.process_time, which other processes disturb less


def data_of(name: str) -> tuple[Any, np.ndarray] | None:
    if name == "zipf":
        return datasets.text_like(500_000, 5_000_000, 17_000_000)
    if name == "kdda":
        return datasets.kdda_like()
    return datasets.real(name)


@njit(cache=True, nogil=True)
def gather(indices, numbers, first, last):  # type: ignore[no-untyped-def]
    """The bare sum of the two numbers of every entry's row."""
    total = np.int64(0)
    for p in range(np.uint64(first), np.uint64(last)):
        row = np.uint64(indices[p])
        total += numbers[row, 0] + numbers[row, 1]
    return total


@njit(cache=True, nogil=True)
def scatter(indices, first, last, out):  # type: ignore[no-untyped-def]
    """A bare number added to every entry's row."""
    for p in range(np.uint64(first), np.uint64(last)):
        out[np.uint64(indices[p])] += 3


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    """What an action returns, and the seconds that it took by the clock that was chosen."""
    start = clock()
    result = action()
    return result, clock() - start


def best(action: Callable[[], Any], repeats: int) -> float:
    """The shortest time in milliseconds, after one run that compiles."""
    action()
    return 1e3 * min(timed(action)[1] for _ in range(repeats))


class Bench:
    """One set, held once, and a descent on it with any number of threads."""

    def __init__(self, X: Any, y: np.ndarray, repeats: int) -> None:
        self.rows, self.repeats = UnitRows.of(X, "presence"), repeats
        self.labels = encoded(LOSS, y, self.rows.shape[0])
        self.entries = int(self.rows.indptr[-1])

    def plan(self, kept: float | None) -> Any:
        rows, columns = self.rows.shape
        count = kept if kept is None or kept > 1 else int(kept * columns)
        public = {"n_rows": rows, "n_columns": columns, "n_nonzero": count}
        return plan_descent(LOSS, epsilon=1.0, delta=1.0 / rows**2, **public)

    def floor(self, threads: int) -> dict[str, float]:
        rows, columns = self.rows.shape
        indices, runs = self.rows.indices, pool.even_runs(self.entries, threads)
        numbers, parts = np.ones((rows, 2), np.int64), [np.zeros(rows, np.int64) for _ in runs]
        own = [(indices, *run, part) for run, part in zip(runs, parts, strict=True)]
        noise, stream = GridGaussian(self.plan(None).step_sigma), random_bits(0).generator
        values = np.zeros(columns, np.int64)
        loops = {
            "gather": (gather, [(indices, numbers, *run) for run in runs]),
            "scatter": (scatter, own),
            "draws": (noise.add_to, [(values, stream, threads)]),
        }
        return {
            name: best(lambda loop=loop, calls=calls: pool.run(loop, calls), self.repeats)
            for name, (loop, calls) in loops.items()
        }

    def start(self, plan: Any, threads: int) -> tuple[PrivateRows, Any, Descent, Any, Any]:
        private = PrivateRows(self.rows, self.labels, LOSS, plan, threads, room=KeptRoom())
        backend, stream = ThreadBackend(private, plan, threads), random_bits(0).generator
        mass = backend.release_mass(GridGaussian(plan.mass_sigma), stream)
        walk = Descent(plan, Mass.of(mass, plan), backend.start(), threads)
        return private, backend, walk, GridGaussian(plan.step_sigma), stream

    def parts(self, threads: int) -> dict[str, float]:
        plan = self.plan(None)
        private, backend, walk, noise, stream = self.start(plan, threads)
        for _ in range(3):
            walk.receive(self.released(backend, walk, noise, stream))
        conditioning, weights = walk.conditioning, walk.iterate.weights()
        sums = private.sums(conditioning, weights, walk.intercepts)
        place = (conditioning, weights, walk.intercepts)
        found = {
            "margins": best(lambda: private._add_margins(weights[0]), self.repeats),
            "coefficients": best(lambda: private._coefficients(*place), self.repeats),
            "sums": best(lambda: private.sums(*place), self.repeats),
            "noise": best(lambda: noise.add_to(sums.reshape(-1), stream, threads), self.repeats),
            "weigh": best(lambda: private._weigh(conditioning), self.repeats),
        }
        found["sums"] -= found["coefficients"]
        found["coefficients"] -= found["margins"]

        def move() -> None:
            walk.done = 3
            walk.receive(sums)

        def step() -> None:
            walk.done = 3
            walk.receive(self.released(backend, walk, noise, stream))

        found["move"], found["step"] = best(move, self.repeats), best(step, self.repeats)
        return found | {"cut": self.cut(walk, threads)}

    def cut(self, walk: Descent, threads: int) -> float:
        """A cut of weights that were moved, each time from all columns."""
        plan = self.plan(0.9)
        walk.plan, whole = plan, walk.conditioning
        times = []
        for _ in range(self.repeats + 1):
            walk.conditioning, walk.done = whole, plan.steps
            if walk.iterate._cuts is not None:
                walk.iterate._cuts.left.fill(True)
            walk.iterate.move(np.ones((1, plan.n_columns + 1), np.int64), whole, 1.0, 1.0)
            times.append(timed(walk._cut)[1])
        return 1e3 * min(times[1:])

    def released(self, backend: Any, walk: Descent, noise: Any, stream: Any) -> Any:
        place = (walk.conditioning, walk.iterate, walk.intercepts)
        return backend.release_sums(*place, noise, stream)

    def fit(self, kept: float | None, threads: int, most_steps: int) -> float:
        """Milliseconds a step, over a whole fit of a fixed number of steps."""
        plan = self.plan(kept)
        plan = replaced(plan, min(plan.steps, most_steps))
        _, backend, walk, noise, stream = self.start(plan, threads)
        start = clock()
        while walk.done < plan.steps:
            walk.receive(self.released(backend, walk, noise, stream))
        return 1e3 * (clock() - start) / plan.steps


def replaced(plan: Any, steps: int) -> Any:
    """The same plan with another number of steps."""
    return replace(plan, steps=steps)


def table(name: str, bench: Bench, threads: list[int], fits: int, most_steps: int) -> list[dict]:
    rows = []
    for count in threads:
        found = bench.floor(count) | bench.parts(count)
        found["floor"] = sum(found[part] for part in FLOOR)
        means = {
            fit: statistics.median(bench.fit(kept, count, most_steps) for _ in range(fits))
            for fit, kept in FITS.items()
            if fits
        }
        row = {"set": name, "threads": count, **found}
        row |= {f"fit {fit}": mean for fit, mean in means.items()}
        rows.append(row)
        print(line(row, rows[0]), flush=True)
    return rows


def line(row: dict, first: dict) -> str:
    numbers = "".join(f"{row[part]:>9.1f}" for part in (*FLOOR, "floor", *PARTS))
    ratios = f"{row['step'] / row['floor']:>8.2f}{first['step'] / row['step']:>8.2f}"
    fits = [row.get(f"fit {fit}", np.nan) for fit in FITS]
    ratios += f"{fits[1] / fits[0]:>7.2f}{fits[2] / fits[0]:>7.2f}"
    return f"{row['set']:<16}{row['threads']:>4}{numbers}{ratios}"


def kdda(steps: int, threads: list[int]) -> dict:
    """Seconds and processor seconds of steps on the shape of KDDA, and peaks of memory."""
    X, y = datasets.kdda_like()
    peak_reset()
    start = time.perf_counter()
    bench = Bench(X, y, 1)
    found: dict[str, Any] = {"entries": bench.entries, "steps": steps}
    found |= {"held_s": time.perf_counter() - start, "held_peak_mib": memory_mib("VmHWM")}
    del X, y  # as in a fit, which holds one copy
    return found | {f"threads_{count}": kdda_steps(bench, steps, count) for count in threads}


def kdda_steps(bench: Bench, steps: int, threads: int) -> dict:
    peak_reset()
    plan = replaced(bench.plan(None), steps + 1)
    _, backend, walk, noise, stream = bench.start(plan, threads)
    walk.receive(bench.released(backend, walk, noise, stream))  # compiles, and weighs rows
    spent, worked = [], time.process_time()
    while walk.done <= steps:
        start = time.perf_counter()
        walk.receive(bench.released(backend, walk, noise, stream))
        spent.append(time.perf_counter() - start)
    return {
        "step_s": statistics.median(spent),
        "least_step_s": min(spent),
        "cpu_s": (time.process_time() - worked) / len(spent),
        "peak_mib": memory_mib("VmHWM"),
    }


def kdda_lines(found: dict) -> list[str]:
    """The text of `kdda`."""
    lines = [
        f"kdda: {found['entries']:,} entries, held in {found['held_s']:.0f} s, "
        f"peak {found['held_peak_mib'] / 1024:.1f} GiB, the generated data included",
        f"{'threads':>8}{'step s':>9}{'least s':>9}{'cpu s':>9}{'peak GiB':>10}",
    ]
    for name, row in found.items():
        if name.startswith("threads_"):
            times = "".join(f"{row[part]:>9.2f}" for part in ("step_s", "least_step_s", "cpu_s"))
            lines.append(
                f"{name.removeprefix('threads_'):>8}{times}{row['peak_mib'] / 1024:>10.1f}"
            )
    return lines


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--sets", type=names, default=list(SETS), help="names, with commas")
    command.add_argument("--threads", type=whole_numbers, default=[1, 2, 4, 8, 16])
    command.add_argument("--repeats", type=int, default=7)
    command.add_argument("--fits", type=int, default=1, help="whole fits of each kind")
    command.add_argument("--most-steps", type=int, default=60)
    command.add_argument("--cpu", action="store_true", help="processor time; for one thread")
    options = command.parse_args()
    if options.cpu:
        global clock
        clock, options.threads = time.process_time, [1]
    threads = [count for count in options.threads if count <= pool.available()]
    header = "".join(f"{part[:8]:>9}" for part in (*FLOOR, "floor", *PARTS))
    header = f"{'set':<16}{'thr':>4}{header}{'/floor':>8}{'gain':>8}{'quart.':>7}{'few':>7}"
    spent = "processor time" if options.cpu else "elapsed time"
    lines, rows = [f"{machine()}; {spent}", header], []
    print("\n".join(lines), flush=True)
    for name in options.sets:
        if name == "kdda":
            made = kdda(8, threads)
            text = "\n".join([machine(), *kdda_lines(made)])
            print(text, flush=True)
            save("gradient_step_kdda", text, {"machine": machine()} | made)
            continue
        found = data_of(name)
        if found is None:
            print(f"{name}: not at hand")
            continue
        made = table(
            name, Bench(*found, options.repeats), threads, options.fits, options.most_steps
        )
        lines += [line(row, made[0]) for row in made]
        rows += made
    if rows:
        save("gradient_step", "\n".join(lines), {"machine": machine(), "rows": rows})


if __name__ == "__main__":
    main()
