"""Repeatable noise: each draw is a function of a secret key and a name.

Where noise belongs to a place (a node of a tree, a step of a stream), a program that restarts must
not draw it independently again: two draws for one place would double the privacy cost.
"""

import hashlib
import os
import struct
from typing import NoReturn

import numpy as np
from randomgen import ChaCha

from dplasso.mechanisms.random_bits import RandomBits

_ROUNDS = 20
_HALF = 32  # bytes of half a hash
# Purposes that a name is used for.
_BITS, _DIGITS, _KEY = b"dplasso bits", b"dplasso digits", b"dplasso key"


class NoiseKey:
    """A secret of 256 bits that turns names, a few whole numbers, into independent random bits.

    Formal guarantees
    -----------------
    - Names are hashed under the secret by keyed BLAKE2b; the hash is the key of a ChaCha20 stream.
      Streams of different names are independent and fair for anyone who cannot tell BLAKE2b from a
      random function or ChaCha20 from random bits; one name always gives the same stream.
    - Cost and neighbouring relation: none. Names must be public: they read no data.
    - Assumptions: nobody else sees the secret, and each name serves one draw of noise for one set
      of data. The same noise added to other data would reveal the difference of the two without
      noise. A key is therefore never copied, neither by pickle nor by `copy`, and it raises an
      error in a forked child. Code that stores `secret` takes over that duty.

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
        """An independent key for its own set of names."""
        return NoiseKey(self._hash(name, _KEY)[:32], secure=self.secure)

    def generator(self, *name: int) -> np.random.Generator:
        """The random bits of a name, from the start of its stream."""
        key = int.from_bytes(self._hash(name, _BITS)[:32], "little")
        return np.random.Generator(ChaCha(key=key, rounds=_ROUNDS))

    def two_numbers(self, count: int, *name: int) -> tuple[int, int]:
        """The first ``count`` binary digits of a name's two uniform numbers between 0 and 1.

        A larger ``count`` gives further digits of the same numbers.
        """
        blocks = -(-count // (8 * _HALF))
        parts = [self._hash((*name, block), _DIGITS) for block in range(blocks)]
        rest = 8 * _HALF * blocks - count
        first = int.from_bytes(b"".join([part[:_HALF] for part in parts]), "big") >> rest
        second = int.from_bytes(b"".join([part[_HALF:] for part in parts]), "big") >> rest
        return first, second

    def check_process(self) -> None:
        """Raise in a forked child; for code that draws from streams derived from the key."""
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
