"""Requests of the server, signed as a whole: a party obeys nobody else.

The transport passes messages from party to party. A party can therefore send on whatever came with
a request of the server, to others and with another body. So the signature covers the job, the
recipient, the number of the request in its job, and the body, which holds the digest of the terms,
the round and the kind of the message.
"""

import hashlib
from typing import Any, NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding

from dplasso.federated.errors import Refused
from dplasso.federated.framing import framed, unframed

_CONTEXT = b"dplasso signed request 1"
_NUMBER = 8  # bytes
_PADDING = padding.PSS(padding.MGF1(hashes.SHA256()), padding.PSS.DIGEST_LENGTH)


def signed(key: Any, job: str, recipient: str, number: int, body: bytes) -> bytes:
    """Return a request to one party, signed with the server's private key (RSA)."""
    parts = job.encode(), recipient.encode(), number.to_bytes(_NUMBER, "little"), body
    signature = key.sign(framed(_CONTEXT, *parts), _PADDING, hashes.SHA256())
    return framed(*parts, signature)


class Admitted(NamedTuple):
    """A request that the server has signed for this party."""

    job: str
    body: bytes


class RequestGate:
    """Lets in what the server has signed for one party, in order.

    Requests of a job have increasing numbers. The last one may come again, because an answer may
    have been lost; with another body it is refused, and so is an earlier one. The gate forgets its
    numbers when the party restarts. From then on a party's own log refuses earlier rounds.
    """

    def __init__(self, recipient: str) -> None:
        self._recipient = recipient
        self._last: dict[str, tuple[int, bytes]] = {}  # number and digest, by job

    def admitted(self, content: bytes, key: Any) -> Admitted:
        """Return the job and the body of a request, if ``key`` verifies that the server sent it."""
        try:
            *parts, signature = unframed(content)
            key.verify(signature, framed(_CONTEXT, *parts), _PADDING, hashes.SHA256())
            job, recipient, number, body = parts
        except (ValueError, InvalidSignature):
            raise Refused("the request is not one that the server has signed") from None
        if recipient != self._recipient.encode():
            raise Refused(f"the server has not signed the request for {self._recipient}")
        self._check_order(job.decode(), int.from_bytes(number, "little"), body)
        return Admitted(job.decode(), body)

    def _check_order(self, job: str, number: int, body: bytes) -> None:
        digest = hashlib.sha256(body).digest()
        last, known = self._last.get(job, (number, digest))
        if number < last or (number == last and digest != known):
            raise Refused("the request is a replay: the server has sent a later one, or another")
        self._last[job] = number, digest
