"""Pairs of neighbouring data sets, and how much of what is charged for a row they use.

    python benchmarks/neighbours.py [--pairs 100000] [--seed 0]

Each pair differs in one row, which is added or replaced: of any loss, row map, kind of number, kind
of matrix and size, so that the row often decides how all the others are stored. The sums behind
every release are computed for both and compared in whole numbers and fractions: noise, held fixed,
is the same for both and cancels. A pair that differs by more than what is charged ends the run with
an error that names it. The table, how close pairs came, is written to
benchmarks/results/neighbours.txt.
"""

import time
import warnings
from collections import defaultdict

from harness.machine import machine
from harness.options import parser
from harness.results import save

from dplasso import __version__
from neighbour_pairs import CHECKS, share_of  # the tests try a few of the same


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
    options = command.parse_args()
    warnings.simplefilter("error")
    checks, start = list(CHECKS), time.monotonic()
    shares: dict[str, list[float]] = defaultdict(list)
    for number in range(options.pairs):
        check = checks[number % len(checks)]
        shares[check].append(share_of(check, options.seed, number))
        if (number + 1) % 10_000 == 0:
            print(f"{number + 1:,} pairs, {time.monotonic() - start:.0f} s", flush=True)
    found = table(shares, options.seed, time.monotonic() - start)
    print(found)
    save("neighbours", found)


if __name__ == "__main__":
    main()
