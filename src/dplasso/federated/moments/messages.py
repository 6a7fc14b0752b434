"""The three messages that carry a job of moments, as bytes.

A *deal* goes from the server to a party, *masked* rows from a party to all others, a *share* from a
party to the server. Each has a mark, a version, its kind, the digest of the job's terms, the number
of the party that it concerns, and a checksum over all of it. The checksum detects damage. The
transport proves who sent a deal or a share, and keeps a deal secret; masked rows are sealed for the
other parties.
"""

import hashlib
import struct
from enum import IntEnum

from dplasso.federated.errors import Refused
from dplasso.federated.moments.terms import MomentTerms

VERSION = 4
KEY_BYTES, TAG_BYTES = 32, 16  # of what is sealed
_MARK = b"DPLM"
_HEAD = struct.Struct("<4sHB32sH")
_CHECKSUM = 32
OVERHEAD = _HEAD.size + _CHECKSUM  # bytes of a message beside its body


class Kind(IntEnum):
    """What a message holds."""

    DEAL = 1
    MASKED = 2
    SHARE = 3


def packed(kind: Kind, terms: MomentTerms, party: str, body: bytes) -> bytes:
    """Return a message. ``party`` is the one that a deal is for, or that sends the message."""
    content = about(kind, terms, party) + body
    return content + hashlib.sha256(content).digest()


def unpacked(kind: Kind, terms: MomentTerms, party: str, message: bytes, length: int) -> bytes:
    """Return the body, or refuse a message that is not just this one for this job."""
    if not isinstance(message, bytes) or len(message) < _HEAD.size + _CHECKSUM:
        raise Refused("this is no message of a federation: it is too short")
    content, checksum = message[:-_CHECKSUM], message[-_CHECKSUM:]
    if content[:4] != _MARK:
        raise Refused("this is no message of secret-shared moments")
    if hashlib.sha256(content).digest() != checksum:
        raise Refused("the message was damaged on its way; send it again")
    if content[: _HEAD.size] != about(kind, terms, party):
        raise Refused("the message is of another kind, version, party, job or attempt")
    if len(content) != _HEAD.size + length:
        raise Refused("the message does not have the length that the terms imply")
    return content[_HEAD.size :]


def checksum_of(message: bytes) -> bytes:
    """Return the checksum at the end of a message."""
    return message[-_CHECKSUM:]


def about(kind: Kind, terms: MomentTerms, party: str) -> bytes:
    """Return the first bytes of a message: what it is, and of whom, in which job."""
    return _HEAD.pack(_MARK, VERSION, kind, terms.digest, terms.number_of(party))
