"""Forks of this process, for checks of what a child inherits."""

import os
import warnings


def fork() -> int:
    """As `os.fork`, without the warning of Python 3.12 and later about forks in a process with
    threads: the child uses none of their locks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()
