"""ChaCha20 key stream, sixteen blocks at a time, for drawing millions of numbers.

The stream is that of RFC 8439, transposed: word k of sixteen consecutive blocks comes first, then
word k + 1 of the same sixteen. The order does not matter, as long as no bits are used twice.
"""

import numpy as np
from numba import njit

BLOCKS = 16
WORDS = 16 * BLOCKS  # 32-bit words generated at a time


@njit(inline="always")
def _mixed(x, y, bits):  # type: ignore[no-untyped-def]
    """Rotate the exclusive or of two words; casts keep numba from widening them to 64 bits."""
    z = np.uint32(x ^ y)
    return np.uint32(np.uint32(z << np.uint32(bits)) | np.uint32(z >> np.uint32(32 - bits)))


@njit(inline="always")
def _quarter_round(a, b, c, d):  # type: ignore[no-untyped-def]
    """The quarter round of RFC 8439."""
    a = np.uint32(a + b)
    d = _mixed(d, a, 16)
    c = np.uint32(c + d)
    b = _mixed(b, c, 12)
    a = np.uint32(a + b)
    d = _mixed(d, a, 8)
    c = np.uint32(c + d)
    b = _mixed(b, c, 7)
    return a, b, c, d


@njit(inline="always")
def _double_round(x):  # type: ignore[no-untyped-def]
    """The four column and the four diagonal rounds, for all blocks at once.

    One loop over blocks, whose words stay in vector registers from the first round to the last.
    """
    for k in range(BLOCKS):
        a0, b0, c0, d0 = _quarter_round(
            x[k], x[4 * BLOCKS + k], x[8 * BLOCKS + k], x[12 * BLOCKS + k]
        )
        a1, b1, c1, d1 = _quarter_round(
            x[1 * BLOCKS + k], x[5 * BLOCKS + k], x[9 * BLOCKS + k], x[13 * BLOCKS + k]
        )
        a2, b2, c2, d2 = _quarter_round(
            x[2 * BLOCKS + k], x[6 * BLOCKS + k], x[10 * BLOCKS + k], x[14 * BLOCKS + k]
        )
        a3, b3, c3, d3 = _quarter_round(
            x[3 * BLOCKS + k], x[7 * BLOCKS + k], x[11 * BLOCKS + k], x[15 * BLOCKS + k]
        )
        x[k], x[5 * BLOCKS + k], x[10 * BLOCKS + k], x[15 * BLOCKS + k] = _quarter_round(
            a0, b1, c2, d3
        )
        x[1 * BLOCKS + k], x[6 * BLOCKS + k], x[11 * BLOCKS + k], x[12 * BLOCKS + k] = (
            _quarter_round(a1, b2, c3, d0)
        )
        x[2 * BLOCKS + k], x[7 * BLOCKS + k], x[8 * BLOCKS + k], x[13 * BLOCKS + k] = (
            _quarter_round(a2, b3, c0, d1)
        )
        x[3 * BLOCKS + k], x[4 * BLOCKS + k], x[9 * BLOCKS + k], x[14 * BLOCKS + k] = (
            _quarter_round(a3, b0, c1, d2)
        )


@njit(cache=True, nogil=True)
def first_words(key, nonce):  # type: ignore[no-untyped-def]
    """The words that all blocks of a nonce start from; ``key`` has eight and ``nonce`` three."""
    start = np.empty(16, np.uint32)
    start[0], start[1], start[2], start[3] = 0x61707865, 0x3320646E, 0x79622D32, 0x6B206574
    for k in range(8):
        start[4 + k] = key[k]
    for k in range(3):
        start[13 + k] = nonce[k]
    return start


@njit(cache=True, nogil=True)
def fill(start, counter, x, made):  # type: ignore[no-untyped-def]
    """Write `WORDS` words from block ``counter`` on; ``x`` is memory for as many.

    Words are written out one by one: sixteen short loops would take as long as all the rounds.
    """
    s0, s1, s2, s3 = start[0], start[1], start[2], start[3]
    s4, s5, s6, s7 = start[4], start[5], start[6], start[7]
    s8, s9, s10, s11 = start[8], start[9], start[10], start[11]
    s13, s14, s15 = start[13], start[14], start[15]
    for k in range(BLOCKS):
        x[k] = s0
        x[1 * BLOCKS + k] = s1
        x[2 * BLOCKS + k] = s2
        x[3 * BLOCKS + k] = s3
        x[4 * BLOCKS + k] = s4
        x[5 * BLOCKS + k] = s5
        x[6 * BLOCKS + k] = s6
        x[7 * BLOCKS + k] = s7
        x[8 * BLOCKS + k] = s8
        x[9 * BLOCKS + k] = s9
        x[10 * BLOCKS + k] = s10
        x[11 * BLOCKS + k] = s11
        x[13 * BLOCKS + k] = s13
        x[14 * BLOCKS + k] = s14
        x[15 * BLOCKS + k] = s15
        x[12 * BLOCKS + k] = np.uint32(counter + k)
    for _ in range(10):
        _double_round(x)
    for k in range(BLOCKS):
        made[k] = np.uint32(x[k] + s0)
        made[1 * BLOCKS + k] = np.uint32(x[1 * BLOCKS + k] + s1)
        made[2 * BLOCKS + k] = np.uint32(x[2 * BLOCKS + k] + s2)
        made[3 * BLOCKS + k] = np.uint32(x[3 * BLOCKS + k] + s3)
        made[4 * BLOCKS + k] = np.uint32(x[4 * BLOCKS + k] + s4)
        made[5 * BLOCKS + k] = np.uint32(x[5 * BLOCKS + k] + s5)
        made[6 * BLOCKS + k] = np.uint32(x[6 * BLOCKS + k] + s6)
        made[7 * BLOCKS + k] = np.uint32(x[7 * BLOCKS + k] + s7)
        made[8 * BLOCKS + k] = np.uint32(x[8 * BLOCKS + k] + s8)
        made[9 * BLOCKS + k] = np.uint32(x[9 * BLOCKS + k] + s9)
        made[10 * BLOCKS + k] = np.uint32(x[10 * BLOCKS + k] + s10)
        made[11 * BLOCKS + k] = np.uint32(x[11 * BLOCKS + k] + s11)
        made[12 * BLOCKS + k] = np.uint32(x[12 * BLOCKS + k] + np.uint32(counter + k))
        made[13 * BLOCKS + k] = np.uint32(x[13 * BLOCKS + k] + s13)
        made[14 * BLOCKS + k] = np.uint32(x[14 * BLOCKS + k] + s14)
        made[15 * BLOCKS + k] = np.uint32(x[15 * BLOCKS + k] + s15)


@njit(cache=True, nogil=True)
def key_stream(key, nonce, counter, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` (a multiple of `WORDS` long) from block ``counter`` on; returns the next block.

    A nonce serves 2^32 blocks.
    """
    start, x = first_words(key, nonce), np.empty(WORDS, np.uint32)
    for first in range(0, out.size, WORDS):
        fill(start, counter, x, out[first : first + WORDS])
        counter += BLOCKS
    return counter
