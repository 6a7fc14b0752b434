"""What a party has drawn for a job, on its disk before anybody sees it."""

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dplasso.federated.errors import Refused
from dplasso.federated.messages import Release
from dplasso.federated.terms import Terms
from dplasso.storage.journal import Journal


class Notebook:
    """The releases of one party in one job, in order, and what it was told at the end.

    With a ``folder`` everything is durable, and one process at a time may write; without, it lives
    as long as the object, for simulations.
    """

    def __init__(self, terms: Terms, party: str, folder: Path | None = None) -> None:
        self._records: list[bytes] = []
        self._journal: Journal | None = None
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = _lock(folder / f"{terms.job}.lock")
            self._journal = Journal(folder / f"{terms.job}.notebook")
            self._records = list(self._journal.records())
        self._first = f"{party} {terms.to_json()}".encode()
        if self._records and self._records[0] != self._first:
            raise Refused(
                f"job {terms.job} was begun on other terms; give the new one a name of its own"
            )

    @property
    def begun(self) -> bool:
        """Whether the job was accepted, and charged."""
        return bool(self._records)

    def begin(self) -> None:
        """Note that the job is accepted and charged: releases may follow."""
        self._append(self._first)

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

    def close(self) -> None:
        """Let another process go on."""
        if self._journal is not None:
            self._journal.close()
            os.close(self._lock)
            self._journal = None

    def _append(self, record: bytes) -> None:
        if self._journal is not None:
            self._journal.append(record)
        self._records.append(record)


def _lock(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise Refused(f"another process works on {path.stem}; let it end first") from None
    return descriptor
