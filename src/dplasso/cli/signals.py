"""Signals that ask the command to end: it ends by an exception, so that nothing is left behind."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_NAMES = ("SIGTERM", "SIGHUP")
ENDING = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))
ENDED = tuple(128 + number for number in ENDING)  # what the command then exits with


def heeded() -> list[int]:
    """Those that are not ignored: a command under nohup survives its terminal."""
    return [number for number in ENDING if signal.getsignal(number) != signal.SIG_IGN]


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Have signals end what runs within by SystemExit, so that temporary files are removed.

    Once is enough: those that follow would interrupt the removal.
    """
    process = os.getpid()

    def leave(number: int, frame: FrameType | None) -> None:
        for each in heeded():
            signal.signal(each, signal.SIG_IGN)
        if os.getpid() != process:  # a child has nothing of its parent's to clear away
            os._exit(128 + number)
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():  # which gets all signals
        yield
        return
    before = {number: signal.signal(number, leave) for number in heeded()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
