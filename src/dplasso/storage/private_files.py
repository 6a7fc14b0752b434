"""Ownership and permissions: files with rows or secrets are for their owner alone.

Folders may be hostile: other users may have put links, pipes or files where we are about to write.
So nothing is opened through a link that another user has made, and a file that is opened again must
be a regular file of this user without a second name.
"""

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no such locks; features that need them do not run there
    fcntl = None  # type: ignore[assignment]

FILE, FOLDER = 0o600, 0o700
_OTHERS, _OTHERS_WRITE = 0o077, 0o022
# Do not follow links, and do not wait for the other end of a pipe.
_CAREFULLY = (
    getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
)
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)


class UnsafeFileError(ValueError):
    """A file or folder that another user may have created, or can change."""


def new_file(path: str, mode: int = FILE) -> int:
    """A descriptor of a newly created file."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _CAREFULLY, mode)


def open_own(path: str | os.PathLike[str], *, new: bool = False) -> int:
    """A descriptor to read and write a file that only this user can access; created if absent.

    With ``new`` it must not exist yet.
    """
    name = os.fsdecode(path)
    with contextlib.suppress(*([] if new else [FileExistsError])):
        return new_file(name)
    descriptor = _open(name, os.O_RDWR)
    try:
        found = os.fstat(descriptor)
        _check_file(name, found)
        if found.st_mode & _OTHERS:
            os.fchmod(descriptor, FILE)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def open_private(path: str | os.PathLike[str]) -> int:
    """A descriptor to read and write a file; a new one is for its owner alone.

    An existing file keeps its permissions, which the caller knows.
    """
    name = followed(path)
    with contextlib.suppress(FileExistsError):
        return new_file(name)
    descriptor = _open(name, os.O_RDWR)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UnsafeFileError(f"{name} is not a regular file; choose another name")
    return descriptor


def check_own(path: str | os.PathLike[str]) -> None:
    """Reject a file that another user may have written."""
    name = followed(path)
    _check_file(name, os.lstat(name))


def followed(path: str | os.PathLike[str]) -> str:
    """Resolve links in a path as open() does, but reject a link made by another user."""
    name = os.fsdecode(path)
    with contextlib.suppress(FileNotFoundError):
        found = os.lstat(name)
        if stat.S_ISLNK(found.st_mode) and found.st_uid and not _is_own(found):
            raise UnsafeFileError(
                f"{name} is a link that another user has made; remove it, or choose another name"
            )
    return os.path.realpath(name)


def make_folder(folder: Path) -> None:
    """Make a folder and its missing parents, for their owner alone."""
    if not folder.parent.exists():
        make_folder(folder.parent)
    folder.mkdir(mode=FOLDER, exist_ok=True)


def take_folder(folder: Path, known: Callable[[str], bool]) -> Path:
    """A folder for its owner alone that has only files of known names; created if absent.

    An existing folder must belong to this user, and no other user may have been able to write to
    it. Returns its resolved path.
    """
    place = followed(folder)
    with contextlib.suppress(FileExistsError):
        os.mkdir(place, FOLDER)
    descriptor = _open(place, os.O_RDONLY | _DIRECTORY)
    try:
        found, names = os.fstat(descriptor), os.listdir(descriptor)
        _check_owner(place, found)
        if not all(map(known, names)):
            raise ValueError(f"{folder} holds other files; give a folder of its own")
        if names and found.st_mode & _OTHERS_WRITE:
            raise UnsafeFileError(
                f"others may write to {folder}, and could have changed what is in it; give a "
                "folder that only you can write to"
            )
        os.fchmod(descriptor, FOLDER)
        for name in os.listdir(descriptor):  # again: from here on no other user can add files
            file = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            _check_file(os.path.join(place, name), file)
    finally:
        os.close(descriptor)
    return Path(place)


def lock(descriptor: int) -> bool:
    """Lock an open file or folder while it is open; returns False if another process holds it."""
    if fcntl is None:
        raise OSError("this system has no file locks that dplasso knows")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def abandoned(path: str | os.PathLike[str]) -> Iterator[bool]:
    """Whether this user made it and no process holds its lock; meanwhile no process can get it.

    Locks end with their process, whereas a process number may have been reused.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | _CAREFULLY)
    except OSError:
        yield False
        return
    try:
        yield _is_own(os.fstat(descriptor)) and _locks(descriptor)
    finally:
        os.close(descriptor)


def _locks(descriptor: int) -> bool:
    try:
        return lock(descriptor)
    except OSError:  # a file system without locks
        return False


def _open(name: str, flags: int) -> int:
    if os.path.islink(name):
        raise UnsafeFileError(f"{name} is a link; remove it, or choose another name")
    return os.open(name, flags | _CAREFULLY)


def _check_file(name: str, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        raise UnsafeFileError(
            f"{name} is a link or no regular file; remove it, or choose another name"
        )
    _check_owner(name, found)
    if found.st_mode & _OTHERS_WRITE:
        raise UnsafeFileError(f"others may write to {name}; do not use it, or close it to them")


def _check_owner(name: str, found: os.stat_result) -> None:
    if not _is_own(found):
        raise UnsafeFileError(
            f"{name} belongs to another user; choose another name, or run this as its owner"
        )


def _is_own(found: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
