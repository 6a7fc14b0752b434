"""Checks of the names of parties and servers, before certificates are made for them."""

import re
from collections.abc import Sequence

from dplasso.federated.declaration import require

DEFAULT_PORT = 8632
_PARTY = re.compile(r"[a-z][a-z0-9-]{0,38}[a-z0-9]|[a-z]")
_HOST = re.compile(
    r"(?=.{1,63}\Z)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9-]*[A-Za-z0-9])*"
)
_TAKEN = ("admin", "authority", "server")
_WANTED = "up to 40 lower-case letters, digits and hyphens after a letter, and none of"


def check_parties(names: Sequence[str]) -> list[str]:
    """Check the names of parties: all differ, and none is reserved.

    >>> check_parties(["clinic", "registry-2"])
    ['clinic', 'registry-2']
    """
    require("parties", len(names) >= 2, "two or more; name each of them")
    for name in names:
        valid = _PARTY.fullmatch(name) is not None and name not in _TAKEN
        require(f"party {name!r}", valid, f"{_WANTED} {', '.join(_TAKEN)}")
        require(f"party {name!r}", names.count(name) == 1, "named once; give each another name")
    return list(names)


def check_host(host: str) -> str:
    """Check the host name of the server.

    >>> check_host("learn.example.org")
    'learn.example.org'
    """
    valid = _HOST.fullmatch(host) is not None
    require(f"server {host!r}", valid, "the host name or address of the server, without a port")
    return host
