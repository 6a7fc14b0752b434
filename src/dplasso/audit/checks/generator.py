"""Does every fit draw its own random bits, in every process?"""

import copy
import hashlib
import os
import pickle
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dplasso.audit.access import bits_of
from dplasso.audit.check import Check, Session, Subject, Verdict
from dplasso.audit.checks.bits import parent_and_child
from dplasso.audit.statistics import pearson
from dplasso.base.arrays import Ints
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.mechanisms.noise_key import NoiseKey
from dplasso.mechanisms.random_bits import RandomBits, random_bits
from dplasso.streams import running_sum

_SIZE = 32  # bytes compared: they are equal by chance with probability 2^-256
_BYTES = 1 << 18
LENGTH = 32  # bytes of a key
_SIGMA = 2.0**30  # large enough that two draws of noise differ
Draw = Callable[[Any], bytes]


class Generator(Check[Subject]):
    """Compares the bits of fits, of copies of a generator and of forked children.

    Two releases that share noise reveal the difference of their data. The check finds streams that
    do not get a new key after a fork, or that are kept and reused. For every part that makes a key,
    it counts how many of the 256 bits are drawn, and tests whether the output depends on each byte:
    a shorter key can be found by trying all. The counts of bytes test that bits are unbiased; no
    test can show that they are unpredictable.
    """

    name = "generator"
    tests = 1
    once = True

    def run(self, session: Session[Subject]) -> Iterator[Verdict]:
        name = session.subject.name
        model, held = session.subject.copy(), random_bits()

        def first_bytes() -> bytes:
            return bytes(bits_of(model).generator.bytes(_SIZE))

        def held_bytes() -> bytes:
            return bytes(held.generator.bytes(_SIZE))  # as in a fit that a fork interrupts

        twins = [copy.deepcopy(held), pickle.loads(pickle.dumps(held)), held]
        streams = {
            "streams that two fits share": [first_bytes() for _ in range(8)],
            "streams that copies share": [twin.generator.bytes(_SIZE) for twin in twins],
        }
        if hasattr(os, "fork"):
            for tested, draw in (
                ("streams that forked fits share", first_bytes),
                ("streams that outlive a fork", held_bytes),
            ):
                streams[tested] = [drawn for _ in range(3) for drawn in _after_fork(draw)]
        for tested, found in streams.items():
            shared = len(found) - len(set(found))
            yield Verdict(self.name, name, tested, shared, 0.0, runs=len(found))
        for kind, draw_by in keyed().items():
            idle = idle_bytes(draw_by)
            yield Verdict(self.name, name, f"bytes of its key that {kind} does not use", idle, 0.0)
        asked = fewest_system_bytes(lambda: bits_of(model))
        yield Verdict(self.name, name, "bytes of the system in a key", asked, LENGTH, "below")
        drawn = np.frombuffer(bits_of(model).generator.bytes(_BYTES), np.uint8)
        fairness = pearson(np.bincount(drawn, minlength=256), np.full(256, 1.0 / 256.0))
        yield from self.doubted(session, {"bytes of a fit's stream": fairness}, _BYTES)


def _after_fork(draw: Callable[[], bytes]) -> list[bytes]:
    """The bytes that a parent and its forked child draw."""

    def forked(_: RandomBits | None, fork: Callable[[], None]) -> tuple[Ints, int]:
        fork()
        return np.frombuffer(draw(), np.int64), 0

    mine, theirs = (drawn.tobytes() for drawn in parent_and_child(forked))
    if len(theirs) != _SIZE:
        raise RuntimeError("a forked child could not draw random bits")
    return [mine, theirs]


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
