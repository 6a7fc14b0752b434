"""Reading an svmlight file, plain and gzipped, against scikit-learn.

    python benchmarks/reading.py [--runs 3]

The file is news20_rebuilt as scikit-learn's dump_svmlight_file writes it, kept under the system's
temporary folder. Times are wall-clock, medians of runs that take turns, from a file in the page
cache to matrix and labels in memory. Peak memory is that of a fresh process each, over what it held
before reading (libraries loaded and loops compiled), and over the size of its own result:
scikit-learn's has wider indices.
"""

import argparse
import functools
import gzip
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from harness import datasets
from harness.files import FOLDER, SET, cached, dump, same
from harness.machine import MIB, machine, memory_mib, peak_reset, timed
from harness.options import parser
from harness.results import save
from sklearn.datasets import load_svmlight_file

from dplasso.reading import read_rows


def read_by_dplasso(path: str):
    rows = read_rows(path)
    return rows.X, rows.y


READERS: dict[str, Callable] = {"dplasso": read_by_dplasso, "scikit-learn": load_svmlight_file}


def compress(plain: Path, path: Path) -> None:
    with open(plain, "rb") as source, gzip.open(path, "wb", compresslevel=6) as target:
        shutil.copyfileobj(source, target, MIB)


def size_mib(X, y) -> float:
    return sum(part.nbytes for part in (X.data, X.indices, X.indptr, y)) / MIB


def peak(reader: str, path: Path) -> None:
    """Print peak memory over that before reading, and the size of the result, in MiB."""
    read = READERS[reader]
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / ("small" + path.suffix)
        text = b"1 1:0.5\n" * 1000
        small.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
        read(str(small))
    peak_reset()
    before = memory_mib("VmRSS")
    X, y = read(str(path))
    print(json.dumps({"peak_mib": memory_mib("VmHWM") - before, "result_mib": size_mib(X, y)}))


def peak_of(reader: str, path: Path) -> dict:
    command = [sys.executable, __file__, "--peak", reader, str(path)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def compare(path: Path, runs: int) -> list[dict]:
    times: dict[str, list[float]] = {reader: [] for reader in READERS}
    read_by_dplasso(path)  # compiles, and brings the file into the page cache
    for _ in range(runs):
        results = {}
        for reader, read in READERS.items():
            results[reader], seconds = timed(lambda read=read: read(str(path)))
            times[reader].append(seconds)
        if not same(*results.values()):
            raise SystemExit(f"{path.name}: the readers disagree")
        del results
    medians = {reader: statistics.median(times[reader]) for reader in READERS}
    return [
        {
            "file": path.name,
            "file_mib": path.stat().st_size / MIB,
            "reader": reader,
            "seconds": medians[reader],
            "times_faster": medians["scikit-learn"] / medians[reader],
            **peak_of(reader, path),
        }
        for reader in READERS
    ]


HEADER = (
    f"{'file':<24}{'MiB':>7}  {'reader':<14}{'seconds':>9}{'faster':>9}"
    f"{'peak MiB':>10}{'result MiB':>12}{'peak/result':>13}"
)


def line(row: dict) -> str:
    return (
        f"{row['file']:<24}{row['file_mib']:>7.0f}  {row['reader']:<14}{row['seconds']:>9.2f}"
        f"{row['times_faster']:>8.1f}x{row['peak_mib']:>10.0f}{row['result_mib']:>12.0f}"
        f"{row['peak_mib'] / row['result_mib']:>13.2f}"
    )


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--runs", type=int, default=3)
    command.add_argument("--peak", nargs=2, metavar=("READER", "FILE"), help=argparse.SUPPRESS)
    options = command.parse_args()
    if options.peak:
        peak(options.peak[0], Path(options.peak[1]))
        return
    if not (datasets.folder() / SET / "X.npz").exists():
        print(f"{SET}: not at hand, left out")
        return
    plain = cached(FOLDER / f"{SET}.svm", dump)
    packed = cached(FOLDER / f"{SET}.svm.gz", functools.partial(compress, plain))
    print(machine())
    print(HEADER)
    rows = []
    for path in (plain, packed):
        for row in compare(path, options.runs):
            rows.append(row)
            print(line(row), flush=True)
    facts = {"machine": machine(), "set": SET, "runs": options.runs, "rows": rows}
    save("reading", data=facts)


if __name__ == "__main__":
    main()
