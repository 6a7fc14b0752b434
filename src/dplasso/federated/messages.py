"""The two messages of a job: requests to a party, and releases, which alone leave it.

Every message has a mark, a version, the digest of the job's terms, and a checksum over all of it.
The checksum detects damage. Who sent a message is proved elsewhere: requests are signed
(`dplasso.federated.requests`), and releases come over the party's own connection. A message may
carry *letters*, from party to party: the server passes them on, and cannot write any.
"""

import hashlib
import struct
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import accumulate, pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dplasso.base.arrays import Floats, Ints
from dplasso.federated.errors import Refused
from dplasso.federated.framing import framed, unframed

Kind = TypeVar("Kind", bound=IntEnum)
Letters = dict[str, bytes]  # by the party that a letter is from, or for

VERSION = 3
_MARK = b"DPLF"
_SEAL = struct.Struct("<4sHB32s")  # mark, version, kind of message, digest of the terms
# Party, round, kind, clip; lengths of text, letters and content, number of numbers.
_REQUEST = struct.Struct("<HIBdIIII")
# Party, round, kind, sign, feature, total, width; lengths of letters and content, numbers.
_RELEASE = struct.Struct("<HIBbqqBIII")
_CHECKSUM = 32
_MOST = 1e100  # limit on numbers in a request: their sums stay finite
_WIDTHS: dict[int, np.dtype[Any]] = {4: np.dtype("<i4"), 8: np.dtype("<i8")}


class Ask(IntEnum):
    """The kind of a request."""

    LABELS = 1  # release the labels' sum and sketch
    SELECT = 2  # select a feature and release it
    FINISH = 3  # keep the weights
    INTRODUCE = 4  # say how many features there are
    AGREE = 5  # agree to the terms
    CONFIRM = 6  # confirm that all parties have agreed to the same terms, and can pay
    BEGIN = 7  # charge the ledger for the next part of the job
    COUNT = 8  # release the count of common rows
    END = 9  # the job ends without coefficients
    START = 10  # all parties have paid: releases of this part may follow
    # Of secret-shared moments:
    ALIGN = 11  # send pseudonyms, to be numbered
    DEAL = 12  # keep random numbers of the server, and the places of rows
    MASK = 13  # keep masked rows of the others, and send one's own
    SHARE = 14  # send the share of the noisy matrix


class Gave(IntEnum):
    """The kind of a release."""

    LABELS = 1
    SHARED = 2  # an index, and the sum and sketch of its column
    AGAIN = 3  # an index whose sketch was released earlier
    NOTHING = 4  # no candidate was left
    STORED = 5  # the weights are kept
    INTRODUCED = 6  # what the party declares; the number of features in place of an index
    AGREED = 7  # the terms are kept
    CONFIRMED = 8
    BEGUN = 9
    COUNTED = 10
    ENDED = 11
    STARTED = 12
    ALIGNED = 13
    DEALT = 14
    MASKED = 15
    PART = 16  # of a share of the noisy matrix


@dataclass(frozen=True)
class PartyRequest:
    """From the coordinator to a party: a function of the terms and of earlier releases.

    For SELECT, ``numbers`` is the sketched residual. For FINISH it has the party's weights: one per
    shared feature, in the order of sharing (except for one whose release was lost when the job
    ended), and at the label holder the intercept last. For INTRODUCE and AGREE, ``text`` is the
    proposal of the job or its terms; for BEGIN and START the part of the job, "count" or "model";
    for FINISH and END it says how the job ended. ``letters`` are
    what other parties wrote to this one, by sender. ``content`` is a slice of what moments deal.
    """

    digest: bytes
    party: int
    round: int
    kind: Ask
    clip: float = 0.0
    numbers: Floats = field(default_factory=lambda: np.empty(0))
    text: str = ""
    letters: Letters = field(default_factory=dict)
    content: bytes = b""

    def to_bytes(self) -> bytes:
        """Pack the message."""
        numbers, text = np.ascontiguousarray(self.numbers, "<f8"), self.text.encode()
        letters = _packed(self.letters)
        sizes = len(text), len(letters), len(self.content), len(numbers)
        head = _REQUEST.pack(self.party, self.round, self.kind, self.clip, *sizes)
        return _seal(1, self.digest, head + text + letters + self.content + numbers.tobytes())

    @classmethod
    def from_bytes(cls, content: bytes) -> "PartyRequest":
        """Unpack a message, or refuse it."""
        digest, body = _unseal(1, content)
        party, at, kind, clip, of_text, of_letters, of_content, count = _fields(_REQUEST, body)
        first, second, third, rest = _cut(body[_REQUEST.size :], of_text, of_letters, of_content)
        numbers, letters = _array(rest, np.dtype("<f8"), count), _unpacked(second)
        # NaN passes no comparison.
        if not ((clip == 0.0 or 1.0 / _MOST <= clip <= _MOST) and (np.abs(numbers) <= _MOST).all()):
            raise Refused(
                "the request has numbers that are not finite, or larger than any residual"
            )
        try:
            text = first.decode()
        except UnicodeDecodeError:
            raise Refused("the text of the request is not UTF-8") from None
        return cls(digest, party, at, _kind(Ask, kind), clip, numbers, text, letters, third)


@dataclass(frozen=True)
class PartyRelease:
    """The one message that leaves a party.

    Formal guarantees
    -----------------
    ``sign`` and ``feature`` are an index drawn by the exponential mechanism. ``total`` and
    ``numbers`` are a column's sum and sketch with Gaussian noise, cut to a public grid, or the
    noisy count of common rows. ``letters``, by recipient, are functions of keys and of the terms.
    ``content`` is what `dplasso.federated.moments.job_party` says. The other fields, and the length
    of the message, are functions of these, of the terms and of the request.
    The cost of all releases of a job: `dplasso.federated.job_plan`.
    """

    digest: bytes
    party: int
    round: int
    kind: Gave
    sign: int = 0
    feature: int = -1
    total: int = 0
    numbers: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    width: int = 4  # bytes per number
    letters: Letters = field(default_factory=dict)
    content: bytes = b""

    def to_bytes(self) -> bytes:
        """Pack the message."""
        numbers = np.ascontiguousarray(self.numbers, _WIDTHS[self.width])
        letters = _packed(self.letters)
        place = self.party, self.round, self.kind
        chosen = self.sign, self.feature, self.total
        sizes = len(letters), len(self.content), len(numbers)
        head = _RELEASE.pack(*place, *chosen, self.width, *sizes)
        return _seal(2, self.digest, head + letters + self.content + numbers.tobytes())

    @classmethod
    def from_bytes(cls, content: bytes) -> "PartyRelease":
        """Unpack a message, or refuse it."""
        digest, body = _unseal(2, content)
        party, at, kind, sign, feature, total, *sizes = _fields(_RELEASE, body)
        width, of_letters, of_content, count = sizes
        if width not in _WIDTHS:
            raise Refused("the numbers of the release have an unknown width")
        first, second, rest = _cut(body[_RELEASE.size :], of_letters, of_content)
        numbers = _array(rest, _WIDTHS[width], count).astype(np.int64)
        chosen, letters = (sign, feature, total), _unpacked(first)
        place = digest, party, at, _kind(Gave, kind)
        return cls(*place, *chosen, numbers, width, letters, second)


def _seal(what: int, digest: bytes, body: bytes) -> bytes:
    content = _SEAL.pack(_MARK, VERSION, what, digest) + body
    return content + hashlib.sha256(content).digest()


def _unseal(what: int, content: bytes) -> tuple[bytes, bytes]:
    if not isinstance(content, bytes) or len(content) < _SEAL.size + _CHECKSUM:
        raise Refused("this is no message of a federation: it is too short")
    mark, version, kind, digest = _SEAL.unpack_from(content)
    if mark != _MARK:
        raise Refused("this is no message of a federation")
    if version != VERSION:
        raise Refused(
            f"the message has version {version}, but this program uses version {VERSION}; "
            "install the same version of dplasso at the server and all parties"
        )
    if hashlib.sha256(content[:-_CHECKSUM]).digest() != content[-_CHECKSUM:]:
        raise Refused("the message is damaged: its checksum is wrong")
    if kind != what:
        raise Refused("the message is a request where a release is expected, or the reverse")
    return digest, content[_SEAL.size : -_CHECKSUM]


def _fields(layout: struct.Struct, body: bytes) -> tuple[int, ...]:
    if len(body) < layout.size:
        raise Refused("the message ends too early")
    return layout.unpack_from(body)


def _cut(content: bytes, *lengths: int) -> list[bytes]:
    """Return parts of these lengths, and the rest."""
    ends = [0, *accumulate(lengths)]
    return [*(content[start:end] for start, end in pairwise(ends)), content[ends[-1] :]]


def _array(content: bytes, dtype: "np.dtype[Any]", count: int) -> NDArray[Any]:
    if len(content) != count * dtype.itemsize:
        raise Refused("the length of the message is not the one that it states")
    return np.frombuffer(content, dtype)


def _packed(letters: Letters) -> bytes:
    return framed(*(part for name, letter in letters.items() for part in (name.encode(), letter)))


def _unpacked(content: bytes) -> Letters:
    parts = unframed(content)
    try:
        names = [name.decode() for name in parts[::2]]
    except UnicodeDecodeError:
        raise Refused("a letter of the message names no party") from None
    if len(parts) % 2 or len(set(names)) < len(names):
        raise Refused("the letters of the message are not one for each of some parties")
    return dict(zip(names, parts[1::2], strict=True))


def _kind(kinds: type[Kind], number: int) -> Kind:
    try:
        return kinds(number)
    except ValueError:
        raise Refused("the message is of an unknown kind") from None
