"""Directories that are there whole or not at all: built aside, then given their name."""

import contextlib
import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from dplasso.storage.atomic import sync_directory
from dplasso.storage.column_format import HEADER, ColumnStoreError


@contextlib.contextmanager
def workshop(target: Path) -> Iterator[Path]:
    """A temporary directory beside the target, locked as long as its process lives, and removed."""
    folder = _beside(target, "tmp")
    folder.mkdir()
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield folder
    finally:
        os.close(lock)
        shutil.rmtree(folder, ignore_errors=True)


def _beside(target: Path, what: str) -> Path:
    return target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(8)}.{what}")


def clear_leftovers(target: Path) -> None:
    """Remove what killed builds of this target left; put back what they had moved away.

    Locks end with their process; its number alone may long be another's.
    """
    ours = re.compile(re.escape(f".{target.name}.") + r"[0-9]+-[0-9a-f]{16}\.(tmp|old)")
    for left in target.parent.iterdir():
        found = ours.fullmatch(left.name)
        if found is None or not _abandoned(left):
            continue
        if found[1] == "old" and not os.path.lexists(target):
            os.rename(left, target)
        else:
            shutil.rmtree(left, ignore_errors=True)


def _abandoned(folder: Path) -> bool:
    try:
        lock = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True


def check_replaceable(target: Path, overwrite: bool) -> None:
    if not os.path.lexists(target):
        return
    if not overwrite:
        raise ColumnStoreError(f"{target} exists; choose another name, or pass overwrite=True")
    if target.is_symlink() or not (target / HEADER).is_file():
        raise ColumnStoreError(f"{target} is no column store; choose another name")


def install(folder: Path, target: Path, overwrite: bool) -> None:
    """Give the finished directory its name; an old one is deleted only after that."""
    check_replaceable(target, overwrite)
    old = _beside(target, "old")
    try:
        if os.path.lexists(target):
            os.rename(target, old)
        os.rename(folder, target)
    except BaseException:
        if old.exists() and not os.path.lexists(target):
            os.rename(old, target)
        raise
    sync_directory(str(target.parent))
    shutil.rmtree(old, ignore_errors=True)
