"""What two parties send each other through a server that must not read it."""

from collections.abc import Mapping
from typing import Any, Protocol

from dplasso.base.extras import require
from dplasso.base.wording import ParameterError
from dplasso.federated.errors import Refused
from dplasso.federated.moments.messages import KEY_BYTES
from dplasso.federated.moments.ring import derived

_NONCE = bytes(12)  # each key seals one message


class PairSecrets(Protocol):
    """What a party can do with the secrets that it shares with each other party alone."""

    def seal(self, recipient: str, content: bytes, about: bytes) -> bytes:
        """Encrypt for one party; ``about`` is authenticated, and names one message only."""

    def open(self, sender: str, sealed: bytes, about: bytes) -> bytes:
        """Decrypt what another party sealed, or refuse it."""

    def mask_key(self, peer: str, about: bytes) -> bytes:
        """Return a key of 32 bytes that both ends have, and nobody else."""


class SealedPairs:
    """`PairSecrets` from one key of 32 bytes per pair, by ChaCha20-Poly1305 (RFC 8439).

    Formal guarantees
    -----------------
    Nothing is released. Whoever lacks the key of a pair learns only the length of what the pair
    sends, and cannot change it unnoticed, if ChaCha20-Poly1305 is secure. Each message has its own
    key, which follows from the pair's key, the direction and ``about``; so one fixed nonce is
    enough as long as one ``about`` serves one content. `MomentParty` ensures that.
    """

    def __init__(self, name: str, keys: Mapping[str, bytes]) -> None:
        if any(not isinstance(key, bytes) or len(key) != KEY_BYTES for key in keys.values()):
            raise ParameterError(f"{{keys}} must be {KEY_BYTES} bytes for each other party")
        self._name, self._keys = name, dict(keys)

    def seal(self, recipient: str, content: bytes, about: bytes) -> bytes:
        """Encrypt for one party."""
        return encrypted(
            self._key(recipient, b"seal", self._name, recipient, about), content, about
        )

    def open(self, sender: str, sealed: bytes, about: bytes) -> bytes:
        """Decrypt what another party sealed, or refuse it."""
        return decrypted(self._key(sender, b"seal", sender, self._name, about), sealed, about)

    def mask_key(self, peer: str, about: bytes) -> bytes:
        """Return a key that both ends have."""
        first, second = sorted([self._name, peer])
        return self._key(peer, b"mask", first, second, about)

    def _key(self, peer: str, purpose: bytes, first: str, second: str, about: bytes) -> bytes:
        if peer not in self._keys:
            raise ParameterError(f"{{keys}} has no key for party {peer}; add one")
        return derived(self._keys[peer], purpose, first.encode(), second.encode(), about)


def encrypted(key: bytes, content: bytes, about: bytes) -> bytes:
    """Encrypt under a key that serves no other message."""
    sealed: bytes = _cipher(key).encrypt(_NONCE, content, about)
    return sealed


def decrypted(key: bytes, sealed: bytes, about: bytes) -> bytes:
    """Decrypt, or refuse what was changed or made under another key."""
    library = require("cryptography", "exceptions", extra="federated", purpose="a federation")
    try:
        content: bytes = _cipher(key).decrypt(_NONCE, sealed, about)
    except library.exceptions.InvalidTag:
        raise Refused(
            "a message of another party does not open: it was changed, or sealed under another key"
        ) from None
    return content


def _cipher(key: bytes) -> Any:
    part = "hazmat.primitives.ciphers.aead"
    library = require("cryptography", part, extra="federated", purpose="a federation")
    return library.hazmat.primitives.ciphers.aead.ChaCha20Poly1305(key)
