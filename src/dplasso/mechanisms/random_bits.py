"""Where randomness comes from: ChaCha20, keyed by the operating system by default."""

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
    - `secure=False`: anyone who knows or guesses the seed knows every draw. There is no guarantee;
      it is for tests and for reproducing results on public data.
    - Cost and neighbouring relation: none. Randomness reads no data.
    - Assumptions: the operating system's generator is sound, memory is private, and nobody
      re-seeds or reads the state of `generator`.

    No two secure streams share a key, also across processes: after `os.fork` the child's streams
    get new keys in place, and a copy or an unpickled stream draws a key of its own. Otherwise two
    releases could share their noise, and the difference of the two would reveal the data.

    Compiled loops draw from a generator's state without its lock. So every run of a solver takes a
    stream of its own, by `random_bits` (secure) or `exclusive` (seeded): no other holder of the
    same object, in any thread, draws from the same state at the same time.
    """

    generator: np.random.Generator
    secure: bool

    @contextmanager
    def exclusive(self) -> Iterator[np.random.Generator]:
        """The generator, for one thread at a time.

        Two threads that draw from one seeded stream would not be reproducible, and compiled loops
        would share words: the second is rejected. A thread may nest its own uses.
        """
        mine = (threading.get_ident(), object())
        key = id(self.generator.bit_generator)  # unique while the object is in use
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
    """ChaCha20 keyed by the operating system, whose stream cannot be duplicated."""

    def __init__(self, key: int | None = None) -> None:
        super().__init__(key=_system_key() if key is None else key, rounds=_ROUNDS)
        # Number of earlier keys, which code that keeps words drawn ahead compares.
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
    """Secure random bits by default, reproducible ones for a seed or the caller's generator.

    Given secure bits, the result is secure and has a key of its own, so that two runs, in parallel
    or in sequence, share nothing. The key is drawn from the caller's generator if that is declared
    secure.

    Seeded streams are the same on every run and are not changed by a fork: the child repeats the
    parent's draws. That is one more reason why they protect nothing.
    ``name`` is the parameter's name in errors.
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
    """Whether `random_bits` returns secure bits for it."""
    if isinstance(seed, RandomBits):
        return seed.secure
    if isinstance(seed, np.random.Generator):
        return isinstance(seed.bit_generator, _SystemChaCha)
    return seed is None


def keys_before(generator: np.random.Generator) -> int:
    """Number of keys that a stream had before the current one; 0 if it is never rekeyed.

    Words drawn ahead under another key must not be used: a forked parent has them too.
    """
    bits = generator.bit_generator
    return bits.earlier_keys if isinstance(bits, _SystemChaCha) else 0


def _of_its_own(generator: np.random.Generator) -> RandomBits:
    """Secure bits under a new key from the system, or from the caller's own source."""
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
# Seeded streams in use, with their thread and its outermost use.
_in_use: dict[int, tuple[int, object]] = {}


def _after_fork() -> None:
    _in_use.clear()  # the other threads are the parent's
    for bits in _alive:
        bits.rekey()


if hasattr(os, "register_at_fork"):  # absent where processes cannot fork
    os.register_at_fork(after_in_child=_after_fork)
