"""A ledger in one SQLite file, for any number of processes of one machine.

Durability. The ledger uses a rollback journal with ``synchronous=EXTRA``: before `append` returns,
a line is in the one file, and the journal that could undo it is durably deleted. With ``FULL`` a
power cut could bring the journal back, and with it lose a charge whose release is out. A
write-ahead log would leave charges in a second file, and a copy of the first would lack them.

Processes. A connection lasts for one operation and is never shared. A fork waits until the
connections of other threads are closed (a second at most): SQLite's own record of locks must not be
copied into a child while it is in use.
"""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar
from urllib.parse import quote

from dplasso.ledger.entry import Entry, Genesis
from dplasso.ledger.errors import LedgerError
from dplasso.ledger.stores import no_ledger, retried

T = TypeVar("T")
_APPLICATION = 0x64706C62  # "dplb": the application id, which tools such as `file` show
_ATTEMPT = 1.0  # seconds for which SQLite itself waits
_BUSY = ("database is locked", "database table is locked", "database schema is locked")

_TABLE = """CREATE TABLE entries (
    sequence INTEGER PRIMARY KEY CHECK (sequence >= 0),
    id TEXT NOT NULL UNIQUE,
    line TEXT NOT NULL
)"""
_REFUSE = "CREATE TRIGGER {} BEFORE {} ON entries BEGIN SELECT RAISE(ABORT, '{}'); END"
_TRIGGERS = (
    _REFUSE.format("no_update", "UPDATE", "entries of a ledger are never changed"),
    _REFUSE.format("no_delete", "DELETE", "entries of a ledger are never deleted"),
    # INSERT OR REPLACE deletes without asking the trigger above.
    "CREATE TRIGGER in_order BEFORE INSERT ON entries "
    "WHEN NEW.sequence IS NOT (SELECT count(*) FROM entries) "
    "BEGIN SELECT RAISE(ABORT, 'entries of a ledger are added at its end'); END",
)
_SCHEMA = (_TABLE, *_TRIGGERS)
_INSERT = "INSERT INTO entries (sequence, id, line) VALUES (?, ?, ?)"
_SELECT = "SELECT line FROM entries WHERE sequence >= ? ORDER BY sequence"

_in_use = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_in_use.acquire, after_in_parent=_in_use.release, after_in_child=_in_use.release
    )


class SQLiteStore:
    """See the module."""

    def __init__(self, path: str) -> None:
        self.address = self.shown = path

    def create(self, genesis: Genesis) -> None:
        if not os.path.isdir(os.path.dirname(self.address)):
            raise LedgerError(f"{self.shown} is in a folder that does not exist; create that first")

        self._make_private()

        def begin(connection: sqlite3.Connection) -> None:
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                return
            for statement in _SCHEMA:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(_INSERT, (0, genesis.id, genesis.line))

        self._patiently(lambda: self._write(begin, mode="rwc"))

    def _make_private(self) -> None:
        """Make a new file readable by its owner only; SQLite's journal inherits the mode."""
        try:
            os.close(os.open(self.address, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            pass
        except OSError as error:
            raise self._failed(error) from None

    def append(self, id: str, start: int, make: Callable[[list[str]], Entry]) -> str:
        def add(connection: sqlite3.Connection) -> str:
            charge = make(self._lines(connection, start))
            connection.execute(_INSERT, (charge.sequence, id, charge.line))
            return charge.line

        return self._patiently(lambda: self._write(add, mode="rw"))

    def lines(self, start: int = 0) -> list[str]:
        def read() -> list[str]:
            with self._connection("rw") as connection:
                connection.execute("BEGIN")  # everything is read at one point in time
                return self._lines(connection, start)

        return self._patiently(read)

    def _lines(self, connection: sqlite3.Connection, start: int) -> list[str]:
        self._check_schema(connection)
        if start == 0:  # the whole file is checked
            (sound,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
            if sound != "ok":
                raise LedgerError(f"{self.shown} is damaged; it was left as it is")
        return [line for (line,) in connection.execute(_SELECT, [start])]

    def _write(self, work: Callable[[sqlite3.Connection], T], mode: str) -> T:
        with self._connection(mode) as connection:
            connection.execute("BEGIN IMMEDIATE")
            found = work(connection)
            connection.execute("COMMIT")
            return found

    @contextmanager
    def _connection(self, mode: str) -> Iterator[sqlite3.Connection]:
        if mode != "rwc" and not os.path.exists(self.address):
            raise no_ledger(self.shown)
        with _in_use:
            name = f"file:{quote(self.address)}?mode={mode}"
            connection = sqlite3.connect(name, uri=True, timeout=_ATTEMPT, isolation_level=None)
            try:
                (journal,) = connection.execute("PRAGMA journal_mode = DELETE").fetchone()
                if journal != "delete":
                    raise LedgerError(f"{self.shown} keeps a journal of kind {journal}, not delete")
                connection.execute("PRAGMA synchronous = EXTRA")
                connection.execute("PRAGMA fullfsync = ON")  # macOS: flush the drive's cache, too
                yield connection
            finally:
                connection.close()  # undoes what was not committed

    def _check_schema(self, connection: sqlite3.Connection) -> None:
        found = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        if not found:
            raise no_ledger(self.shown)
        if {text for (text,) in found} != set(_SCHEMA) or application != _APPLICATION:
            raise LedgerError(
                f"{self.shown} is not a ledger, or its safeguards were altered; "
                "it was left as it is"
            )

    def _patiently(self, work: Callable[[], T]) -> T:
        """Retry while others lock the file; raise other failures at once."""
        try:
            return retried(work, _is_locked)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._failed(error) from None

    def _failed(self, error: Exception) -> LedgerError:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
            return LedgerError(
                f"{self.shown} is not a ledger, and was left as it is; give the file that dplasso "
                "budget init made"
            )
        return LedgerError(
            f"the ledger {self.shown} could not be read or written: {error}. Nothing was released; "
            "check the disk, the file and its permissions"
        )


def _is_locked(error: Exception) -> bool:
    return isinstance(error, sqlite3.OperationalError) and str(error) in _BUSY
