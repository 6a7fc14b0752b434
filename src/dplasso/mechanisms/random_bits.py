"""Where randomness comes from: ChaCha20, keyed by the operating system unless told otherwise."""

import os
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
    """

    generator: np.random.Generator
    secure: bool


class _SystemChaCha(ChaCha):  # type: ignore[misc]  # randomgen is untyped
    """ChaCha20 keyed by the operating system, whose stream can not be duplicated."""

    def __init__(self) -> None:
        super().__init__(key=_system_key(), rounds=_ROUNDS)
        _alive.add(self)

    def rekey(self) -> None:
        """Start a new stream in place; the block of bits computed ahead is discarded."""
        self.seed(key=_system_key())

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickling and copying go through here: send no key, let the copy draw its own.
        return _SystemChaCha, ()


def random_bits(
    seed: int | np.random.Generator | RandomBits | None = None, name: str = "seed"
) -> RandomBits:
    """Secure random bits by default, reproducible ones for a seed or a generator of the caller's.

    Seeded streams are the same on every run and are left alone by a fork: the child repeats the
    parent's draws, as a seed promises. That is one more reason why they protect nothing.
    ``name`` is what an error calls the parameter.
    """
    if seed is None:
        return RandomBits(np.random.Generator(_SystemChaCha()), secure=True)
    if isinstance(seed, RandomBits):
        return seed
    if isinstance(seed, np.random.Generator):
        return RandomBits(seed, secure=False)
    if isinstance(seed, Integral) and not isinstance(seed, bool) and seed >= 0:
        return RandomBits(np.random.Generator(_seeded(int(seed))), secure=False)
    raise ValueError(
        f"{name} must be a non-negative integer or a numpy Generator, got {seed!r} "
        f"({type(seed).__name__}): pass None for secure random bits."
    )


def _seeded(seed: int) -> ChaCha:
    words = np.random.SeedSequence(seed).generate_state(4, np.uint64)
    return ChaCha(key=words, rounds=_ROUNDS)


def _system_key() -> int:
    return int.from_bytes(os.urandom(32), "little")


_alive: WeakSet[_SystemChaCha] = WeakSet()


def _rekey_all() -> None:
    for bits in _alive:
        bits.rekey()


if hasattr(os, "register_at_fork"):  # absent where processes can not fork
    os.register_at_fork(after_in_child=_rekey_all)
