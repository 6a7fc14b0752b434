"""A file that is used once: whoever takes it leaves a note in its place.

Renaming decides who comes first, so no lock is needed, and none is left behind by a crash.
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
    """A state that a model has gone on from already, or that is not where it was saved."""


_IsExpected = Callable[[dict[str, Any]], bool]


@contextmanager
def taken(path: _Path, is_expected: _IsExpected, instead: _Path | None = None) -> Iterator[None]:
    """Hold a file out of everybody's reach; it is gone for good once the block has ended.

    Where the block raises, the file is back as it was. ``is_expected`` looks at the header.
    ``instead`` is where the block writes the same thing anew: a block that raises may have done so,
    and the file is back only once the other is gone.

    Formal guarantees
    -----------------
    Of any number of processes that take one file, at most one enters the block. When the block has
    ended, neither a crash nor a power cut brings the file back. Copies of the file that somebody
    made are not known here.
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
    """Remove what a save that failed may have left: it may have failed after the file was there."""
    try:
        header = read(path)[0]
    except (FileNotFoundError, ModelFileError):
        return
    if is_expected(header):
        with taken(path, is_expected):
            pass


def leave_note(path: _Path) -> None:
    """Say in the file's place that it was used; the note is on the disk when this returns."""
    write(os.path.realpath(os.fsdecode(path)), _NOTE, {})


def refuse_used(path: _Path, header: dict[str, Any]) -> None:
    """Raise where a file is the note that another one was used."""
    if header.get("kind") == USED:
        raise _used(path)


def _used(path: _Path) -> UsedStateError:
    return UsedStateError(
        f"the state saved as {os.fsdecode(path)} was used or moved: one model at most learns on "
        "from a state, since two would share noise, and the difference of their weights would show "
        "rows; load the state that was saved last, or start a new stream with fit"
    )
