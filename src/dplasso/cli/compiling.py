"""Say that loops are being compiled, which takes a while when dplasso is first used."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dplasso.cli.output import note

_QUIET = frozenset({"-q", "--quiet"})
NOTE = "compiling for the first use, up to a minute ..."


@contextmanager
def compiling_named() -> Iterator[None]:
    """Write one line to standard error when the first loop that is kept on disk is compiled.

    Loops that are on disk already are loaded and not compiled. Commands that are quiet stay so. A
    command that has not imported numba compiles nothing.
    """
    if "numba" not in sys.modules:
        yield
        return
    from numba.core import event

    class Listener(event.Listener):  # type: ignore[misc]  # numba is untyped
        said = False

        def on_start(self, event: Any) -> None:
            if self.said or not _is_kept(event.data["dispatcher"]):
                return
            self.said = True
            if not _QUIET.intersection(sys.argv):
                note(NOTE)

        def on_end(self, event: Any) -> None:
            pass

    with event.install_listener("numba:compile", Listener()):
        yield


def _is_kept(dispatcher: Any) -> bool:
    """Whether compiled code is kept on disk, so that this happens once."""
    return getattr(getattr(dispatcher, "_cache", None), "cache_path", None) is not None
