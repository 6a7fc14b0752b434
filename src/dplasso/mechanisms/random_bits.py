"""Where randomness comes from: ChaCha20, keyed by the operating system unless told otherwise."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from typing import Any
from weakref import WeakSet

import numpy as np
from randomgen import ChaCha

_ROUNDS = 20


@dataclass(frozen=True, eq=False)
class RandomBits:
    """A generator, and whether an adversary is unable to predict it.

    Formal guarantees
    -----------------
    - `secure=True`: the bits are a ChaCha20 key stream under a 256-bit key read from the operating
      system and seen by nobody else. Against adversaries unable to tell that stream from true
      randomness, a mechanism keeps its guarantee in the computational sense. Releases may therefore
      be charged at the price of the ideal mechanism.
    - `secure=False`: whoever knows or guesses the seed knows every draw. No guarantee at all;
      for tests and for reproducing results on public data.
    - Cost and neighbouring relation: none. Randomness reads no data.
    - Assumptions: the operating system's generator is sound, memory is private, and nobody
      re-seeds or reads the state of `generator`.

    No two secure streams share a key, also across processes: after `os.fork` the child's streams
    get new keys in place, and a copy or an unpickled stream draws a key of its own. Otherwise two
    releases could share their noise, and the difference of the two would reveal the data.

    Compiled loops draw from a generator's state without its lock. So every run of a solver takes a
    stream of its own, by `random_bits` (secure) or `exclusive` (seeded): whoever else holds the
    same object, in whichever thread, never draws from the same state at the same time.
    """

    generator: np.random.Generator
    secure: bool

    @contextmanager
    def exclusive(self) -> Iterator[np.random.Generator]:
        """The generator, for one thread at a time.

        Two threads that draw from one seeded stream would not repeat what the seed promises, and
        compiled loops would share words: the second is refused. A thread may nest its own uses.
        """
        mine = (threading.get_ident(), object())
        key = id(self.generator.bit_generator)  # alive, and so unique, while it is in use
        known = _in_use.setdefault(key, mine)
        if known[0] != mine[0]:
            raise RuntimeError(
                "the random bits of a seed or a generator are in use by another thread, and would "
                "repeat for neither; give every thread a seed of its own, or none"
            )
        try:
            yield self.generator
        finally:
            if known is mine:
                _in_use.pop(key, None)


class _SystemChaCha(ChaCha):  # type: ignore[misc]  # randomgen is untyped
    """ChaCha20 keyed by the operating system, whose stream can not be duplicated."""

    def __init__(self, key: int | None = None) -> None:
        super().__init__(key=_system_key() if key is None else key, rounds=_ROUNDS)
        # How many keys there were before: whoever keeps words drawn ahead compares it.
        self.earlier_keys = 0
        _alive.add(self)

    def rekey(self) -> None:
        """Start a new stream in place; the block of bits computed ahead is discarded."""
        self.earlier_keys += 1
        self.seed(key=_system_key())

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickling and copying go through here: send no key, let the copy draw its own.
        return _SystemChaCha, ()


def random_bits(
    seed: int | np.random.Generator | RandomBits | None = None, name: str = "seed"
) -> RandomBits:
    """Secure random bits by default, reproducible ones for a seed or a generator of the caller's.

    Secure bits that are handed in ask for secure bits: what comes back has a key of its own, so
    that two runs, in threads or one after the other, share nothing. A caller's generator that is
    said to be secure is drawn from for that key.

    Seeded streams are the same on every run and are left alone by a fork: the child repeats the
    parent's draws, as a seed promises. That is one more reason why they protect nothing.
    ``name`` is what an error calls the parameter.
    """
    if seed is None:
        return RandomBits(np.random.Generator(_SystemChaCha()), secure=True)
    if isinstance(seed, RandomBits):
        return _of_its_own(seed.generator) if seed.secure else seed
    if isinstance(seed, np.random.Generator):
        return _of_its_own(seed) if is_secure(seed) else RandomBits(seed, secure=False)
    if isinstance(seed, Integral) and not isinstance(seed, bool) and seed >= 0:
        return RandomBits(np.random.Generator(_seeded(int(seed))), secure=False)
    raise ValueError(
        f"{name} must be a non-negative integer or a numpy Generator, got {seed!r} "
        f"({type(seed).__name__}): pass None for secure random bits."
    )


def is_secure(seed: object) -> bool:
    """Whether `random_bits` makes secure bits of it."""
    if isinstance(seed, RandomBits):
        return seed.secure
    if isinstance(seed, np.random.Generator):
        return isinstance(seed.bit_generator, _SystemChaCha)
    return seed is None


def keys_before(generator: np.random.Generator) -> int:
    """How many keys a stream had before the present one; a stream that is never keyed anew has 0.

    Words that were drawn ahead under another key are not to be used: a forked parent has them too.
    """
    bits = generator.bit_generator
    return bits.earlier_keys if isinstance(bits, _SystemChaCha) else 0


def _of_its_own(generator: np.random.Generator) -> RandomBits:
    """Secure bits under a new key: the system's, or one drawn from a caller's own source."""
    if isinstance(generator.bit_generator, _SystemChaCha):
        return RandomBits(np.random.Generator(_SystemChaCha()), secure=True)
    # One call, which holds the generator's lock: no two threads draw the same key.
    key = int.from_bytes(generator.bytes(32), "little")
    return RandomBits(np.random.Generator(_SystemChaCha(key)), secure=True)


def _seeded(seed: int) -> ChaCha:
    words = np.random.SeedSequence(seed).generate_state(4, np.uint64)
    return ChaCha(key=words, rounds=_ROUNDS)


def _system_key() -> int:
    return int.from_bytes(os.urandom(32), "little")


_alive: WeakSet[_SystemChaCha] = WeakSet()
# Seeded streams that a thread draws from at present: by whom, and since which of its uses.
_in_use: dict[int, tuple[int, object]] = {}


def _after_fork() -> None:
    _in_use.clear()  # the other threads are the parent's
    for bits in _alive:
        bits.rekey()


if hasattr(os, "register_at_fork"):  # absent where processes can not fork
    os.register_at_fork(after_in_child=_after_fork)
