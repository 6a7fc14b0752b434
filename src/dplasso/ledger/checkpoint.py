"""Checkpoints: how much of a ledger this user has verified before, so that it is not walked again.

A checkpoint is a number of lines and the SHA-256 of their texts. It is kept in the user's own
cache, never next to the ledger: a user who can write the ledger must not be able to say what was
verified. A file or folder that another user owns or may write is not used. A failure to read or
write a checkpoint only costs time: the ledger is then walked from its start.

Formal guarantees
-----------------
Lines are skipped by a walk only if, to the byte, they are lines that the same code has walked from
the first to the last for the same user. Whatever was altered, added, left out or
moved among them changes their digest, and is found by the same walk as without a checkpoint.
"""

import contextlib
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from dplasso.ledger import chain
from dplasso.ledger.chain import Position
from dplasso.ledger.entry import Genesis, parse

_FORMAT = "dplasso ledger checkpoint 1"
_WORTH_KEEPING = 1000  # lines, which take a tenth of a second to walk
_LONGEST = 4096  # bytes of a checkpoint
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def walked(lines: list[str]) -> Position:
    """Walk all lines of a ledger except those that were verified before and have not changed."""
    begun = chain.begun(lines)
    known = lines_known(begun.genesis, lines)
    start = _after(begun, lines[:known]) if known else begun
    position = chain.advanced(start, lines[known or 1 :])
    keep(begun.genesis, lines, known)
    return position


def _after(begun: Position, lines: Sequence[str]) -> Position:
    """The position after lines that were verified before. The last that raised the budget counts:
    of all lines, only those that state a budget have a cap."""
    stated = next((line for line in reversed(lines) if '"cap":"' in line), lines[0])
    return begun.after(parse(stated)).after(parse(lines[-1]))


def lines_known(genesis: Genesis, lines: Sequence[object]) -> int:
    """How many of the first lines were verified before; 0 if that is not known."""
    found = _read(genesis)
    if found is None:
        return 0
    count, digest = found
    if not 0 < count <= len(lines) or _digest(lines[:count]) != digest:
        return 0
    return count


def keep(genesis: Genesis, lines: Sequence[object], known: int) -> None:
    """Save that all these lines were verified, if they are many more than were known."""
    if len(lines) - known < _WORTH_KEEPING:
        return
    with contextlib.suppress(OSError):
        made = {
            "format": _FORMAT,
            "rules": _rules(),
            "lines": len(lines),
            "digest": _digest(lines),
        }
        folder = _folder()
        for made_here in (*reversed(folder.parents), folder):
            made_here.mkdir(mode=0o700, exist_ok=True)  # whatever the umask leaves open
        if not _is_own(os.lstat(folder), stat.S_ISDIR):
            return
        path = folder / f"{genesis.hash}.json"
        draft = folder / f"{genesis.hash}.{secrets.token_hex(8)}"
        try:
            with open(_opened(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "w") as file:
                json.dump(made, file)
            os.replace(draft, path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise


def _read(genesis: Genesis) -> tuple[int, str] | None:
    try:
        folder = _folder()
        if not _is_own(os.lstat(folder), stat.S_ISDIR):
            return None
        with open(_opened(folder / f"{genesis.hash}.json", os.O_RDONLY), "rb") as file:
            if not _is_own(os.fstat(file.fileno()), stat.S_ISREG):
                return None
            found, rules = json.loads(file.read(_LONGEST)), _rules()
    except (OSError, ValueError, RecursionError):
        return None
    match found:
        case {"format": kind, "rules": known, "lines": int(count), "digest": str(digest)}:
            return (count, digest) if (kind, known) == (_FORMAT, rules) else None
    return None


def _digest(lines: Sequence[object]) -> str | None:
    """Digest of the joined lines; verified lines have no line breaks, so joining is unambiguous."""
    if not all(isinstance(line, str) for line in lines):
        return None
    text = "\n".join(lines)  # type: ignore[arg-type]
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _folder() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(cache) if os.path.isabs(cache) else Path(os.path.expanduser("~"), ".cache")
    if not home.is_absolute():
        raise FileNotFoundError("this user has no home to keep checkpoints in")
    return home / "dplasso" / "ledgers"


def _opened(path: Path, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o600)


def _is_own(found: os.stat_result, is_kind: Callable[[int], bool]) -> bool:
    """Whether it is of the expected kind, and only this user can write to it."""
    if not is_kind(found.st_mode):
        return False
    if not hasattr(os, "geteuid"):
        return True
    return found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_MAY_WRITE


@cache
def _rules() -> str:
    """The digest of the code that walks ledgers: checkpoints of other versions do not count."""
    package = Path(__file__).parents[1]
    files = sorted(path for room in ("ledger", "privacy") for path in package.glob(f"{room}/*.py"))
    if not files:
        raise FileNotFoundError(
            "the sources of the package, which identify its version, are missing"
        )
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
