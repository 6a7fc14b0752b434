"""Several byte strings as one, such that no two lists of strings give the same bytes."""

from collections.abc import Iterator

from dplasso.federated.errors import Refused

_LENGTH = 4  # bytes


def framed(*parts: bytes) -> bytes:
    """Return the parts, each after its length.

    >>> framed(b"a", b"bc") == framed(b"ab", b"c")
    False
    """
    return b"".join(len(part).to_bytes(_LENGTH, "little") + part for part in parts)


def unframed(content: bytes) -> list[bytes]:
    """Return the parts that `framed` put together, or refuse.

    >>> unframed(framed(b"a", b""))
    [b'a', b'']
    """
    return list(_parts(content))


def _parts(content: bytes) -> Iterator[bytes]:
    place = 0
    while place < len(content):
        start = place + _LENGTH
        place = start + int.from_bytes(content[place:start], "little")
        if start > len(content) or place > len(content):
            raise Refused("the message ends too early")
        yield content[start:place]
