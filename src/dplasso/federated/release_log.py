"""What a party has drawn for a job, on its disk before anybody sees it."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dplasso.federated.errors import Refused
from dplasso.federated.messages import Release
from dplasso.federated.terms import Terms
from dplasso.storage.journal import Journal
from dplasso.storage.private_files import lock, make_folder, open_own

_COUNT = 8  # bytes, in the lock's file


class ReleaseLog:
    """The releases of one party in one job, in order, and what it was told at the end.

    With a ``folder`` everything is durable, and one process at a time may write; without, it lives
    as long as the object, for simulations.

    A journal that lost its end to damage looks like one that a crash has cut, and what was drawn
    would be drawn again. So the file of the lock has a number: how many records there are at least.
    """

    def __init__(self, terms: Terms, party: str, folder: Path | None = None) -> None:
        self._job, self._first = terms.job, f"{party} {terms.to_json()}".encode()
        self._records: list[bytes] = []
        self._journal: Journal | None = None
        self._closed = False
        if folder is None:
            return
        make_folder(Path(folder))
        self._lock = _lock(Path(folder) / f"{terms.job}.lock")
        try:
            self._journal = Journal(Path(folder) / f"{terms.job}.notebook")
            self._records = list(self._journal.records())
            self._check()
        except BaseException:
            self.close()
            raise

    def _check(self) -> None:
        if self._records and self._records[0] != self._first:
            raise Refused(
                f"job {self._job} was begun on other terms; give the new one a name of its own"
            )
        if len(self._records) < int.from_bytes(os.pread(self._lock, _COUNT, 0), "little"):
            raise Refused(
                f"the notebook of job {self._job} has lost releases that were made, and none is "
                "made twice; restore it from a copy, or begin a job of another name"
            )

    @property
    def is_durable(self) -> bool:
        """Whether it outlives the object."""
        return self._journal is not None

    @property
    def begun(self) -> bool:
        """Whether the job was accepted, and charged where it draws anything."""
        return bool(self._records)

    def begin(self) -> None:
        """Note that the job is accepted and charged: releases may follow."""
        self._append(self._first)

    def check_rows(self, digest: bytes) -> None:
        """Refuse to go on with other rows than the job was begun with.

        What rows may still release follows from what they have released. Of other rows, or the same
        ones read in another way, that is not known.
        """
        known = [record[1:] for record in self._records[1:] if record[:1] == b"h"]
        if known and known[0] != digest:
            raise Refused(
                f"rows, secret or settings of job {self._job} are not those that it was begun "
                "with; bring them back, or begin a job of another name"
            )
        if self.begun and not known:  # begun by earlier code, or cut off after its first record
            self._append(b"h" + digest)

    def releases(self) -> Iterator[Release]:
        """What was released, in order."""
        for record in self._records[1:]:
            if record[:1] == b"r":
                yield Release.from_bytes(record[1:])

    def add(self, release: bytes) -> None:
        """Keep a release; it may be sent when this returns."""
        self._append(b"r" + release)

    @property
    def told(self) -> dict[str, Any] | None:
        """What the party was told at the end."""
        found = [record[1:] for record in self._records[1:] if record[:1] == b"t"]
        return None if not found else json.loads(found[-1])

    def keep(self, told: dict[str, Any]) -> None:
        """Keep what the party is told at the end."""
        self._append(b"t" + json.dumps(told).encode())

    def check_open(self) -> None:
        """Refuse to go on once it is closed: what is drawn could not be kept."""
        if self._closed:
            raise Refused(f"the notebook of job {self._job} is closed; make the party anew")

    def close(self) -> None:
        """Let another process go on."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None
        if hasattr(self, "_lock") and not self._closed:
            os.close(self._lock)
        self._closed = True

    def _append(self, record: bytes) -> None:
        self.check_open()
        if self._journal is not None:
            try:
                self._journal.append(record)
                count = len(self._records) + 1
                os.pwrite(self._lock, count.to_bytes(_COUNT, "little"), 0)
                os.fsync(self._lock)
            except BaseException:
                # Half a record may be there: what followed it would be lost when it is taken off.
                self.close()
                raise
        self._records.append(record)


def _lock(path: Path) -> int:
    descriptor = open_own(path)
    if not lock(descriptor):
        os.close(descriptor)
        raise Refused(f"another process works on {path.stem}; let it end first")
    return descriptor
