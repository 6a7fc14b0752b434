"""A file that can be used once: the process that takes it leaves a note in its place.

Renaming decides which process comes first, so no lock is needed that a crash could leave behind.
"""

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dplasso.storage.archive import ModelFileError, read, write
from dplasso.storage.atomic import sync_directory

USED = "dplasso-used-state"
_NOTE = {"kind": USED, "version": 1}

_Path = str | os.PathLike[str]


class UsedStateError(ModelFileError):
    """A state was already used to continue a model, or is not where it was saved."""


_IsExpected = Callable[[dict[str, Any]], bool]


@contextmanager
def taken(path: _Path, is_expected: _IsExpected, instead: _Path | None = None) -> Iterator[None]:
    """Take a file away from all other processes; it is deleted once the block has ended.

    If the block raises, the file is put back. ``is_expected`` checks the header. ``instead`` is the
    path to which the block writes a new state: if the block raises after that, the new file is
    removed before the old one is put back.

    Formal guarantees
    -----------------
    Of any number of processes that take one file, at most one enters the block. When the block has
    ended, neither a crash nor a power cut brings the file back. Copies of the file are not
    detected.
    """
    name = os.path.realpath(os.fsdecode(path))
    directory = os.path.dirname(name)
    aside = os.path.join(directory, f".dplasso-{secrets.token_hex(16)}.taken")
    try:
        os.rename(name, aside)
    except FileNotFoundError:
        raise _used(path) from None
    try:
        if not is_expected(read(aside)[0]):
            raise _used(path)
        yield
    except BaseException:
        if instead is not None and os.path.realpath(os.fsdecode(instead)) != name:
            withdraw(instead, is_expected)
        os.replace(aside, name)
        sync_directory(directory)
        raise
    os.unlink(aside)
    sync_directory(directory)


def withdraw(path: _Path, is_expected: _IsExpected) -> None:
    """Remove the file that a failed save may have left."""
    try:
        header = read(path)[0]
    except (FileNotFoundError, ModelFileError):
        return
    if is_expected(header):
        with taken(path, is_expected):
            pass


def leave_note(path: _Path) -> None:
    """Replace the file by a note that it was used; the note is durable when this returns."""
    write(os.path.realpath(os.fsdecode(path)), _NOTE, {})


def refuse_used(path: _Path, header: dict[str, Any]) -> None:
    """Raise if a file is a note that the original was used."""
    if header.get("kind") == USED:
        raise _used(path)


def _used(path: _Path) -> UsedStateError:
    return UsedStateError(
        f"the state saved as {os.fsdecode(path)} was used or moved: one model at most learns on "
        "from a state, since two would share noise, and the difference of their weights would show "
        "rows; load the state that was saved last, or start a new stream with fit"
    )
