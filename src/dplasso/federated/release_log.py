"""The log of a party's releases in a job: each is on disk before anybody sees it."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dplasso.federated.errors import Refused
from dplasso.federated.messages import PartyRelease
from dplasso.federated.terms import Terms
from dplasso.storage.journal import Journal
from dplasso.storage.private_files import lock, make_folder, open_own

_COUNT = 8  # bytes, in the lock file


class ReleaseLog:
    """The releases of one party in one job, in order, and its model at the end.

    With a ``folder`` every record is durable, and one process at a time may write. Without one the
    log lives as long as the object, for simulations.

    A journal that lost its end to damage looks like one that a crash cut short, and the lost
    releases would be drawn again. Therefore the lock file holds the number of records that were
    written.
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
            raise Refused(f"job {self._job} was begun on other terms; give the new job a new name")
        if len(self._records) < int.from_bytes(os.pread(self._lock, _COUNT, 0), "little"):
            raise Refused(
                f"the release log of job {self._job} has lost releases, and no release is drawn "
                "twice; restore the log from a copy, or begin a job with another name"
            )

    @property
    def is_durable(self) -> bool:
        """Whether the log outlives the object."""
        return self._journal is not None

    @property
    def begun(self) -> bool:
        """Whether the job was accepted, and charged if it draws anything."""
        return bool(self._records)

    def begin(self) -> None:
        """Record that the job is accepted and charged, so that releases may follow."""
        self._append(self._first)

    def check_rows(self, digest: bytes) -> None:
        """Refuse to continue with other rows than the job was begun with.

        What a row may still release depends on what it has released. For other rows, or the same
        rows read in another way, that is unknown.
        """
        known = self._bodies(b"h")
        if known and known[0] != digest:
            raise Refused(
                f"the rows, the secret or the settings of job {self._job} have changed since it "
                "was begun; restore them, or begin a job with another name"
            )
        if self.begun and not known:  # begun by earlier code, or killed after the first record
            self._append(b"h" + digest)

    def releases(self) -> Iterator[PartyRelease]:
        """Return the releases so far, in order."""
        return map(PartyRelease.from_bytes, self._bodies(b"r"))

    def add(self, release: bytes) -> None:
        """Keep a release; it may be sent when this returns."""
        self._append(b"r" + release)

    @property
    def model(self) -> dict[str, Any] | None:
        """The party's model; None before the job has ended."""
        found = self._bodies(b"t")
        return json.loads(found[-1]) if found else None

    def keep_model(self, model: dict[str, Any]) -> None:
        """Keep the party's model."""
        self._append(b"t" + json.dumps(model).encode())

    def check_open(self) -> None:
        """Refuse to continue once the log is closed: a release could not be kept."""
        if self._closed:
            raise Refused(f"the release log of job {self._job} is closed; open the party again")

    def close(self) -> None:
        """Let another process continue."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None
        if hasattr(self, "_lock") and not self._closed:
            os.close(self._lock)
        self._closed = True

    def _bodies(self, kind: bytes) -> list[bytes]:
        return [record[1:] for record in self._records[1:] if record[:1] == kind]

    def _append(self, record: bytes) -> None:
        self.check_open()
        if self._journal is not None:
            try:
                self._journal.append(record)
                count = len(self._records) + 1
                os.pwrite(self._lock, count.to_bytes(_COUNT, "little"), 0)
                os.fsync(self._lock)
            except BaseException:
                # Half a record may be on disk: records after it would be lost with it.
                self.close()
                raise
        self._records.append(record)


def _lock(path: Path) -> int:
    descriptor = open_own(path)
    if not lock(descriptor):
        os.close(descriptor)
        raise Refused(f"another process works on {path.stem}; let it end first")
    return descriptor
