"""How much chance is in a key: what its source is asked for, and what of that tells."""

import copy
import hashlib
import os
import pickle
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.mechanisms.noise_key import NoiseKey
from dplasso.mechanisms.random_bits import RandomBits, random_bits
from dplasso.streams import running_sum

LENGTH = 32  # bytes of a key
_SIGMA = 2.0**30  # so that two draws of noise differ


class Source:
    """Stands for the generator that a key is drawn from: bytes known beforehand, one changed."""

    bit_generator = None  # it is nobody's stream

    def __init__(self, changed: int | None = None) -> None:
        self.handed, self._changed = 0, changed

    def bytes(self, length: int) -> bytes:
        """The next ones."""
        places = range(self.handed, self.handed + length)
        self.handed += length
        return bytes(_byte(place) ^ (place == self._changed) for place in places)


def _byte(place: int) -> int:
    return hashlib.sha256(str(place).encode()).digest()[0]


Draw = Callable[[Any], bytes]


def idle_bytes(draw: Draw) -> int:
    """How many of the bytes of a key are not asked for, or leave what is drawn as it was."""
    source = Source()
    found, asked = draw(source), min(source.handed, LENGTH)
    return LENGTH - asked + sum(draw(Source(place)) == found for place in range(asked))


def keyed() -> dict[str, Draw]:
    """Whatever makes a key of its own out of a generator's bits."""
    return {
        "a stream": _stream,
        "a release of sums": _release,
        "a noise key": lambda source: _named(NoiseKey.drawn(_bits(source))),
        "a derived key": lambda source: _named(NoiseKey(source.bytes(32), secure=True).derived(1)),
        "a running sum": _running_sum,
    }


def _bits(source: Any) -> RandomBits:
    return RandomBits(source, secure=True)


def _stream(source: Any) -> bytes:
    return bytes(random_bits(_bits(source)).generator.bytes(LENGTH))


def _named(key: NoiseKey) -> bytes:
    return bytes(key.generator(1, 2).bytes(LENGTH))


def _release(source: Any) -> bytes:
    sums = np.zeros(8, np.int64)
    GridGaussian(_SIGMA).add_to(sums, source, 1)
    return sums.tobytes()


def _running_sum(source: Any) -> bytes:
    total = running_sum(8, sensitivity=1.0, window=2, rho=0.1, seed=_bits(source))
    return bytes(total.stretch(2).values.tobytes())


def fewest_system_bytes(fitted: Callable[[], RandomBits]) -> int:
    """Bytes that the operating system is asked for when a fit, a copy or a child wants a key."""
    held = random_bits()
    sent = pickle.dumps(held)
    ways: list[Callable[[], object]] = [
        fitted,
        lambda: random_bits(held),
        lambda: copy.deepcopy(held),
        lambda: pickle.loads(sent),
        lambda: running_sum(8, sensitivity=1.0, window=2, rho=0.1),
    ]
    found = []
    for way in ways:
        with _watched() as asked:
            way()
        found.append(sum(asked))
    return min(found)


@contextmanager
def _watched() -> Iterator[list[int]]:
    """Notes of what this thread asks the operating system for; it gets what it asks for."""
    asked: list[int] = []
    right, own = os.urandom, threading.get_ident()

    def urandom(size: int) -> bytes:
        if threading.get_ident() == own:
            asked.append(size)
        return right(size)

    os.urandom = urandom
    try:
        yield asked
    finally:
        os.urandom = right
