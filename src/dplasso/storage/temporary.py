"""Temporary files and folders, removed even if a signal arrives at the worst moment."""

import atexit
import contextlib
import os
import shutil
from collections.abc import Iterator

_unfinished: dict[str, int] = {}  # paths and their process ids


@contextlib.contextmanager
def removed_afterwards(path: str) -> Iterator[None]:
    """Remove the file or folder of this name, if it exists, when the block ends.

    A signal may raise an exception just before the block or while it ends. The file or folder is
    then removed when the process ends.
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
        if process == os.getpid():  # a child must not remove its parent's files
            _remove(path)


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(path)
