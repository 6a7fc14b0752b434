"""Files that are complete or absent, and accessible to no more users than before."""

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator

from dplasso.storage import private_files
from dplasso.storage.private_files import FILE, UnsafeFileError, abandoned, followed, new_file
from dplasso.storage.temporary import removed_afterwards

_RELEASED = 0o666  # less what the umask takes
_WRITABLE = 0o222
_TEMPORARY = re.compile(r"\.dplasso-[0-9a-f]{32}\.tmp")
_ACCESS_LIST = "system.posix_acl_access"


class NotReplaceableError(ValueError):
    """The name belongs to something that may not be replaced."""


def replace_file(path: str | os.PathLike[str], *parts: bytes, released: bool = False) -> None:
    """Write a new file next to the old one, and rename it once it is durable.

    Only its owner may read it, unless it is ``released``: then the umask decides. Users who could
    not read or write the old file cannot read or write the new one.
    """
    target, old = _replaceable(path)
    directory = os.path.dirname(target)
    mode = _RELEASED if released else FILE
    with _temporary(directory, mode, os.fsdecode(path)) as (descriptor, temporary):
        if old is not None:
            _narrow(descriptor, target, old)  # before there is anything to read
        with open(descriptor, "wb", closefd=False) as file:
            for part in parts:
                file.write(part)
        os.fsync(descriptor)
        os.replace(temporary, target)
    sync_directory(directory)


def check_replaceable(path: str | os.PathLike[str]) -> None:
    """Raise what `replace_file` would, as far as that can be known beforehand."""
    target, _ = _replaceable(path)
    check_folder(os.path.dirname(target))


def check_folder(directory: str) -> None:
    """Create a file in a folder and remove it: permissions alone do not show that this works."""
    with _temporary(directory, FILE, directory) as (descriptor, _):
        os.write(descriptor, b"\n")


def _replaceable(path: str | os.PathLike[str]) -> tuple[str, os.stat_result | None]:
    """The resolved path of a file, and the status of an existing one."""
    name = os.fsdecode(path)
    try:
        target = followed(name)  # as for open(), a link stays a link
    except UnsafeFileError as error:
        raise NotReplaceableError(str(error)) from None
    try:
        old = os.stat(target)
    except FileNotFoundError:
        return target, None
    if not stat.S_ISREG(old.st_mode):
        raise NotReplaceableError(f"{name} is not a regular file; choose another name")
    if not old.st_mode & _WRITABLE or not os.access(target, os.W_OK):
        raise NotReplaceableError(
            f"{name} is read-only; choose another name, or make it writable first"
        )
    return target, old


def _narrow(descriptor: int, target: str, old: os.stat_result) -> None:
    """Deny a new file to all users who had no access to the old one."""
    if not hasattr(os, "fchmod"):
        return
    new = os.fstat(descriptor)
    mode = new.st_mode & old.st_mode & 0o777
    if mode & 0o070 and (_has_access_list(target) or not _same_group(descriptor, new, old)):
        mode &= ~0o070  # these were rights of another group, or a maximum over an access list
    if mode != stat.S_IMODE(new.st_mode):
        os.fchmod(descriptor, mode)


def _same_group(descriptor: int, new: os.stat_result, old: os.stat_result) -> bool:
    if new.st_gid != old.st_gid:
        try:
            os.fchown(descriptor, -1, old.st_gid)
        except OSError:
            return False
    return True


def _has_access_list(target: str) -> bool:
    try:
        return _ACCESS_LIST in os.listxattr(target)
    except (AttributeError, OSError):  # systems and file systems without such lists
        return False


@contextlib.contextmanager
def _temporary(directory: str, mode: int, shown: str) -> Iterator[tuple[int, str]]:
    """A new file, open and locked, which is removed afterwards unless it was renamed.

    An error of the system names ``shown``, since users do not know the name of the new file.
    """
    _clear_leftovers(directory)
    while True:
        path = os.path.join(directory, f".dplasso-{secrets.token_hex(16)}.tmp")
        with removed_afterwards(path):
            try:
                descriptor = new_file(path, mode)
            except OSError as error:
                raise OSError(error.errno, error.strerror, shown) from error
            try:
                if _is_kept(descriptor):
                    yield descriptor, path
                    return
            finally:
                os.close(descriptor)


def _is_kept(descriptor: int) -> bool:
    """Lock a new file; False if another process removed it as a leftover before that."""
    try:
        return private_files.lock(descriptor) and os.fstat(descriptor).st_nlink > 0
    except OSError:  # without locks nothing is removed as a leftover
        return True


def _clear_leftovers(directory: str) -> None:
    """Remove files that killed processes of this user left in a folder."""
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if _TEMPORARY.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with abandoned(entry.path) as left:
                    if left:
                        os.unlink(entry.path)


def sync_directory(directory: str) -> None:
    """Make the new name survive a power cut, if the system supports that."""
    if os.name == "nt":
        return
    try:
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        # Directories that may not be read, or file systems that do not sync them.
        if error.errno not in (errno.EACCES, errno.EINVAL, errno.ENOTSUP):
            raise
