"""Whole numbers modulo 2^64: matrix products that are exact, by BLAS, and random numbers.

numpy multiplies matrices of integers without BLAS, tens of times as slowly. So each number is cut
into limbs of 22 bits. Products of limbs, added up over 512 rows, stay below 2^53, where doubles are
exact in any order of summation.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from dplasso.base.extras import require
from dplasso.federated.framing import framed

Ring = NDArray[np.uint64]

_LIMB, _LIMBS = 22, 3
_ROWS = 512  # 2 * 22 + log2(512) = 53 bits
_MASK = np.uint64((1 << _LIMB) - 1)
_BYTES = np.dtype("<u8")


def product(left: Ring, right: Ring) -> Ring:
    """Return left' right modulo 2^64, for matrices with the same number of rows.

    >>> product(np.array([[2**63], [3]], np.uint64), np.array([[2], [5]], np.uint64))
    array([[15]], dtype=uint64)
    """
    p, q = left.shape[1], right.shape[1]
    # Sums of products of limbs i and j count 2^(22 (i + j)); from i + j = 3 on that is 0.
    by_place = np.zeros((_LIMBS, p, q), np.uint64)
    for start in range(0, len(left), _ROWS):
        part = slice(start, start + _ROWS)
        sums = (_limbs(left[part]).T @ _limbs(right[part])).astype(np.uint64)
        blocks = sums.reshape(_LIMBS, p, _LIMBS, q)
        for i in range(_LIMBS):
            for j in range(_LIMBS - i):
                by_place[i + j] += blocks[i, :, j]
    total = np.zeros((p, q), np.uint64)
    for place in range(_LIMBS):
        total += by_place[place] << np.uint64(_LIMB * place)
    return total


def _limbs(numbers: Ring) -> NDArray[np.float64]:
    """The limbs of all columns side by side, the lowest first."""
    shifts = [np.uint64(_LIMB * place) for place in range(_LIMBS)]
    return np.hstack([((numbers >> shift) & _MASK).astype(np.float64) for shift in shifts])


def expanded(key: bytes, shape: tuple[int, ...]) -> Ring:
    """Return uniform numbers that follow from a key of 32 bytes: ChaCha20 as in RFC 8439.

    Formal guarantees
    -----------------
    Nothing is released. Whoever lacks the key cannot tell the numbers from uniform ones, unless
    they can tell ChaCha20 from random bits. A key serves one call: equal keys give equal numbers.
    """
    modules = "hazmat.primitives.ciphers", "hazmat.primitives.ciphers.algorithms"
    library = require("cryptography", *modules, extra="federated", purpose="a federation")
    ciphers = library.hazmat.primitives.ciphers
    stream = ciphers.Cipher(ciphers.algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()
    count = int(np.prod(shape))
    numbers = np.frombuffer(stream.update(bytes(count * _BYTES.itemsize)), _BYTES)
    return numbers.astype(np.uint64).reshape(shape)


def derived(key: bytes, *purpose: bytes) -> bytes:
    """Return the key of 32 bytes for one purpose. Other purposes have independent keys.

    >>> derived(bytes(32), b"a", b"bc") == derived(bytes(32), b"ab", b"c")
    False
    """
    text = framed(*purpose)
    return hashlib.blake2b(text, key=key, digest_size=32, person=b"dplasso moments").digest()


def to_bytes(numbers: Ring) -> bytes:
    """Return numbers as they travel: 8 bytes each, the lowest first."""
    return np.ascontiguousarray(numbers, _BYTES).tobytes()


def from_bytes(content: bytes, shape: tuple[int, ...]) -> Ring:
    """Read what `to_bytes` wrote. The caller has checked the length."""
    return np.frombuffer(content, _BYTES).astype(np.uint64).reshape(shape)
