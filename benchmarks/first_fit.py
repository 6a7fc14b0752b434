"""Processor time of a new process to its first small fit, with loops compiled and without.

    python benchmarks/first_fit.py [--runs 3]

The fit is the README's, of fewer notes and words. Without compiled loops, each run has an empty
folder for them. Figures are medians of seconds of all threads together; a machine that does nothing
else takes as long on the clock, since one thread does nearly all of it.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from harness.machine import machine
from harness.options import parser
from harness.results import save

FIT = """
from dplasso import PrivateLassoClassifier
from dplasso.datasets import make_notes

notes, labels = make_notes(1_000, 5_000)
PrivateLassoClassifier(epsilon=1.0, classes=[0, 1], n_rows=1_000, x_bound=1.0).fit(notes, labels)
"""


def fit(loops: Path) -> float:
    """Processor seconds of a process that fits, with its compiled loops in this folder."""
    before = _spent()
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(loops)}
    subprocess.run([sys.executable, "-c", FIT], check=True, env=environment)
    return _spent() - before


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--runs", type=int, default=3)
    runs = options.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        new = statistics.median(fit(Path(folder, f"loops{run}")) for run in range(runs))
        compiled = statistics.median(fit(Path(folder, "loops0")) for _ in range(runs))
    save("first_fit", data={"machine": machine(), "runs": runs, "compiled": compiled, "new": new})
    print(f"{machine()}: compiled {compiled:.2f} s, not compiled {new:.1f} s")


if __name__ == "__main__":
    main()
