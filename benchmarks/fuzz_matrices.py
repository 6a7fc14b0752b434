"""Tampered matrices, column stores and .npz files at every door that takes one.

    python benchmarks/fuzz_matrices.py [--minutes 10] [--seed 0]

scipy matrices of every format with their arrays, shapes and flags altered; stores with entries,
sizes and facts altered, under digests that fit; archives with bytes, headers and arrays altered.
Cases run in processes of their own. None may end by a signal, work for more than 10 seconds or take
more than 1 GiB for a few kilobytes of input. Each is refused by a ValueError without entries, or
gives what an independent reading of the same arrays gives. A finding names its module and seed:

    python benchmarks/fuzz_matrices.py --case hostile_matrices 17
"""

import json
import sys
import threading
import time

from harness.fuzzing.command import RESULT
from harness.options import parser

import hostile_runs  # the tests try fewer

MODULES = ("hostile_matrices", "hostile_files")
BATCH = 4000  # cases of one process


def fuzz(module: str, seed: int, until: float, done: dict[str, int], wrong: list[str]) -> None:
    """Try cases of one kind until the time is up."""
    first = start = seed << 32
    while time.monotonic() < until:
        found, first = hostile_runs.findings(module, first, first + BATCH, until)
        wrong += found
        done[module] = first - start


def main() -> int:
    command = parser(__doc__)
    command.add_argument("--minutes", type=float, default=10.0)
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--case", nargs=2, metavar=("MODULE", "SEED"))
    options = command.parse_args()
    wrong: list[str] = []
    if options.case is not None:
        module, seed = options.case
        wrong, _ = hostile_runs.findings(module, int(seed), int(seed) + 1)
    else:
        done: dict[str, int] = {}
        until = time.monotonic() + 60.0 * options.minutes
        tries = [
            threading.Thread(target=fuzz, args=(module, options.seed, until, done, wrong))
            for module in MODULES
        ]
        for one in tries:
            one.start()
        for one in tries:
            one.join()
        for module, count in done.items():
            findings = sum(line.startswith(module) for line in wrong)
            about = {"door": module, "cases": count, "findings": findings}
            print(RESULT + json.dumps(about | {"memory": 0, "slowest": 0.0}))
    for line in wrong[:20]:
        module, seed = line.split(":")[0].split()
        again = f"python benchmarks/fuzz_matrices.py --case {module} {seed}"
        print("FOUND " + line.replace("\n", " ") + f"; again: {again}")
    print(f"dealt with wrongly: {len(wrong):,}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
