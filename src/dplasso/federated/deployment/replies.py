"""Replies of a party to the server of a job: a mark, and bytes."""

from enum import Enum
from typing import NamedTuple

CHANNEL, TOPIC = "dplasso", "answer"


class Mark(Enum):
    """The kind of a reply."""

    ANSWERED = b"+"
    REFUSED = b"-"  # finally; the body says why
    BUSY = b"~"  # at work on another request; ask again
    FAILED = b"!"  # an error at the party, which its owner may fix; ask again


class Reply(NamedTuple):
    """A reply to a request.

    >>> Reply.read(Reply(Mark.REFUSED, b"beyond the cap").written)
    Reply(mark=<Mark.REFUSED: b'-'>, body=b'beyond the cap')
    """

    mark: Mark
    body: bytes

    @property
    def written(self) -> bytes:
        """The reply as bytes."""
        return self.mark.value + self.body

    @classmethod
    def read(cls, message: object) -> "Reply":
        """Read a reply. Anything else counts as a failure of its sender."""
        if not isinstance(message, bytes | bytearray | memoryview):
            return cls(Mark.FAILED, b"")
        whole = bytes(message)
        try:
            return cls(Mark(whole[:1]), whole[1:])
        except ValueError:
            return cls(Mark.FAILED, b"")
