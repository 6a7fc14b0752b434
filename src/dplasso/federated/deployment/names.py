"""Checks of the names of parties and servers, before certificates are made for them."""

import re
from collections.abc import Sequence

DEFAULT_PORT = 8632
_PARTY = re.compile(r"[a-z][a-z0-9-]{0,38}[a-z0-9]|[a-z]")
_HOST = re.compile(
    r"(?=.{1,63}\Z)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9-]*[A-Za-z0-9])*"
)
_TAKEN = ("admin", "authority", "server")


def check_parties(names: Sequence[str]) -> list[str]:
    """Check the names of parties: all differ, and none is reserved.

    >>> check_parties(["clinic", "registry-2"])
    ['clinic', 'registry-2']
    """
    if len(names) < 2:
        raise ValueError("a federation needs two parties or more; name each with --party")
    for name in names:
        if not _PARTY.fullmatch(name) or name in _TAKEN:
            raise ValueError(
                f"party {name!r} is no valid name; use up to 40 lower-case letters, digits and "
                f"hyphens, begin with a letter, and avoid {', '.join(_TAKEN)}"
            )
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"party {twice[0]!r} is named twice; give every party a name of its own")
    return list(names)


def check_host(host: str) -> str:
    """Check the host name of the server.

    >>> check_host("learn.example.org")
    'learn.example.org'
    """
    if not _HOST.fullmatch(host):
        raise ValueError(
            f"server {host!r} is no host name; give the name or address by which parties reach it, "
            "without a port"
        )
    return host


def check_port(port: int) -> int:
    """Check the port of the server."""
    if not 1 <= port <= 65_535:
        raise ValueError(f"port must be 1 to 65535, got {port}")
    return port
