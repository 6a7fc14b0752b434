"""The lottery among blocks of columns, and random bits that depend on nothing but their place."""

import hashlib
import struct
from typing import NamedTuple

import numpy as np
from randomgen import ChaCha

from dplasso.base.arrays import Floats, Ints
from dplasso.kernels.lottery import draw_cell

# Most blocks that the columns are cut into. It must not depend on who holds them.
BLOCKS = 128
KEY = 32  # bytes
_CHACHA_ROUNDS = 20
_PLACE = struct.Struct("<QQB")
BLOCK, DECISION = 0, 1  # what the random bits of a trial are for


class Standing(NamedTuple):
    """What blocks are worth in a round: whole numbers of tickets, each worth 2^exponent.

    It holds until the path of the margins crosses the block's horizon.
    """

    blocks: Ints
    tickets: Ints
    exponents: Ints
    horizons: Floats


class Trial(NamedTuple):
    """One trial: a ticket of a block, and the key of the random bits that decide it."""

    number: int
    block: int
    ticket: int
    key: bytes


def edges(columns: int) -> Ints:
    """First columns of all blocks, and the end: a function of the number of columns alone."""
    count = min(BLOCKS, columns)
    return np.array([columns * k // count for k in range(count + 1)], np.int64)


def key_for(secret: bytes, round_: int, trial: int, purpose: int) -> bytes:
    """The key of the random bits of one trial of one round, for one purpose."""
    place = _PLACE.pack(round_, trial, purpose)
    return hashlib.blake2b(place, key=secret, digest_size=KEY).digest()


def stream(key: bytes) -> np.random.Generator:
    """The random bits of a key."""
    bits = ChaCha(key=int.from_bytes(key, "little"), rounds=_CHACHA_ROUNDS)
    return np.random.Generator(bits)


def draw_trial(
    secret: bytes, round_: int, number: int, tickets: Ints, exponents: Ints
) -> Trial | None:
    """Draw a block by its worth, and one of its tickets; None if the trial is void.

    Formal guarantees
    -----------------
    Every ticket of every block is drawn with a probability proportional to its worth, exactly
    (`dplasso.kernels.lottery`). The result is a function of the secret, the round, the trial's
    number and the worth of all blocks. The secret's bits must be fair, and no two fits may share
    it.
    """
    generator = stream(key_for(secret, round_, number, BLOCK))
    block, ticket = draw_cell(generator, tickets, exponents)
    if ticket < 0:
        return None
    return Trial(number, int(block), int(ticket), key_for(secret, round_, number, DECISION))
