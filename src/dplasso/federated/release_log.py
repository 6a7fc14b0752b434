"""The log of a party's releases in a job: each is on disk before anybody sees it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dplasso.federated.errors import Refused
from dplasso.federated.messages import PartyRelease
from dplasso.federated.terms import AmongParties
from dplasso.storage.counted_journal import CountedJournal, JournalInUse, RecordsLost
from dplasso.storage.private_files import make_folder


class ReleaseLog:
    """The releases of one party in one job, in order, and its model at the end.

    With a ``folder`` every record is durable, and one process at a time may write. Without one the
    log lives as long as the object, for simulations.
    A log that has lost releases is refused: they would be drawn again.
    """

    def __init__(self, terms: AmongParties, party: str, folder: Path | None = None) -> None:
        self._job, self._first = terms.job, f"{party} {terms.to_json()}".encode()
        self._records: list[bytes] = []
        self._journal: CountedJournal | None = None
        self._closed = False
        if folder is None:
            return
        make_folder(Path(folder))
        self._journal = self._opened(Path(folder))
        self._records = list(self._journal.records())
        if self._records and self._records[0] != self._first:
            self.close()
            raise Refused(f"job {self._job} was begun on other terms; give the new job a new name")

    def _opened(self, folder: Path) -> CountedJournal:
        job = self._job
        try:
            return CountedJournal(folder / f"{job}.notebook", folder / f"{job}.lock")
        except JournalInUse:
            raise Refused(f"another process works on {job}; let it end first") from None
        except RecordsLost:
            raise Refused(
                f"the release log of job {job} has lost releases, and no release is drawn twice; "
                "restore the log from a copy, or begin a job with another name"
            ) from None

    @property
    def is_durable(self) -> bool:
        """Whether the log outlives the object."""
        return self._journal is not None

    @property
    def begun(self) -> bool:
        """Whether the job was accepted, and charged if it draws anything."""
        return bool(self._records)

    def begin(self) -> None:
        """Record that the job is accepted, and charged if it draws anything."""
        self._append(self._first)

    def has_paid(self, part: str) -> bool:
        """Whether a part of the job is charged, so that its releases may follow."""
        return part.encode() in self._bodies(b"p")

    def keep_payment(self, part: str) -> None:
        """Record that a part of the job is charged."""
        self._append(b"p" + part.encode())

    def has_step(self, step: str) -> bool:
        """Whether a step of the job is done."""
        return step.encode() in self._bodies(b"s")

    def keep_step(self, step: str) -> None:
        """Record that a step of the job is done."""
        if not self.has_step(step):
            self._append(b"s" + step.encode())

    @property
    def count(self) -> bytes | None:
        """The released count of common rows; None before it was drawn."""
        return next(iter(self._bodies(b"c")), None)

    def keep_count(self, release: bytes) -> None:
        """Keep the count of common rows; it may be sent when this returns."""
        self._append(b"c" + release)

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
        self._closed = True

    def _bodies(self, kind: bytes) -> list[bytes]:
        return [record[1:] for record in self._records[1:] if record[:1] == kind]

    def _append(self, record: bytes) -> None:
        self.check_open()
        if self._journal is not None:
            try:
                self._journal.append(record)
            except BaseException:
                self.close()
                raise
        self._records.append(record)
