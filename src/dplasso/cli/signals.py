"""End the command by an exception on SIGTERM and SIGHUP, so that temporary files are removed."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_NAMES = ("SIGTERM", "SIGHUP")
ENDING = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))
ENDED = tuple(128 + number for number in ENDING)  # exit codes


def heeded() -> list[int]:
    """Return the signals that are not ignored: a command under nohup outlives its terminal."""
    return [number for number in ENDING if signal.getsignal(number) != signal.SIG_IGN]


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore Ctrl-C: what is said about an interrupt is not cut short by another one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Raise SystemExit on such a signal, so that temporary files are removed.

    Further signals are ignored, since they would interrupt the removal.
    """
    process = os.getpid()

    def leave(number: int, frame: FrameType | None) -> None:
        for each in heeded():
            signal.signal(each, signal.SIG_IGN)
        if os.getpid() != process:  # a child must not remove the files of its parent
            os._exit(128 + number)
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():  # which gets no signals
        yield
        return
    before = {number: signal.signal(number, leave) for number in heeded()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
