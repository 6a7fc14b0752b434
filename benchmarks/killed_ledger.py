"""A process that spends from a ledger, killed 300 times: no release is without its charge.

    python benchmarks/killed_ledger.py [--kills 300] [--seed 0]

A release is a line that the process writes, safely, once its charge has returned. Moments are drawn
at random. After all kills every release must have an entry of its own in the ledger, the ledger
must be sound, and one more charge must succeed. The same with ledgers being created.
"""

import sys
import tempfile
import time
from pathlib import Path

from harness.options import parser

import spending  # the tests kill in the same way
from dplasso.ledger import Budget
from dplasso.privacy.events import ZeroConcentrated
from postgres_server import Server


def report(what: str, told: str, store: str, folder: str, seconds: float) -> None:
    budget = Budget.open(store)
    entries, released = budget.entries(), spending.releases(folder)
    if len(set(released)) != len(released) or set(released) - {entry.hash for entry in entries}:
        sys.exit(f"{what}: a release without its charge")
    budget.charge(
        ZeroConcentrated(spending.LITTLE), delta=1e-6, neighboring="add_remove", label="last"
    )
    print(
        f"{what}: {told.strip()} in {seconds:.0f} s; {len(entries)} charges, "
        f"{len(released)} releases, all of them charged",
        flush=True,
    )


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--kills", type=int, default=300)
    command.add_argument("--seed", type=int, default=0)
    options = command.parse_args()
    server = Server()
    try:
        stores = {"SQLite": None}
        if server.programs is not None:
            server.start()
            stores["PostgreSQL"] = server.url("killed")
        for what, store in stores.items():
            with tempfile.TemporaryDirectory() as folder:
                store, start = store or f"{folder}/budget.sqlite", time.perf_counter()
                told = spending.run("killed", store, folder, options.kills, options.seed)
                report(what, told, store, folder, time.perf_counter() - start)
        with tempfile.TemporaryDirectory() as folder:
            told = spending.run("created", f"{folder}/made", folder, options.kills, 1)
            made = [path for path in Path(folder).iterdir() if "journal" not in path.name]
            for path in made:
                Budget(**spending.CAP, store=path).verify()
            print(f"creating: {told.strip()}; {len(made)} ledgers, every one usable")
    finally:
        server.close()


if __name__ == "__main__":
    main()
