"""Temporary files and folders, removed even where a signal comes at the worst moment."""

import atexit
import contextlib
import os
import shutil
from collections.abc import Iterator

_unfinished: dict[str, int] = {}  # paths, and which process has them


@contextlib.contextmanager
def removed_afterwards(path: str) -> Iterator[None]:
    """Remove what has this name, if anything has, when the block ends.

    An exception that a signal raises may come before the block is entered or while it is left. What
    is there then is removed when the process ends.
    """
    _unfinished[path] = os.getpid()
    try:
        yield
    finally:
        _remove(path)
        _unfinished.pop(path, None)


@atexit.register
def _remove_unfinished() -> None:
    for path, process in list(_unfinished.items()):
        if process == os.getpid():  # a child has nothing of its parent's to remove
            _remove(path)


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(path)
