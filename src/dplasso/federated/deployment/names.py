"""Names of parties and servers stand in certificates: they are checked before those are made."""

import re
from collections.abc import Sequence

DEFAULT_PORT = 8632
_PARTY = re.compile(r"[a-z][a-z0-9-]{0,38}[a-z0-9]|[a-z]")
_HOST = re.compile(
    r"(?=.{1,63}\Z)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9-]*[A-Za-z0-9])*"
)
_TAKEN = ("admin", "authority", "server")


def check_parties(names: Sequence[str]) -> list[str]:
    """Names of parties, all different and none that something else has.

    >>> check_parties(["clinic", "registry-2"])
    ['clinic', 'registry-2']
    """
    if len(names) < 2:
        raise ValueError("a federation needs two parties or more; name each with --party")
    for name in names:
        if not _PARTY.fullmatch(name) or name in _TAKEN:
            raise ValueError(
                f"party {name!r} cannot be named so; take up to 40 small letters, digits and "
                f"hyphens that begin with a letter, and none of {', '.join(_TAKEN)}"
            )
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"party {twice[0]!r} is named twice; give every party a name of its own")
    return list(names)


def check_host(host: str) -> str:
    """The name that parties reach the server by.

    >>> check_host("learn.example.org")
    'learn.example.org'
    """
    if not _HOST.fullmatch(host):
        raise ValueError(
            f"server {host!r} is no host name; give the name or address that parties reach it by, "
            "without a port (--port has that)"
        )
    return host


def check_port(port: int) -> int:
    if not 1 <= port <= 65_535:
        raise ValueError(f"port must be 1 to 65535, got {port}")
    return port
