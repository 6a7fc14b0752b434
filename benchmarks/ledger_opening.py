"""How long it takes to open a large ledger: the first time, and once a checkpoint is kept.

    python benchmarks/ledger_opening.py [--entries 100000] [--store PATH_OR_URL]

The entries are written past the ledger's own safeguards, all at once; the events of all of them
differ. Checkpoints are kept in a temporary folder. The first charge of a new process is timed too:
it keeps others waiting only while it reads what is new.
"""

import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from harness.options import parser

from dplasso.ledger import Budget, Charge, fixed_point
from dplasso.ledger.entry import new_id, now
from dplasso.privacy.events import BoundedRange, Composed, Event, PureDP, Repeated


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--entries", type=int, default=100_000)
    command.add_argument("--store", help="a SQLite file or a postgresql:// URL, not yet a ledger")
    options = command.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        store = options.store or str(Path(folder) / "budget.sqlite")
        fill(Budget(1.0, 1e-6, store), options.entries)
        print(f"{options.entries:,} entries in {Budget._at(store, None).shown}")
        timed("first opening", lambda: Budget.open(store))
        timed("second opening", lambda: Budget.open(store))
        timed("first charge of a new process", lambda: charge(Budget._at(store, None)))
        timed("whole verification", lambda: Budget.open(store).verify())


def timed(what: str, work: Callable[[], Any]) -> None:
    began = time.perf_counter()
    work()
    print(f"{what:<32}{time.perf_counter() - began:8.2f} s", flush=True)


def charge(budget: Budget) -> None:
    budget.charge(event(0), delta=1e-6, neighboring="add_remove", label="one more")


def event(number: int) -> Event:
    return Composed((PureDP(1e-5 + 1e-12 * number), Repeated(BoundedRange(1e-6), 64)))


def entries(budget: Budget, count: int) -> Iterator[Charge]:
    head: Any = budget._genesis()
    for k in range(1, count + 1):
        cost = fixed_point.price(event(k))
        name, total = "PrivateLassoClassifier", head.total + cost
        head = Charge(
            k, new_id(), now(), name, "add_remove", 1e-6, event(k), cost, total, head.hash
        )
        yield head


def fill(budget: Budget, count: int) -> None:
    """Write entries at once; the triggers look at one entry at a time, and are put back."""
    rows = [(entry.sequence, entry.id, entry.line) for entry in entries(budget, count)]
    address = budget._store.address
    if address.startswith("postgres"):
        _fill_postgres(address, rows)
        return
    with sqlite3.connect(address) as connection:
        found = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        triggers = connection.execute(found).fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        connection.executemany("INSERT INTO entries VALUES (?, ?, ?)", rows)
        for _, statement in triggers:
            connection.execute(statement)
    connection.close()


def _fill_postgres(address: str, rows: list[tuple[int, str, str]]) -> None:
    import psycopg

    url, _, name = address.partition("#")
    with psycopg.connect(url) as connection:
        connection.execute("ALTER TABLE dplasso_budget DISABLE TRIGGER USER")
        with connection.cursor().copy("COPY dplasso_budget FROM STDIN") as copy:
            for row in rows:
                copy.write_row((name or "budget", *row))
        connection.execute("ALTER TABLE dplasso_budget ENABLE TRIGGER USER")


if __name__ == "__main__":
    main()
