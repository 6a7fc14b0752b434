"""Malformed inputs to the ledger: clear errors, nothing corrupted.

    python benchmarks/fuzz_ledger.py [--minutes 1] [--seed 0]

Lines with characters or values altered; events altered; charges with odd arguments; files of a
ledger with bytes altered or cut off. Each must be refused by an error meant for people, or be taken
for exactly what it is, and a refusal must leave the ledger as it was.
"""

from pathlib import Path

from harness.fuzzing import Door, Tried, fuzz

import broken_ledgers  # the tests try fewer
from dplasso.ledger import Budget


def lines_of(_: Path) -> list[str]:
    return broken_ledgers.sound_lines(6)


def line(lines: list[str], seed: int) -> Tried:
    assert broken_ledgers.check_line(lines, seed)
    return Tried(max(map(len, lines)))


def event(_: object, seed: int) -> Tried:
    assert broken_ledgers.check_event(seed)
    return Tried(100)


def charge(folder: Path, seed: int) -> Tried:
    # A new ledger now and then: entries that were accepted are read by every check.
    assert broken_ledgers.check_charge(Budget(1.0, 1e-6, folder / f"charged-{seed // 100}"), seed)
    return Tried(100)


def ledger(folder: Path) -> tuple[Path, bytes]:
    """A file with some entries, and its bytes."""
    path = folder / "budget.sqlite"
    for _ in range(8):
        Budget(1.0, 1e-6, path).charge(
            broken_ledgers.EVENT, delta=1e-6, neighboring="add_remove", label="a release"
        )
    return path, path.read_bytes()


def file(held: tuple[Path, bytes], seed: int) -> Tried:
    path, before = held
    assert broken_ledgers.check_file(path, path.with_name("copy.sqlite"), seed)
    assert path.read_bytes() == before, "the ledger beside the damaged copies was altered"
    return Tried(len(before))


DOORS = [
    Door("ledger lines", lines_of, line),
    Door("ledger events", lambda folder: folder, event),
    Door("ledger charges", lambda folder: folder, charge),
    Door("ledger files", ledger, file),
]


if __name__ == "__main__":
    fuzz(__doc__, DOORS)
