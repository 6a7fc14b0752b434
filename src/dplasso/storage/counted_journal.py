"""A journal that notices records lost to damage, and that one process at a time may hold."""

import os
from collections.abc import Iterator
from pathlib import Path

from dplasso.storage.journal import Journal
from dplasso.storage.private_files import lock, open_own

_COUNT = 8  # bytes, in the lock file


class JournalInUse(Exception):  # noqa: N818  # a state, and no mistake
    """Another process holds the journal."""


class RecordsLost(Exception):  # noqa: N818  # a state, and no mistake
    """The journal has fewer records than were written."""


class CountedJournal:
    """A `Journal` beside a lock file that holds the number of its records.

    A journal that lost its end to damage looks like one that a crash cut short. What its owner
    must not do twice would be done again. Therefore the number of records is written, too.
    """

    def __init__(self, path: Path, lock_path: Path) -> None:
        self._lock: int | None = open_own(lock_path)
        self._journal: Journal | None = None
        try:
            if not lock(self._lock):
                raise JournalInUse
            self._journal = Journal(path)
            self._count = sum(1 for _ in self._journal.records())
            if self._count < int.from_bytes(os.pread(self._lock, _COUNT, 0), "little"):
                raise RecordsLost
        except BaseException:
            self.close()
            raise

    def records(self) -> Iterator[bytes]:
        """All records, from the first."""
        assert self._journal is not None
        return self._journal.records()

    def append(self, record: bytes) -> None:
        """Write a record; it is durable when this returns. A failure closes the journal."""
        assert self._journal is not None and self._lock is not None
        try:
            self._journal.append(record)
            self._count += 1
            os.pwrite(self._lock, self._count.to_bytes(_COUNT, "little"), 0)
            os.fsync(self._lock)
        except BaseException:
            # Half a record may be on disk: records after it would be lost with it.
            self.close()
            raise

    def close(self) -> None:
        """Let another process go on."""
        if self._journal is not None:
            self._journal.close()
        if self._lock is not None:
            os.close(self._lock)
        self._journal = self._lock = None
