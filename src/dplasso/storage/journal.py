"""An append-only file of records: after a crash a record is complete or absent."""

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from dplasso.storage.atomic import sync_directory
from dplasso.storage.private_files import open_own

_HEAD = struct.Struct("<QI")  # length and checksum of a record


class Journal:
    """Records of bytes, durable when `append` returns, that only their owner may read.

    An existing file must belong to this user; with ``new`` there must be none.

    A record that a crash has truncated, and everything after it, is removed when the file is
    opened: `append` had not returned, so nobody has acted on it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Journal(Path(folder) / "rows") as journal:
    ...         journal.append(b"one")
    ...     with open(Path(folder) / "rows", "ab") as file:
    ...         _ = file.write(b"half a record")
    ...     with Journal(Path(folder) / "rows") as journal:
    ...         list(journal.records())
    [b'one']
    """

    def __init__(self, path: Path, *, new: bool = False) -> None:
        self._path = path
        self._file = open(open_own(path, new=new), "r+b", buffering=0)  # noqa: SIM115 (till `close`)
        sound = self._sound()
        if sound < os.fstat(self._file.fileno()).st_size:
            self._file.truncate(sound)
        os.fsync(self._file.fileno())
        sync_directory(str(path.parent))

    def append(self, record: bytes) -> None:
        """Add a record; it is durable when this returns, and absent if this raises."""
        whole = _HEAD.pack(len(record), zlib.crc32(record)) + record
        end = self._file.seek(0, os.SEEK_END)
        try:
            if self._file.write(whole) != len(whole):
                raise OSError(f"{self._path} could not be written in full; make room on the disk")
            os.fsync(self._file.fileno())
        except BaseException:
            self._take_back(end)
            raise

    def _take_back(self, end: int) -> None:
        """Remove an incomplete record: opening the file would drop it and all later ones."""
        try:
            self._file.truncate(end)
        except OSError:
            self.close()  # nothing can be appended any more

    def records(self) -> Iterator[bytes]:
        """All records, from the first."""
        place = 0
        while (found := self._record(place)) is not None:
            place += _HEAD.size + len(found)
            yield found

    def _sound(self) -> int:
        return sum(_HEAD.size + len(record) for record in self.records())

    def _record(self, place: int) -> bytes | None:
        self._file.seek(place)
        head = self._file.read(_HEAD.size)
        if len(head) < _HEAD.size:
            return None
        length, checksum = _HEAD.unpack(head)
        if length > os.fstat(self._file.fileno()).st_size:
            return None
        record = self._file.read(length)
        return record if len(record) == length and zlib.crc32(record) == checksum else None

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
