"""How much randomness is in a key: the bytes drawn for it, and those that affect the output."""

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
_SIGMA = 2.0**30  # large enough that two draws of noise differ


class Source:
    """Stands in for the generator of a key: it returns known bytes, of which one is changed."""

    bit_generator = None  # it belongs to no stream

    def __init__(self, changed: int | None = None) -> None:
        self.handed, self._changed = 0, changed

    def bytes(self, length: int) -> bytes:
        """The next ``length`` bytes."""
        places = range(self.handed, self.handed + length)
        self.handed += length
        return bytes(_byte(place) ^ (place == self._changed) for place in places)


def _byte(place: int) -> int:
    return hashlib.sha256(str(place).encode()).digest()[0]


Draw = Callable[[Any], bytes]


def idle_bytes(draw: Draw) -> int:
    """How many bytes of a key are not requested, or do not change the draws."""
    source = Source()
    found, asked = draw(source), min(source.handed, LENGTH)
    return LENGTH - asked + sum(draw(Source(place)) == found for place in range(asked))


def keyed() -> dict[str, Draw]:
    """All parts of the product that make a key from a generator's bits."""
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
    """Fewest bytes requested from the operating system for the key of a fit, a copy or a child."""
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
    """Record the requests of this thread to the operating system, which are still served."""
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
