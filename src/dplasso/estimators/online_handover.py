"""A saved state is used once: a stream makes it useless before it continues to learn."""

import os
from collections.abc import Callable
from typing import Any, Protocol

from dplasso.storage import single_use
from dplasso.streams import RunningSum

_Path = str | os.PathLike[str]


class Stream(Protocol):
    """A stream that learns, and the path of its saved state until it continues to learn."""

    saved: str | None
    total: RunningSum


def hand_over(stream: Stream, path: _Path, write: Callable[[], None]) -> None:
    """Write a state that replaces the previously saved one, if that has not been used yet.

    The stream remembers the path: before it continues to learn, `reclaim` makes the state useless.
    Saving may be interrupted after the file exists. Whatever is raised, no second state remains.
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
    """Make the saved state of a stream useless before the stream continues to learn."""
    if stream.saved is not None:
        use_up(stream, stream.saved)
        stream.saved = None


def use_up(stream: Stream, path: _Path) -> None:
    """Make the state that a stream continues from useless for all other streams."""
    with single_use.taken(path, is_state_of(stream)):
        single_use.leave_note(path)


def is_state_of(stream: Stream) -> Callable[[dict[str, Any]], bool]:
    """Test whether a header belongs to the stream's current state, by its key and its progress."""
    now = stream.total.place

    def is_state(header: dict[str, Any]) -> bool:
        known = header.get("state", {}).get("sum", {})
        return bool((known.get("key"), known.get("position")) == now)

    return is_state
