"""The interface of a ledger's store, and the store of an address."""

import os
import re
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from dplasso.base.wording import ParameterError
from dplasso.ledger.entry import Entry, Genesis
from dplasso.ledger.errors import LedgerError

T = TypeVar("T")
DEFAULT = "dplasso-budget.sqlite"
SECONDS_TO_WAIT = 60.0  # for other processes, or for a server that restarts
_URLS = ("postgresql://", "postgres://")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}")
# Other common forms of a database address, often with a password: "host=... password=...",
# another spelling of the URL, or user:password@host.
_CONNECTION = re.compile(
    r"\s*(?:(?:host|hostaddr|port|dbname|user|service|ssl\w+|options|passfile)\s*="
    r"|postgres(?:ql)?(?:\+\w+)?:|(?://)?[^/\s]+:[^/\s]+@)|.*password\s*=",
    re.IGNORECASE | re.DOTALL,
)


class Store(Protocol):
    """An append-only sequence of lines. Every failure raises LedgerError."""

    @property
    def address(self) -> str:
        """The address that `store_of` turns into this store; it may hold a password."""

    @property
    def shown(self) -> str:
        """The address without secrets, for messages."""

    def create(self, genesis: Genesis) -> None:
        """Begin a ledger with this line; do nothing if there is one already."""

    def append(self, id: str, start: int, make: Callable[[list[str]], Entry]) -> str:
        """Add the line that `make` returns for the lines from `start` on; return it once durable.

        Other processes wait meanwhile, so that the lines passed to `make` are the latest. If `make`
        raises, nothing is added. If a line with this `id` exists already, as after a lost
        connection, it is not added again.
        """

    def lines(self, start: int = 0) -> list[str]:
        """All lines in order, or those from a sequence number on; there is at least the first."""


def store_of(address: object) -> Store:
    """The store of an address: a PostgreSQL URL, or the path of a SQLite file."""
    if isinstance(address, str) and address.startswith(_URLS):
        from dplasso.ledger.postgres import PostgresStore

        return PostgresStore(address)
    from dplasso.ledger.sqlite import SQLiteStore

    return SQLiteStore(_path(address))


def _path(address: object) -> str:
    if not isinstance(address, str | os.PathLike):
        raise ParameterError(
            "{store} must be a path or a postgresql:// URL, got {kind}", kind=type(address).__name__
        )
    path = os.fsdecode(address)
    if _CONNECTION.match(path):  # not quoted in the message: it may hold a password
        raise ParameterError(
            "{store} must be a path or a URL; this one looks like a connection to PostgreSQL. "
            "Write it as postgresql://user@host:5432/database#ledger, and keep the password in "
            "PGPASSWORD or ~/.pgpass; write ./ before a path that looks like it"
        )
    scheme, found, _ = path.partition("://")
    if found:
        known = f"{scheme}://" if _SCHEME.fullmatch(scheme) else "what precedes ://"
        raise ParameterError(
            "{store} must be a path or a postgresql:// URL; {known} is not known here", known=known
        )
    if not path or "\0" in path or path.endswith((os.sep, ":memory:")):
        raise ParameterError("{store} must be the path of a file; name one, such as budget.sqlite")
    if os.path.islink(path) and os.lstat(path).st_uid not in (0, os.geteuid()):
        raise ParameterError("{store} is a link that another user has made; name another file")
    # An absolute path, because workers may run in another folder.
    return os.path.realpath(path)


def retried(work: Callable[[], T], passes: Callable[[Exception], bool], pause: float = 0.0) -> T:
    """The result of `work`, which is tried again while it fails for a reason that passes."""
    deadline = time.monotonic() + SECONDS_TO_WAIT
    while True:
        try:
            return work()
        except Exception as error:
            if not passes(error) or time.monotonic() > deadline:
                raise
        time.sleep(pause)


def no_ledger(shown: str) -> LedgerError:
    return LedgerError(
        f"there is no ledger at {shown}; create one with dplasso budget init, or in Python with "
        "dplasso.Budget(epsilon, delta, store=...)"
    )
