"""A ledger as a file of JSON lines: to read, to file, and to check the ledger against later."""

import contextlib
import os
from collections.abc import Iterable

from dplasso.ledger.entry import LONGEST_LINE, Entry
from dplasso.ledger.errors import LedgerError

_Path = str | os.PathLike[str]


def write_lines(path: _Path, entries: Iterable[Entry]) -> None:
    """Write a new file that only its owner may read; an existing file is never overwritten."""
    name = os.fsdecode(path)
    try:
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise LedgerError(
            f"{name} exists, and an export is not overwritten; choose another name"
        ) from None
    try:
        with open(descriptor, "w", encoding="ascii", newline="\n") as file:
            file.writelines(f"{entry.line}\n" for entry in entries)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def read_lines(path: _Path) -> list[str]:
    """The lines of an export; their content is checked elsewhere."""
    lines: list[str] = []
    with open(path, "rb") as file:
        while line := file.readline(LONGEST_LINE + 2):
            if not line.endswith(b"\n") or not line.isascii():
                raise LedgerError(
                    f"{os.fsdecode(path)}, line {len(lines) + 1}: it was cut off or damaged"
                )
            lines.append(line[:-1].decode("ascii"))
    return lines
