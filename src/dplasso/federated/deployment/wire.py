"""What goes between a job's server and a party: bytes there, and a mark and bytes back."""

from enum import Enum
from typing import NamedTuple

CHANNEL, TOPIC = "dplasso", "answer"


class Mark(Enum):
    ANSWERED = b"+"
    REFUSED = b"-"  # for good; the text says why
    BUSY = b"~"  # still at work on a request; ask again
    FAILED = b"!"  # something broke at the party, and may be mended; ask again


class Reply(NamedTuple):
    """
    >>> Reply.read(Reply(Mark.REFUSED, b"beyond the cap").written)
    Reply(mark=<Mark.REFUSED: b'-'>, body=b'beyond the cap')
    """

    mark: Mark
    body: bytes

    @property
    def written(self) -> bytes:
        return self.mark.value + self.body

    @classmethod
    def read(cls, message: object) -> "Reply":
        """A reply as it came; one that is no reply is a failure of whoever sent it."""
        if not isinstance(message, bytes | bytearray | memoryview):
            return cls(Mark.FAILED, b"")
        whole = bytes(message)
        try:
            return cls(Mark(whole[:1]), whole[1:])
        except ValueError:
            return cls(Mark.FAILED, b"")
