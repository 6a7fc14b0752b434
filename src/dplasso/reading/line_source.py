"""Lines of a pipe, or of a file that may still grow, as they arrive."""

import os
import select
import time
from pathlib import Path
from typing import Self

from dplasso.base.memory import size_text
from dplasso.reading.byte_source import LONGEST_LINE

_PIECE = 1 << 18
_PATIENCE = 0.2  # seconds to wait for more before reporting that there is nothing yet


class LineSource:
    """Reads whole lines, a few at a time, and counts their bytes from the start.

    If ``path`` is None, it reads standard input. With ``follow`` it waits for a file to grow.
    """

    def __init__(self, path: Path | None, *, follow: bool = False) -> None:
        self._descriptor = 0 if path is None else os.open(path, os.O_RDONLY)
        self._piped, self._follow = path is None, follow
        self._held, self._ended = bytearray(), False
        self._searched = 0  # bytes held that contain no end of line
        self.position = 0

    def skip(self, count: int) -> None:
        """Skip the first bytes, which were read before."""
        self.position += count
        if not self._piped:
            # The last line may have had no line end, and is counted as if it had one.
            if os.fstat(self._descriptor).st_size < count - 1:
                raise ValueError(
                    f"the input is shorter than the {count} bytes taken of it before; "
                    "give the same file"
                )
            os.lseek(self._descriptor, count, os.SEEK_SET)
        while self._piped and count:
            piece = os.read(0, min(count, _PIECE))
            if not piece and count == 1:
                return
            if not piece:
                raise ValueError(
                    "standard input ended before the row to continue from; send all of it"
                )
            count -= len(piece)

    def lines(self, most: int) -> bytes | None:
        """At most ``most`` lines, each with its end; empty if none has arrived; None at the end."""
        while True:
            if found := self._cut(most):
                return found
            if self._ended:
                return None
            if not self._fill():
                return b""

    def _cut(self, most: int) -> bytes:
        end, start = -1, self._searched
        for _ in range(most):
            after = self._held.find(b"\n", start)
            if after < 0:
                break
            end, start = after, after + 1
        found = bytes(self._held[: end + 1])
        del self._held[: end + 1]
        self._searched = 0 if found else len(self._held)
        if not found and self._ended and self._held:  # the last line may have no line end
            found = bytes(self._held) + b"\n"
            self._held.clear()
            self._searched = 0
        self.position += len(found)
        return found

    def _fill(self) -> bool:
        """Read more; False if nothing has arrived yet, True if data or the end has."""
        if self._piped and not select.select([self._descriptor], [], [], _PATIENCE)[0]:
            return False
        piece = os.read(self._descriptor, _PIECE)
        if not piece and self._follow and not self._piped:
            time.sleep(_PATIENCE)
            return False
        self._held += piece
        self._ended = not piece
        if self._searched == len(self._held) - len(piece) > LONGEST_LINE:
            raise ValueError(
                f"a line is longer than {size_text(LONGEST_LINE)}; split it, or send another file"
            )
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._piped:
            os.close(self._descriptor)
