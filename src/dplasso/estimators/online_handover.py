"""States of a stream are used once: whoever learns on makes the saved state useless first."""

import os
from collections.abc import Callable
from typing import Any, Protocol

from dplasso.storage import single_use
from dplasso.streams import RunningSum

_Path = str | os.PathLike[str]


class Stream(Protocol):
    """A stream that learns, and where its state is saved if it has not learned on since."""

    saved: str | None
    total: RunningSum


def hand_over(stream: Stream, path: _Path, write: Callable[[], None]) -> None:
    """Write a state that replaces the one saved before, if that was not used yet.

    The stream notes where it is: before it learns on, `reclaim` takes the state back. Saving may be
    interrupted when the file is there already: whatever raises, no second state is left behind.
    """
    earlier, is_state = stream.saved, is_state_of(stream)
    stream.saved = os.path.abspath(os.fsdecode(path))
    try:
        if earlier is None:
            write()
        else:
            with single_use.taken(earlier, is_state, instead=path):
                if os.path.realpath(path) != os.path.realpath(earlier):
                    single_use.leave_note(earlier)
                write()
    except BaseException:
        if earlier is None:
            single_use.withdraw(path, is_state)
        stream.saved = earlier
        raise


def reclaim(stream: Stream) -> None:
    """Make the state that a stream has saved useless, before the stream learns on."""
    if stream.saved is not None:
        use_up(stream, stream.saved)
        stream.saved = None


def use_up(stream: Stream, path: _Path) -> None:
    """Make the state that a stream stands at useless for all others."""
    with single_use.taken(path, is_state_of(stream)):
        single_use.leave_note(path)


def is_state_of(stream: Stream) -> Callable[[dict[str, Any]], bool]:
    """Whether a header is that of the state a stream is in: its key, and how far it has come."""
    now = stream.total.place

    def is_state(header: dict[str, Any]) -> bool:
        known = header.get("state", {}).get("sum", {})
        return bool((known.get("key"), known.get("position")) == now)

    return is_state
