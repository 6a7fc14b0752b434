"""Directories that are complete or absent: built under a temporary name, then renamed."""

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from dplasso.base.wording import Message, Setting
from dplasso.storage import private_files
from dplasso.storage.atomic import sync_directory
from dplasso.storage.column_format import HEADER, ColumnStoreError
from dplasso.storage.temporary import removed_afterwards

_WRITABLE = 0o222


@contextlib.contextmanager
def workshop(target: Path) -> Iterator[Path]:
    """A temporary directory next to the target, for its owner alone.

    It is locked while its process lives, and removed afterwards.
    """
    while True:
        folder = _beside(target, "tmp")
        with removed_afterwards(str(folder)):
            folder.mkdir(mode=private_files.FOLDER)
            lock = os.open(folder, os.O_RDONLY)
            try:
                # Another process may have removed it as a leftover before it was locked.
                if private_files.lock(lock) and os.fstat(lock).st_nlink:
                    yield folder
                    return
            finally:
                os.close(lock)


def _beside(target: Path, what: str) -> Path:
    return target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(8)}.{what}")


def clear_leftovers(target: Path) -> None:
    """Remove leftovers of killed builds of this target; restore what they had moved away."""
    ours = re.compile(re.escape(f".{target.name}.") + r"[0-9]+-[0-9a-f]{16}\.(tmp|old)")
    for left in target.parent.iterdir():
        found = ours.fullmatch(left.name)
        if found is None or left.is_symlink() or not left.is_dir():
            continue
        with private_files.abandoned(left) as abandoned:
            if not abandoned:
                continue
            if found[1] == "old" and not os.path.lexists(target):
                os.rename(left, target)
            else:
                shutil.rmtree(left, ignore_errors=True)


def check_replaceable(target: Path, overwrite: bool) -> None:
    if not os.path.lexists(target):
        return
    if not overwrite:
        raise ColumnStoreError(
            Message(
                "{target} exists; choose another name, or pass {overwrite}",
                target=target,
                overwrite=Setting("overwrite", True),
            )
        )
    if not _is_store(target):
        raise ColumnStoreError(f"{target} is no column store; choose another name")
    if not target.stat().st_mode & _WRITABLE:
        raise ColumnStoreError(
            f"{target} is read-only; choose another name, or make it writable first"
        )


def _is_store(folder: Path) -> bool:
    """Whether a directory is a store, or holds nothing but the stores of shards."""
    if folder.is_symlink() or not folder.is_dir():
        return False
    inside = list(folder.iterdir())
    return (folder / HEADER).is_file() or (
        bool(inside) and all((part / HEADER).is_file() for part in inside)
    )


def install(folder: Path, target: Path, overwrite: bool) -> None:
    """Rename the finished directory to its name; an old one is deleted only after that."""
    check_replaceable(target, overwrite)
    old = _beside(target, "old")
    try:
        if os.path.lexists(target):
            os.rename(target, old)
            if not _is_store(old):  # created since the check; only stores are deleted
                raise ColumnStoreError(f"{target} is no column store; choose another name")
        os.rename(folder, target)
    except BaseException:
        if os.path.lexists(old) and not os.path.lexists(target):
            os.rename(old, target)
        raise
    sync_directory(str(target.parent))
    shutil.rmtree(old, ignore_errors=True)
