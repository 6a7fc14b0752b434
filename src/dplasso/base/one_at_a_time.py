"""Something that is done from beginning to end before it is begun again, also by one thread."""

from typing import Any, NoReturn


class OneAtATime:
    """Refuses what a signal handler would begin in the middle of something else.

    A lock that a thread may take again keeps other threads away, and not a handler of signals,
    which runs in the same thread. A lock that it may not take again would never be released.
    """

    def __init__(self) -> None:
        self._taken = False

    def __enter__(self) -> None:
        if self._taken:
            _refuse()
        self._taken = True

    def __exit__(self, *_: object) -> None:
        self._taken = False


def refuse_again(lock: Any) -> None:
    """Refuse a signal handler in the thread that already has this `threading.RLock`.

    Unlike `OneAtATime`, this leaves nothing behind that an interrupt could keep from being undone.
    """
    if lock._is_owned():  # as `threading.Condition` asks it
        _refuse()


def _refuse() -> NoReturn:
    raise RuntimeError(
        "the stream is learning or predicting, and can not be used until that ends; let a signal "
        "handler set a flag, and use the stream afterwards"
    )
