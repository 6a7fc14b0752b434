"""What a party or a server has used, so that nothing serves a second purpose."""

import hashlib
import threading
from pathlib import Path

from dplasso.federated.errors import Refused
from dplasso.storage.counted_journal import CountedJournal, JournalInUse, RecordsLost

_DIGEST = 32


class UsedOnce:
    """Names, each with the one content that it stands for.

    A mask hides one table. With a second table under it, the difference of the two is in clear. So
    before a party uses a mask, it claims the mask's name for what it is about to compute. The same
    claim again, after a restart, is granted: the same bytes are sent. Any other is refused.

    With a ``path`` claims outlive the process: they are on disk before they are granted, and one
    process at a time may hold the file. A file that has lost claims is refused: a mask would serve
    twice.

    >>> used = UsedOnce()
    >>> used.claim(b"seed", b"table"), used.claim(b"seed", b"table")
    (True, False)
    >>> used.claim(b"seed", b"other table")
    Traceback (most recent call last):
        ...
    dplasso.federated.errors.Refused: this was used before, with other data; begin the job anew
    """

    def __init__(self, path: Path | None = None) -> None:
        self._closed, self._one_at_a_time = False, threading.Lock()
        self._journal = None if path is None else _opened(path)
        records = [] if self._journal is None else list(self._journal.records())
        self._contents = {record[:_DIGEST]: record[_DIGEST:] for record in records}

    def claim(self, name: bytes, content: bytes) -> bool:
        """Take a name for a content; True if it is new. Refused if it has another content."""
        key, digest = (hashlib.sha256(each).digest() for each in (name, content))
        with self._one_at_a_time:
            if self._closed:
                raise Refused("the file of what this party has used is closed; open it again")
            known = self._contents.get(key)
            if known is None:
                if self._journal is not None:
                    self._journal.append(key + digest)
                self._contents[key] = digest
                return True
        if known != digest:
            raise Refused("this was used before, with other data; begin the job anew")
        return False

    def is_claimed(self, name: bytes) -> bool:
        """Whether a name has a content."""
        return hashlib.sha256(name).digest() in self._contents

    @property
    def is_empty(self) -> bool:
        """Whether nothing was claimed yet."""
        return not self._contents

    def close(self) -> None:
        """Close the file."""
        if self._journal is not None:
            self._journal.close()
        self._journal, self._closed = None, True

    def __enter__(self) -> "UsedOnce":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _opened(path: Path) -> CountedJournal:
    try:
        return CountedJournal(path, path.with_name(f"{path.name}.lock"))
    except JournalInUse:
        raise Refused("another process of this party is at work; end it first") from None
    except RecordsLost:
        raise lost() from None


def lost() -> Refused:
    """The refusal to go on without a record of all that was used."""
    return Refused(
        "the file of what this party has used has lost some of it, and nothing is used twice; "
        "restore it from a copy, or begin a job with another name"
    )
