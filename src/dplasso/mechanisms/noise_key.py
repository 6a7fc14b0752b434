"""Noise that comes out the same when it is drawn again: a secret key, and a name for each draw.

Where noise belongs to a place (a node of a tree, a step of a stream) a program that is stopped and
started again must never draw it anew: two draws for one place would double the privacy cost. Here a
draw is a function of a secret key and the name of its place.
"""

import hashlib
import os
import struct
from typing import NoReturn

import numpy as np
from randomgen import ChaCha

from dplasso.mechanisms.random_bits import RandomBits

_ROUNDS = 20
_HALF = 32  # bytes, of a hash
# What one name is used for.
_BITS, _DIGITS, _KEY = b"dplasso bits", b"dplasso digits", b"dplasso key"


class NoiseKey:
    """A secret of 256 bits that turns names, a few whole numbers, into independent random bits.

    Formal guarantees
    -----------------
    - Names are hashed under the secret by keyed BLAKE2b; the hash is the key of a ChaCha20 stream.
      To those who are unable to tell BLAKE2b from a random function, or ChaCha20 from random bits,
      streams of different names are independent and fair; those of one name are the same, always.
    - Cost and neighbouring relation: none. Names must be public: they read no data.
    - Assumptions: the secret is seen by nobody else, and one name serves one draw of noise, beside
      one set of data. Noise of one name beside other data reveals their difference, without noise.
      A key is therefore never copied: not by pickle, not by `copy`, and it refuses to work in a
      forked child. Whoever writes `secret` down takes that duty over.

    >>> key = NoiseKey(bytes(32), secure=False)
    >>> key.generator(1, 2).integers(100) == key.generator(1, 2).integers(100)
    np.True_
    """

    def __init__(self, secret: bytes, *, secure: bool) -> None:
        if not isinstance(secret, bytes) or len(secret) != 32:
            kind = type(secret).__name__
            raise ValueError(f"secret must be 32 bytes, got {kind}; draw one with NoiseKey.drawn")
        self.secret, self.secure = secret, secure
        self._process = os.getpid()

    @classmethod
    def drawn(cls, bits: RandomBits) -> "NoiseKey":
        """A new key."""
        return cls(bits.generator.bytes(32), secure=bits.secure)

    def derived(self, *name: int) -> "NoiseKey":
        """A key of its own, whose names are others."""
        return NoiseKey(self._hash(name, _KEY)[:32], secure=self.secure)

    def generator(self, *name: int) -> np.random.Generator:
        """The random bits of a name, from their beginning."""
        key = int.from_bytes(self._hash(name, _BITS)[:32], "little")
        return np.random.Generator(ChaCha(key=key, rounds=_ROUNDS))

    def two_numbers(self, count: int, *name: int) -> tuple[int, int]:
        """The first ``count`` binary digits of a name's two uniform numbers between 0 and 1.

        Asked for more digits, the same numbers are told more precisely.
        """
        blocks = -(-count // (8 * _HALF))
        parts = [self._hash((*name, block), _DIGITS) for block in range(blocks)]
        rest = 8 * _HALF * blocks - count
        first = int.from_bytes(b"".join([part[:_HALF] for part in parts]), "big") >> rest
        second = int.from_bytes(b"".join([part[_HALF:] for part in parts]), "big") >> rest
        return first, second

    def check_process(self) -> None:
        """Refuse to go on in a forked child; for whoever draws from what was made of the key."""
        if os.getpid() != self._process:
            raise RuntimeError(
                "a forked process would draw the noise of its parent a second time, beside other "
                "data; save the state and resume it in one process only"
            )

    def _hash(self, name: tuple[int, ...], purpose: bytes) -> bytes:
        self.check_process()
        text = struct.pack(f"<{len(name)}q", *name)
        return hashlib.blake2b(text, key=self.secret, person=purpose).digest()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a noise key can not be copied: two that draw the same noise would undo its protection"
        )
