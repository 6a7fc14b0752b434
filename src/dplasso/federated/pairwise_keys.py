"""Keys that two parties share in a job, and that the server does not have.

Each party draws an X25519 key for the job, and introduces it to the others with a MAC under the
secret that all parties share. Two introduced parties have a shared key, from which keys for any
purpose follow. The server passes introductions on. It cannot make one, since it lacks the secret.
"""

import hashlib
import hmac
from collections.abc import Mapping
from functools import cached_property

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from dplasso.federated.errors import Refused
from dplasso.federated.framing import framed

KEY_BYTES = 32  # also of public keys and of MACs


class OtherSecret(Refused):
    """A party was introduced under another secret than one's own."""


class PartyKey:
    """The key of one party in one job.

    ``private`` is 32 random bytes, which the party keeps with its job.
    """

    def __init__(self, job: str, name: str, secret: bytes, private: bytes) -> None:
        self._job, self.name, self._secret = job, name, secret
        self._private = X25519PrivateKey.from_private_bytes(private)

    @cached_property
    def introduction(self) -> bytes:
        """The public key, and its MAC under the parties' secret: for all other parties."""
        public = self._private.public_key().public_bytes_raw()
        return public + self._mac_of(self.name, public)

    def agreed(self, introductions: Mapping[str, bytes]) -> "PairwiseKeys":
        """Return the keys shared with the parties that introduced themselves, by name.

        An introduction under another secret is refused: its sender has another secret file, or
        the server has changed the introduction.
        """
        strange = [
            name
            for name, introduction in introductions.items()
            if not hmac.compare_digest(
                introduction[KEY_BYTES:], self._mac_of(name, introduction[:KEY_BYTES])
            )
        ]
        if strange:
            raise OtherSecret(
                f"{self.name} does not have the same secret as {', '.join(strange)}; compare the "
                "secret files of these parties, which must be equal, and submit the job again"
            )
        return PairwiseKeys(
            self.name,
            {
                name: self._shared_with(name, introduction[:KEY_BYTES])
                for name, introduction in introductions.items()
            },
        )

    def _mac_of(self, name: str, public: bytes) -> bytes:
        key = hkdf(self._secret, framed(b"dplasso introduction", self._job.encode()))
        return hmac.digest(key, framed(name.encode(), public), hashlib.sha256)

    def _shared_with(self, peer: str, public: bytes) -> bytes:
        try:
            raw = self._private.exchange(X25519PublicKey.from_public_bytes(public))
        except ValueError:
            raise Refused(f"the public key of {peer} is not valid") from None
        # Both public keys are fresh: as nonces they make the key one of this job alone.
        own = self.introduction[:KEY_BYTES]
        ends = sorted([(self.name.encode(), own), (peer.encode(), public)])
        return hkdf(raw, framed(b"dplasso pair", self._job.encode(), *ends[0], *ends[1]))


class PairwiseKeys:
    """The keys that one party shares with each of the others in a job.

    Guarantees: whoever lacks both the secret of the parties and the private keys of a pair learns
    nothing of the pair's keys, and can make no tag under them. A party that shares its secret with
    the server can introduce itself as another party.
    """

    def __init__(self, name: str, shared: Mapping[str, bytes]) -> None:
        self.name, self._shared = name, dict(shared)

    @property
    def peers(self) -> list[str]:
        """The other parties."""
        return list(self._shared)

    def key(self, peer: str, purpose: str) -> bytes:
        """Return the key of a pair for one purpose: equal at both ends."""
        return hkdf(self._shared[peer], framed(b"dplasso purpose", purpose.encode()))

    def tag(self, recipient: str, purpose: str, content: bytes) -> bytes:
        """Return the MAC of a message from this party to another."""
        return self._mac(recipient, self.name, recipient, purpose, content)

    def is_from(self, sender: str, purpose: str, content: bytes, tag: bytes) -> bool:
        """Whether a tag is the sender's, for this message to this party."""
        return hmac.compare_digest(tag, self._mac(sender, sender, self.name, purpose, content))

    def _mac(self, peer: str, sender: str, recipient: str, purpose: str, content: bytes) -> bytes:
        message = framed(sender.encode(), recipient.encode(), content)
        return hmac.digest(self.key(peer, f"tag of {purpose}"), message, hashlib.sha256)


def hkdf(material: bytes, purpose: bytes) -> bytes:
    """Return the key of 32 bytes for one purpose, by HKDF-SHA256."""
    return HKDF(hashes.SHA256(), KEY_BYTES, salt=None, info=purpose).derive(material)
