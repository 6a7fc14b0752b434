"""From svmlight text to a saved model: time next to reading alone, and memory within a bound.

    python benchmarks/end_to_end.py [--runs 5] [--memory 100]

*Time*: ``dplasso train`` on news20_rebuilt, from the start of the process to its end, against a
process that does nothing but read the file; the two take turns, after one run each that is not
counted. Both run in an environment that has dplasso and what it needs, as users have: where pandas
is installed, too, scikit-learn imports it, which takes a fifth of a second. *Memory*: ``dplasso
convert --memory M`` on made-up text four times as large as M, and ``dplasso train`` from the store;
peaks (VmHWM) of the processes over what they held before, with libraries loaded and loops compiled
on a small file. Training maps the store: its peak counts pages
of the file that the system can drop at will, so that the growth of memory that is not of files
(RssAnon, looked at every 5 ms) is told, too.
The models from the store and from the text, with the same seed, are compared bit for bit.
"""

import argparse
import functools
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import venv
from pathlib import Path

import numpy as np
from harness import ROOT, datasets
from harness.files import FOLDER, SET, cached, dump
from harness.machine import MIB, machine, memory_mib, peak_reset, timed
from harness.options import parser
from harness.results import save
from harness.walks import RADIUS, ROUNDS

from dplasso import load

COMMAND = str(Path(sys.executable).with_name("dplasso"))
READ = """
import sys
from dplasso.reading import read_rows
read_rows(sys.argv[1], n_features=int(sys.argv[2]))
"""
TARGET = 2.0  # times as long as reading
TIMES_MEMORY = 4
COLUMNS, PER_ROW = 1_000_000, 40


def options(columns: int | None) -> list[str]:
    chosen = ["--max-iter", str(ROUNDS), "--radius", str(RADIUS), "--epsilon", "1"]
    shape = [] if columns is None else ["--features", str(columns), "--one-based"]
    return [*chosen, *shape, "--classes", "0,1", "--quiet"]


def wall_clock(command: list[str]) -> float:
    run = functools.partial(subprocess.run, command, check=True, stderr=subprocess.DEVNULL)
    return timed(run)[1]


def installed(folder: Path) -> Path:
    """The programs of a fresh environment with dplasso in it."""
    venv.create(folder / "environment", with_pip=True)
    programs = folder / "environment" / "bin"
    subprocess.run([programs / "pip", "install", "--quiet", f"{ROOT}[cli,tables]"], check=True)
    return programs


def compare(runs: int, folder: Path) -> dict:
    programs = installed(folder)
    path = cached(FOLDER / f"{SET}.svm", dump)
    columns = datasets.real(SET)[0].shape[1]
    commands = {
        "train": [
            *(str(programs / "dplasso"), "train", str(path)),
            *("-o", str(folder / "model"), "--force", *options(columns)),
        ],
        "read": [str(programs / "python"), "-c", READ, str(path), str(columns)],
    }
    times = {name: [] for name in commands}
    for _ in range(runs + 1):
        for name, command in commands.items():
            times[name].append(wall_clock(command))
    return {name: statistics.median(seconds[1:]) for name, seconds in times.items()}


def write_rows(path: Path, size: int) -> None:
    """Rows of ones and other values until the file has its size; 25 columns tell of the label."""
    rng = np.random.default_rng(0)
    effects = np.zeros(COLUMNS)
    effects[:25] = rng.choice([-2.0, 2.0], 25)
    with open(path, "w") as file:
        while file.tell() < size:
            steps = rng.random((10_000, PER_ROW)) * np.log(COLUMNS)
            columns = np.sort(np.floor(np.exp(steps)).astype(np.int64) - 1, axis=1)
            labels = rng.random(10_000) < 1 / (1 + np.exp(-effects[columns].sum(axis=1)))
            for label, row in zip(labels.tolist(), columns, strict=True):
                distinct = np.unique(row)
                values = rng.integers(1, 1000, len(distinct))
                pairs = zip((distinct + 1).tolist(), values.tolist(), strict=True)
                file.write(f"{int(label)} {' '.join(f'{j}:0.{v:03}' for j, v in pairs)}\n")


def measured(arguments: list[str], small: list[str]) -> None:
    """In a process of its own: print memory before and at the peak of a command, in MiB."""
    from dplasso.cli.app import main

    def run(command: list[str]) -> None:
        sys.argv = ["dplasso", *command]
        try:
            main()
        except SystemExit as end:
            if end.code:
                raise

    run(small)
    own, ended = [memory_mib("RssAnon")], threading.Event()

    def look() -> None:
        while not ended.wait(0.005):
            own.append(memory_mib("RssAnon"))

    looking = threading.Thread(target=look)
    peak_reset()
    before = memory_mib("VmRSS")
    looking.start()
    run(arguments)
    ended.set()
    looking.join()
    print(json.dumps({"before": before, "peak": memory_mib("VmHWM"), "own": max(own) - own[0]}))


def memory_of(*command: str, small: Path) -> dict:
    """Memory of a command, measured after the same one on a small file."""
    with tempfile.TemporaryDirectory() as folder:
        warm_up = [*command]
        warm_up[1], warm_up[3] = str(small), str(Path(folder) / "out")
        given = [json.dumps(command), json.dumps(warm_up)]
        done = subprocess.run(
            [sys.executable, __file__, "--measured", *given],
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    found = json.loads(done.stdout)
    return {**found, "growth": found["peak"] - found["before"]}


def in_bounds(mib: int, folder: Path) -> dict:
    size = TIMES_MEMORY * mib * MIB
    make = functools.partial(write_rows, size=size)
    text = str(cached(FOLDER / f"made-up-{size >> 20}.svm", make))
    small = folder / "small.svm"
    write_rows(small, 1)
    store, little = str(folder / "store"), str(folder / "small_store")
    shape = ["--features", str(COLUMNS), "--one-based", "--memory", f"{mib}M", "--quiet"]
    subprocess.run([COMMAND, "convert", str(small), "-o", little, *shape], check=True)
    fit = [*options(COLUMNS), "--seed", "1"]
    from_store = [*options(None), "--seed", "1"]  # which knows its columns
    found = {
        "file_mib": size / MIB,
        "memory_mib": mib,
        "convert": memory_of("convert", text, "-o", store, *shape, small=small),
        "train from store": memory_of(
            "train", store, "-o", str(folder / "a"), *from_store, small=Path(little)
        ),
        "train from text": memory_of("train", text, "-o", str(folder / "b"), *fit, small=small),
    }
    ours, theirs = load(folder / "a"), load(folder / "b")
    same = np.array_equal(ours.vertices_, theirs.vertices_)
    same &= ours.fitted_.weights.data.tobytes() == theirs.fitted_.weights.data.tobytes()
    same &= ours.intercept_.tobytes() == theirs.intercept_.tobytes()
    return {**found, "same_model": bool(same)}


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--runs", type=int, default=5)
    command.add_argument("--memory", type=int, default=100, help="MiB")
    command.add_argument("--measured", nargs=2, type=json.loads, help=argparse.SUPPRESS)
    given = command.parse_args()
    if given.measured:
        measured(*given.measured)
        return
    print(machine())
    saved: dict = {"machine": machine(), "runs": given.runs}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if (datasets.folder() / SET / "X.npz").exists():
            seconds = saved["seconds"] = compare(given.runs, folder)
            ratio = saved["times_reading"] = seconds["train"] / seconds["read"]
            print(f"\n{SET}, {ROUNDS:,} rounds, radius {RADIUS:g}; medians of {given.runs}")
            print(f"{'reading alone, s':<24}{seconds['read']:>8.2f}")
            print(f"{'dplasso train, s':<24}{seconds['train']:>8.2f}")
            print(f"{'times reading':<24}{ratio:>8.2f}  (target: at most {TARGET:g})")
        else:
            print(f"{SET}: not at hand, left out")
        found = saved["memory"] = in_bounds(given.memory, folder)
    print(f"\n{found['file_mib']:.0f} MiB of text, {found['memory_mib']} MiB allowed; in MiB")
    print(f"{'':<24}{'before':>8}{'peak':>8}{'growth':>8}{'not of files':>14}")
    for what in ("convert", "train from store", "train from text"):
        row = found[what]
        print(
            f"{what:<24}{row['before']:>8.0f}{row['peak']:>8.0f}{row['growth']:>8.0f}"
            f"{row['own']:>14.0f}"
        )
    print(f"{'same model':<24}{found['same_model']!s:>8}")
    save("end_to_end", data=saved)


if __name__ == "__main__":
    main()
