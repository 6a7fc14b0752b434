"""ChaCha20 key stream, sixteen blocks at a time, for drawing millions of numbers.

The stream is that of RFC 8439, transposed: word k of sixteen consecutive blocks comes first, then
word k + 1 of the same sixteen. The order does not matter, as long as no bits are used twice.
"""

import numpy as np
from numba import njit

BLOCKS = 16
WORDS = 16 * BLOCKS  # 32-bit words generated at a time


@njit(inline="always")
def _quarter_round(x, a, b, c, d):  # type: ignore[no-untyped-def]
    """The quarter round of RFC 8439 on four rows, for all blocks at once."""
    p, q, r, s = x[a], x[b], x[c], x[d]
    for k in range(BLOCKS):
        p[k] += q[k]
        s[k] ^= p[k]
        s[k] = (s[k] << np.uint32(16)) | (s[k] >> np.uint32(16))
        r[k] += s[k]
        q[k] ^= r[k]
        q[k] = (q[k] << np.uint32(12)) | (q[k] >> np.uint32(20))
        p[k] += q[k]
        s[k] ^= p[k]
        s[k] = (s[k] << np.uint32(8)) | (s[k] >> np.uint32(24))
        r[k] += s[k]
        q[k] ^= r[k]
        q[k] = (q[k] << np.uint32(7)) | (q[k] >> np.uint32(25))


@njit(cache=True, nogil=True)
def key_stream(key, nonce, counter, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` (a multiple of `WORDS` long) from block ``counter`` on; returns the next block.

    ``key`` has eight words and ``nonce`` three. A nonce serves 2^32 blocks.
    """
    start = np.empty((16, BLOCKS), np.uint32)
    x = np.empty((16, BLOCKS), np.uint32)
    start[0], start[1], start[2], start[3] = 0x61707865, 0x3320646E, 0x79622D32, 0x6B206574
    for k in range(8):
        start[4 + k] = key[k]
    for k in range(3):
        start[13 + k] = nonce[k]
    for first in range(0, out.size, WORDS):
        for k in range(BLOCKS):
            start[12, k] = counter + k
        for w in range(16):
            for k in range(BLOCKS):
                x[w, k] = start[w, k]
        for _ in range(10):
            _quarter_round(x, 0, 4, 8, 12)
            _quarter_round(x, 1, 5, 9, 13)
            _quarter_round(x, 2, 6, 10, 14)
            _quarter_round(x, 3, 7, 11, 15)
            _quarter_round(x, 0, 5, 10, 15)
            _quarter_round(x, 1, 6, 11, 12)
            _quarter_round(x, 2, 7, 8, 13)
            _quarter_round(x, 3, 4, 9, 14)
        made = out[first : first + WORDS].reshape((16, BLOCKS))
        for w in range(16):
            for k in range(BLOCKS):
                made[w, k] = x[w, k] + start[w, k]
        counter += BLOCKS
    return counter
