"""A ledger in PostgreSQL, for any number of machines.

A charge is one transaction: wait for the ledger's lock, read its ends, add a line, commit with
``synchronous_commit`` on. The lock makes others wait; the primary key prevents two lines in the
same place even if a client does not take the lock. If the connection is lost, whether the
transaction was committed or not, a new one is made and waits for the same lock, which the lost
transaction holds until it is committed or undone. Then the line is found by its id, or added.

A connection lasts for one operation: none is shared by threads or survives a fork.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dplasso.base.extras import require
from dplasso.base.wording import ParameterError
from dplasso.ledger import stores
from dplasso.ledger.entry import Entry, Genesis
from dplasso.ledger.errors import LedgerError
from dplasso.ledger.postgres_schema import EXISTS, PREPARE, SCHEMA, TRIGGERS
from dplasso.ledger.stores import no_ledger, retried

if TYPE_CHECKING:
    import psycopg

_NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")
_PAUSE = 0.25  # seconds between attempts to reach a server that does not answer
_DEFAULTS = {  # connection options that detect a dead network, unless the URL sets them
    "application_name": "dplasso budget",
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtextextended('dplasso budget ' || %s, 0))"
_INSERT = "INSERT INTO dplasso_budget (ledger, sequence, id, line) VALUES (%s, %s, %s, %s)"
_BY_ID = "SELECT line FROM dplasso_budget WHERE ledger = %s AND id = %s"
_LINES = "SELECT line FROM dplasso_budget WHERE ledger = %s AND sequence >= %s ORDER BY sequence"


class PostgresStore:
    """See the module. The part after ``#`` in the URL names one of several ledgers."""

    def __init__(self, address: str) -> None:
        self._driver = require(
            "psycopg", "conninfo", extra="postgres", purpose="a ledger in PostgreSQL"
        )
        self.address = address
        url, _, name = address.partition("#")
        self._ledger = name or "budget"
        try:
            if not _NAME.fullmatch(self._ledger):
                raise self._driver.ProgrammingError
            self._options = {**_DEFAULTS, **self._driver.conninfo.conninfo_to_dict(url)}
        except self._driver.Error:
            # The driver's message could quote the password.
            raise ParameterError(
                "{store} must be a URL such as postgresql://user@host:5432/database#ledger; this "
                "one could not be read. Signs in a password are written in percent: # is %23"
            ) from None
        self.shown = _shown(self._options, name)

    def create(self, genesis: Genesis) -> None:
        with self._errors_reported(), self._transaction() as connection:
            if not connection.execute(EXISTS).fetchone():
                connection.execute(_ONE_AT_A_TIME, ["schema"])
                if not connection.execute(EXISTS).fetchone():
                    connection.execute(SCHEMA)
            connection.execute(_ONE_AT_A_TIME, [self._ledger])
            if not connection.execute(_LINES, [self._ledger, 0]).fetchone():
                connection.execute(_INSERT, (self._ledger, 0, genesis.id, genesis.line))

    def append(self, id: str, start: int, make: Callable[[list[str]], Entry]) -> str:
        def add() -> str:
            with self._transaction() as connection:
                connection.execute(_ONE_AT_A_TIME, [self._ledger])
                lines = self._lines(connection, start)
                known = connection.execute(_BY_ID, [self._ledger, id]).fetchone()
                if known:
                    return str(known[0])
                charge = make(lines)
                connection.execute(_INSERT, (self._ledger, charge.sequence, id, charge.line))
                return charge.line

        driver = self._driver
        lost = (driver.OperationalError, driver.InterfaceError, driver.errors.UniqueViolation)
        with self._errors_reported():  # retry until the server answers
            return retried(add, lambda error: isinstance(error, lost), _PAUSE)

    def lines(self, start: int = 0) -> list[str]:
        with self._errors_reported(), self._transaction() as connection:
            return self._lines(connection, start)

    def _lines(self, connection: "psycopg.Connection[Any]", start: int) -> list[str]:
        self._check_schema(connection)
        lines = [line for (line,) in connection.execute(_LINES, [self._ledger, start])]
        if start == 0 and not lines:
            raise no_ledger(self.shown)
        return lines

    @contextmanager
    def _transaction(self) -> Iterator["psycopg.Connection[Any]"]:
        """A new connection whose changes are committed at the end, or undone on an error."""
        with self._driver.connect(**self._options) as connection:
            connection.isolation_level = self._driver.IsolationLevel.READ_COMMITTED
            patience = f"{1000 * stores.SECONDS_TO_WAIT:.0f}ms"
            (safe, *_) = connection.execute(PREPARE, [patience]).fetchone() or (False,)
            if not safe:
                raise LedgerError(
                    f"the server of {self.shown} runs with fsync off: a power cut could lose "
                    "charges; turn it on"
                )
            yield connection

    def _check_schema(self, connection: "psycopg.Connection[Any]") -> None:
        if not connection.execute(EXISTS).fetchone():
            raise no_ledger(self.shown)
        enabled = connection.execute(TRIGGERS).fetchall()
        if enabled != [
            ("dplasso_budget_add",),
            ("dplasso_budget_keep",),
            ("dplasso_budget_whole",),
        ]:
            raise LedgerError(f"the safeguards of {self.shown} were altered: triggers are missing")

    @contextmanager
    def _errors_reported(self) -> Iterator[None]:
        try:
            yield
        except self._driver.Error as error:
            raise self._failed(error) from None

    def _failed(self, error: Exception) -> LedgerError:
        reason = " ".join(str(error).split())
        for name in ("password", "sslpassword"):
            if secret := self._options.get(name):
                reason = reason.replace(str(secret), "***")
        return LedgerError(
            f"the ledger {self.shown} could not be reached or written: {reason}. Nothing was "
            "released; check the server, the URL and the rights of its user"
        )


def _shown(options: dict[str, Any], name: str) -> str:
    """The URL without anything secret."""
    user = f"{options['user']}@" if options.get("user") else ""
    port = f":{options['port']}" if options.get("port") else ""
    place = f"{options.get('host') or ''}{port}/{options.get('dbname') or ''}"
    return f"postgresql://{user}{place}{'#' if name else ''}{name}"
