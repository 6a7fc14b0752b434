"""Disks that fill up and files that may not be written, for the length of a ``with``."""

import os
import subprocess
from contextlib import contextmanager

NOBODY = 65534


@contextmanager
def no_file_beyond(size):
    """Let no file grow beyond ``size`` bytes, as on a full disk."""
    import resource

    _, hard = before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))  # Python ignores the signal
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def small_disk(folder, size):
    """A file system of ``size`` bytes in a folder; None where this machine does not allow it."""
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
    """Act as the user nobody where the tests run as root, whom file modes do not restrict."""
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
