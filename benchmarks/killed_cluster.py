"""Fits on two nodes lose actors, their driver and a node: same model, one charge, no process left.

    python benchmarks/killed_cluster.py [--times 5]

What happens to each of them is in `tests/helpers/lossy_fit.py`; moments and actors differ.
"""

import subprocess
import sys
import time

from harness import HELPERS
from harness.options import parser


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--times", type=int, default=5)
    for k in range(command.parse_args().times):
        start = time.monotonic()
        print(f"fit {k + 1}", flush=True)
        subprocess.run([sys.executable, f"{HELPERS}/lossy_fit.py"], check=True)
        print(f"{time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
