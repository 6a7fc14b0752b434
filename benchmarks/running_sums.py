"""Error of private running sums by window, measured on released sums, for every construction.

    python benchmarks/running_sums.py [--windows 4,16,64,256,1024,4096] [--coordinates 2000]

Rows are 0, so that what is released is noise; errors are roots of mean squares over coordinates, in
units of the sensitivity, at epsilon 1 and delta 1e-6 (Gamma: epsilon 1 alone, in as few coordinates
as the column says, as its error grows with their number). *worst* is the largest over the steps
looked at: for windows of up to 256 steps all of the second and third window, for longer ones the
step that the matrix has worst and 24 others. *by the matrix* is what it should be. "endless" is
told no length and protects all rows; its errors are those of its epoch of as many steps. Prints a
table and saves it beside a plot under benchmarks/results.
"""

import math
import time
from typing import NamedTuple

import numpy as np
from harness.machine import machine
from harness.options import parser, whole_numbers
from harness.results import pyplot, save, save_plot

from dplasso.streams import RunningSum, running_sum

EPSILON, DELTA, FEW = 1.0, 1e-6, 10
PUBLISHED = "window tree, published noise"
# Name in table and plot, settings, colour and line.
CASES = {
    PUBLISHED: ({"construction": "window_tree", "calibration": "paper"}, "#9a3b26", "-"),
    "window tree": ({"construction": "window_tree"}, "#d08c32", "-"),
    "tree, root kept": ({"construction": "tree"}, "#2f7f5f", "-"),
    "sliding band": ({"construction": "band"}, "#1f5fa8", "-"),
    "fading buffers": ({"construction": "buffered"}, "#7a4fa3", "-"),
    "endless, trees": ({"construction": "tree", "endless": True}, "#2f7f5f", "--"),
    "endless, bands": ({"construction": "band", "endless": True}, "#1f5fa8", "--"),
    "Gamma, root kept": ({"construction": "tree", "noise": "gamma"}, "#6b6b6b", "-"),
}


class Errors(NamedTuple):
    worst: float
    mean: float


def made(window: int, coordinates: int, settings: dict) -> RunningSum:
    settings = dict(settings)
    budget = {"epsilon": EPSILON}
    if settings.get("noise") != "gamma":
        budget["delta"] = DELTA
    if not settings.pop("endless", False):
        settings["window"] = window
    return running_sum(coordinates, sensitivity=1.0, seed=window, **budget, **settings)


def steps_looked_at(window: int, settings: dict, rng: np.random.Generator) -> list[int]:
    if settings.get("endless"):
        last = 2 * window  # an epoch of as many steps as the window ends before it
        return [last - 2, last - 1] if window > 256 else list(range(window, last))
    if window <= 256 and settings.get("noise") != "gamma":
        return list(range(window + 1, 3 * window + 1))
    if settings["construction"] in ("band", "buffered"):
        return list(range(2 * window, 2 * window + 24))  # one by one: all have the same law
    return sorted({2 * window - 1, *rng.integers(window + 1, 3 * window + 1, 24).tolist()})


def measured(sums: RunningSum, steps: list[int]) -> Errors:
    squares = []
    for step in steps:
        sums.position = step - 1
        released = sums.add(np.zeros(sums.settings.dimension))
        squares.append(float(np.mean(released**2)))
    return Errors(math.sqrt(max(squares)), math.sqrt(sum(squares) / len(squares)))


def by_the_matrix(window: int, settings: dict, steps: list[int]) -> Errors:
    """Where the matrix is not too large."""
    if max(steps) > 3 * 1024 or settings.get("noise") == "gamma":
        return Errors(math.nan, math.nan)
    matrix = made(window, 1, settings).noise.noise_matrix(max(steps))
    squares = np.sum(matrix[np.array(steps) - 1] ** 2, axis=1)
    return Errors(math.sqrt(squares.max()), math.sqrt(squares.mean()))


def milliseconds(sums: RunningSum, last: int) -> float:
    """Of a step, once there is a window to look back on."""
    sums.position = last
    sums.release()
    vector, start = np.zeros(sums.settings.dimension), time.perf_counter()
    for _ in range(16):
        sums.add(vector)
    return (time.perf_counter() - start) / 16 * 1e3


def study(window: int, coordinates: int) -> list[dict]:
    rows, rng = [], np.random.default_rng(window)
    for name, (settings, *_) in CASES.items():
        size = FEW if settings.get("noise") == "gamma" else coordinates
        steps = steps_looked_at(window, settings, rng)
        sums = made(window, size, settings)
        found, wanted = measured(sums, steps), by_the_matrix(window, settings, steps)
        row = {"window": window, "construction": name, "coordinates": size}
        row |= {"worst": found.worst, "mean": found.mean, "worst_by_matrix": wanted.worst}
        row |= {"worst_over_sensitivity_by_mu": found.worst * sums.privacy.get("mu", math.nan)}
        row |= {"milliseconds": milliseconds(sums, 2 * window)}
        rows.append(row)
    published = rows[0]["worst"]
    for row in rows:
        row["published_over_this"] = published / row["worst"]
        print(line(row), flush=True)
    return rows


HEAD = (
    f"{'window':>7} {'construction':<29} {'worst':>8} {'mean':>8} {'by the matrix':>14} "
    f"{'published over this':>20} {'coordinates':>12} {'ms a step':>10}"
)


def line(row: dict) -> str:
    matrix = f"{row['worst_by_matrix']:.2f}" if row["worst_by_matrix"] > 0 else "-"
    # Another guarantee in another dimension is no ratio.
    ratio = "-" if row["coordinates"] == FEW else f"{row['published_over_this']:.1f}"
    return (
        f"{row['window']:>7} {row['construction']:<29} {row['worst']:>8.2f} {row['mean']:>8.2f} "
        f"{matrix:>14} {ratio:>20} {row['coordinates']:>12} {row['milliseconds']:>10.2f}"
    )


def draw(rows: list[dict]) -> None:
    plt = pyplot()
    figure, axes = plt.subplots(figsize=(8.6, 5.0), layout="constrained")
    for name, (_, colour, style) in CASES.items():
        mine = [row for row in rows if row["construction"] == name]
        xs, ys = [row["window"] for row in mine], [row["worst"] for row in mine]
        label = f"{name} ({FEW} coordinates, delta = 0)" if "Gamma" in name else name
        axes.plot(xs, ys, style, color=colour, marker="o", markersize=4, label=label)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("window, in steps (endless: length of the epoch)")
    axes.set_ylabel("worst error of a released sum, in sensitivities")
    axes.set_title(f"Private running sums at epsilon {EPSILON:g}, delta {DELTA:g}", loc="left")
    axes.grid(True, which="major", color="#e4e4e4", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8.5, loc="center left", bbox_to_anchor=(1.01, 0.5))
    save_plot(figure, "running_sums")


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--windows", type=whole_numbers, default="4,16,64,256,1024,4096")
    command.add_argument("--coordinates", type=int, default=2000)
    options = command.parse_args()
    print(HEAD)
    rows = [row for window in options.windows for row in study(window, options.coordinates)]
    note = (
        f"epsilon {EPSILON}, delta {DELTA}, sensitivity 1; errors are measured on released sums of "
        f"rows that are 0; {machine()}."
    )
    finite = [{k: v if v == v else None for k, v in row.items()} for row in rows]
    save("running_sums", "\n".join([HEAD, *map(line, rows), "", note]), finite)
    draw(rows)


if __name__ == "__main__":
    main()
