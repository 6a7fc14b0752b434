"""Disks that fill up and files that may not be written, for the length of a ``with``."""

import os
import subprocess
from contextlib import contextmanager

NOBODY = 65534


@contextmanager
def no_file_beyond(size):
    """No file may grow beyond so many bytes, as on a disk that is full."""
    import resource

    _, hard = before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))  # Python ignores the signal
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def small_disk(folder, size):
    """A file system of so many bytes in a folder; None where this machine does not allow it."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True).returncode == 0
    except OSError:
        mounted = False
    try:
        yield folder if mounted else None
    finally:
        if mounted:
            subprocess.run(["umount", str(folder)], check=True)


@contextmanager
def an_ordinary_user():
    """Modes of files do not bind root: whoever runs the tests as root is nobody for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
