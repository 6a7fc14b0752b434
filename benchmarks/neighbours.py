"""Pairs of neighbouring data sets, and how much of what is charged for a row they use.

    python benchmarks/neighbours.py [--pairs 100000] [--seed 0] [--jobs 1]

Each pair differs in one row, which is added or replaced: of any loss, row map, kind of number, kind
of matrix and size, so that the row often decides how all the others are stored. The sums behind
every release are computed for both and compared in whole numbers and fractions: noise, held fixed,
is the same for both and cancels. A pair that differs by more than what is charged ends the run with
an error that names it. The table, how close pairs came, is written to
benchmarks/results/neighbours.txt.
"""

import time
import warnings

from harness.machine import machine
from harness.options import parser
from harness.pool import one_core_each
from harness.results import save

from dplasso import __version__
from neighbour_pairs import CHECKS, share_of  # the tests try a few of the same

PART = 2_000  # pairs that a process tries at a time


def shares_of(seed: int, first: int, last: int) -> list[tuple[str, float]]:
    """Try the pairs of these numbers, check after check."""
    warnings.simplefilter("error")
    checks = list(CHECKS)
    asked = [(checks[number % len(checks)], number) for number in range(first, last)]
    return [(check, share_of(check, seed, number)) for check, number in asked]


def table(shares: dict[str, list[float]], seed: int, seconds: float) -> str:
    width = max(map(len, CHECKS))
    pairs = sum(map(len, shares.values()))
    lines = [
        f"{pairs:,} pairs of neighbours, dplasso {__version__}, seed {seed}: "
        "none differs by more than is charged",
        f"{machine()}; {seconds:.0f} s",
        f"{'what is compared':<{width}}  {'pairs':>7}  {'largest share of the charge':>27}  "
        f"{'pairs above 0.9':>15}",
    ]
    for check, found in shares.items():
        close = sum(share > 0.9 for share in found)
        lines.append(f"{check:<{width}}  {len(found):>7,}  {max(found):>27.15f}  {close:>15,}")
    return "\n".join(lines)


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--pairs", type=int, default=100_000)
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--jobs", type=int, default=1)
    options = command.parse_args()
    start, done = time.monotonic(), 0
    shares: dict[str, list[float]] = {check: [] for check in CHECKS}
    ends = [*range(0, options.pairs, PART), options.pairs]
    with one_core_each(options.jobs) as pool:
        for part in pool.map(shares_of, [options.seed] * len(ends), ends, ends[1:]):
            for check, share in part:
                shares[check].append(share)
            done += len(part)
            print(f"{done:,} pairs, {time.monotonic() - start:.0f} s", flush=True)
    found = table(shares, options.seed, time.monotonic() - start)
    print(found)
    save("neighbours", found)


if __name__ == "__main__":
    main()
