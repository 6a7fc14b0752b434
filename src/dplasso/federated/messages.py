"""What travels: requests to a party, and the one thing that ever leaves it.

Every message is sealed: a mark, a version, the digest of the job's terms, and a checksum over all
of it. The checksum finds damage; who sent a message is for the transport to prove.
"""

import hashlib
import struct
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dplasso.base.arrays import Floats, Ints
from dplasso.federated.errors import Refused

Kind = TypeVar("Kind", bound=IntEnum)

VERSION = 1
_MARK = b"DPLF"
_SEAL = struct.Struct("<4sHB32s")  # mark, version, what it is, digest of the terms
_REQUEST = struct.Struct("<HIBdII")  # party, round, kind, clip, length of the text, numbers
_RELEASE = struct.Struct("<HIBbqqBI")  # party, round, kind, sign, feature, total, width, numbers
_CHECKSUM = 32
_MOST = 1e100  # of any number in a request: sums of them stay finite
_WIDTHS: dict[int, np.dtype[Any]] = {4: np.dtype("<i4"), 8: np.dtype("<i8")}


class Ask(IntEnum):
    """What a request wants: labels' sketch, a feature, or that weights are kept; and before that,
    how many features there are, and that terms are agreed to."""

    LABELS = 1
    SELECT = 2
    FINISH = 3
    INTRODUCE = 4
    AGREE = 5


class Gave(IntEnum):
    """What a release holds."""

    LABELS = 1
    SHARED = 2  # an index, and the sum and sketch of its column
    AGAIN = 3  # an index whose sketch was released before
    NOTHING = 4  # there was no candidate
    STORED = 5  # the weights are kept
    INTRODUCED = 6  # in the place of an index: how many features the party has declared
    AGREED = 7  # the terms are kept


@dataclass(frozen=True)
class Request:
    """From the coordinator to a party: a function of the terms and of earlier releases.

    ``numbers`` is the sketched residual, for SELECT, or for FINISH the party's weights: one for
    each feature it shared, in the order of sharing (but for one whose release was lost on the way
    when the job ended), and at the label holder the intercept last.
    ``text`` is the offer of a job or its terms, where those are at issue.
    """

    digest: bytes
    party: int
    round: int
    kind: Ask
    clip: float = 0.0
    numbers: Floats = field(default_factory=lambda: np.empty(0))
    text: str = ""

    def to_bytes(self) -> bytes:
        numbers, text = np.ascontiguousarray(self.numbers, "<f8"), self.text.encode()
        head = _REQUEST.pack(self.party, self.round, self.kind, self.clip, len(text), len(numbers))
        return _seal(1, self.digest, head + text + numbers.tobytes())

    @classmethod
    def from_bytes(cls, content: bytes) -> "Request":
        digest, body = _unseal(1, content)
        party, at, kind, clip, length, count = _fields(_REQUEST, body)
        rest = body[_REQUEST.size :]
        numbers = _array(rest[length:], np.dtype("<f8"), count)
        # NaN passes no comparison.
        if not ((clip == 0.0 or 1.0 / _MOST <= clip <= _MOST) and (np.abs(numbers) <= _MOST).all()):
            raise Refused("a request with numbers that are not finite, or beyond any residual")
        try:
            text = rest[:length].decode()
        except UnicodeDecodeError:
            raise Refused("a request with a text that is none") from None
        return cls(digest, party, at, _kind(Ask, kind), clip, numbers, text)


@dataclass(frozen=True)
class Release:
    """Everything that leaves a party, and nothing else does.

    Formal guarantees
    -----------------
    ``sign`` and ``feature`` are an index drawn by the exponential mechanism; ``total`` and
    ``numbers`` a column's sum and sketch with Gaussian noise, cut to a public grid. The other
    fields, and the length of the message, are functions of these, of the terms and of the request.
    What all releases of a job cost together: `dplasso.federated.plan`.
    """

    digest: bytes
    party: int
    round: int
    kind: Gave
    sign: int = 0
    feature: int = -1
    total: int = 0
    numbers: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    width: int = 4  # bytes a number

    def to_bytes(self) -> bytes:
        numbers = np.ascontiguousarray(self.numbers, _WIDTHS[self.width])
        head = _RELEASE.pack(
            self.party,
            self.round,
            self.kind,
            self.sign,
            self.feature,
            self.total,
            self.width,
            len(numbers),
        )
        return _seal(2, self.digest, head + numbers.tobytes())

    @classmethod
    def from_bytes(cls, content: bytes) -> "Release":
        digest, body = _unseal(2, content)
        party, at, kind, sign, feature, total, width, count = _fields(_RELEASE, body)
        if width not in _WIDTHS:
            raise Refused("a release with numbers of an unknown width")
        numbers = _array(body[_RELEASE.size :], _WIDTHS[width], count)
        kind = _kind(Gave, kind)
        return cls(digest, party, at, kind, sign, feature, total, numbers.astype(np.int64), width)


def _seal(what: int, digest: bytes, body: bytes) -> bytes:
    content = _SEAL.pack(_MARK, VERSION, what, digest) + body
    return content + hashlib.sha256(content).digest()


def _unseal(what: int, content: bytes) -> tuple[bytes, bytes]:
    if not isinstance(content, bytes) or len(content) < _SEAL.size + _CHECKSUM:
        raise Refused("no message of a federation: it is too short")
    mark, version, kind, digest = _SEAL.unpack_from(content)
    if mark != _MARK:
        raise Refused("no message of a federation")
    if version != VERSION:
        raise Refused(f"a message of version {version}; this one speaks version {VERSION}")
    if hashlib.sha256(content[:-_CHECKSUM]).digest() != content[-_CHECKSUM:]:
        raise Refused("a damaged message: its checksum is wrong")
    if kind != what:
        raise Refused("a request where a release is due, or the other way round")
    return digest, content[_SEAL.size : -_CHECKSUM]


def _fields(layout: struct.Struct, body: bytes) -> tuple[int, ...]:
    if len(body) < layout.size:
        raise Refused("a message that ends too early")
    return layout.unpack_from(body)


def _array(content: bytes, dtype: "np.dtype[Any]", count: int) -> NDArray[Any]:
    if len(content) != count * dtype.itemsize:
        raise Refused("a message whose length is not the one it states")
    return np.frombuffer(content, dtype)


def _kind(kinds: type[Kind], number: int) -> Kind:
    try:
        return kinds(number)
    except ValueError:
        raise Refused("a message of an unknown kind") from None
