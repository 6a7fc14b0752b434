"""Files that are there whole or not at all."""

import contextlib
import errno
import os
import secrets


class NotAFileError(ValueError):
    """Something other than a regular file has the name."""


def replace_file(path: str | os.PathLike[str], *parts: bytes) -> None:
    """Write a new file next to the old one, and give it the name once it is safe on the disk."""
    name = os.fsdecode(path)
    target = os.path.realpath(name)  # as for open(), a link stays a link
    if os.path.exists(target) and not os.path.isfile(target):
        raise NotAFileError(f"{name} is not a regular file; choose another name")
    directory = os.path.dirname(target)
    temporary = os.path.join(directory, f".dplasso-{secrets.token_hex(16)}.tmp")
    try:
        with open(temporary, "xb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    sync_directory(directory)


def sync_directory(directory: str) -> None:
    """Make the new name survive a power cut, where the system has a way to."""
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
