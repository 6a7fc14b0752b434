"""Folders that others have prepared, and processes of another user: shared by tests."""

import os
import stat
import sys
import traceback
from contextlib import contextmanager

import pytest

SOMEBODY = 12345  # a user who is not the one that runs the tests

needs_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="makes files of another user"
)


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@contextmanager
def umask(mask):
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def planted_link(path, target):
    """A link that another user has made."""
    os.symlink(target, path)
    os.lchown(path, SOMEBODY, SOMEBODY)


def as_somebody(action):
    """Do something in a child that is another user, without the rights of root."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups([])
            os.setgid(SOMEBODY)
            os.setuid(SOMEBODY)
            action()
            code = 0
        except BaseException:
            traceback.print_exc(file=sys.__stderr__)
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
