"""Bugs that let noise be used twice or be guessed."""

import contextlib
import copy
import threading

import numpy as np

from dplasso.estimators import (
    base,
)
from dplasso.mechanisms import random_bits as module
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.mechanisms.noise_key import NoiseKey
from dplasso.mechanisms.random_bits import RandomBits, random_bits
from dplasso.mechanisms.selection import lazy_tiers
from dplasso.mechanisms.selection.lazy import LazyDraw
from dplasso.streams.buffered import BufferedNoise
from dplasso.streams.running_sum import RunningSum
from planted.bug import of_any_size


@of_any_size
def bits_reused_every(monkeypatch, size):
    """The engine draws from a block of bits for ``size`` rounds, and then reuses the block."""
    right = LazyDraw.advance

    def advance(self, until):
        bits = self.generator.bit_generator
        while self.done < until:
            if not hasattr(self, "block"):
                self.block = copy.deepcopy(bits.state)
            elif self.done % size == 0:
                bits.state = self.block
            right(self, min(until, self.done - self.done % size + size))

    monkeypatch.setattr(LazyDraw, "advance", advance)


def threads_share_a_stream(monkeypatch):
    """Secure bits that are passed in are used directly, by every thread that holds them."""
    monkeypatch.setattr(module, "_of_its_own", lambda generator: RandomBits(generator, secure=True))
    monkeypatch.setattr(
        RandomBits, "exclusive", lambda self: contextlib.nullcontext(self.generator)
    )


def other_threads_rejected_and_a_stream_shared(monkeypatch):
    """A fit in any other thread is rejected, and fits that are not rejected share a stream."""
    planted_in = threading.get_ident()

    def exclusive(self):
        if threading.get_ident() != planted_in:
            raise RuntimeError("the random bits are in use by another thread")
        return contextlib.nullcontext(self.generator)

    monkeypatch.setattr(module, "_of_its_own", lambda generator: RandomBits(generator, secure=True))
    monkeypatch.setattr(RandomBits, "exclusive", exclusive)


def words_ahead_outlive_a_fork(monkeypatch):
    """A child proposes from the words that its parent had drawn ahead."""
    monkeypatch.setattr(LazyDraw, "_forget_words_of_another_key", lambda self: None)


def streams_outlive_a_fork(monkeypatch):
    """Streams keep their key in a forked child."""
    monkeypatch.setattr(module._SystemChaCha, "rekey", lambda self: None)


def one_key_in_a_process(monkeypatch):
    """The key is read from the system once, and every fit starts its stream anew."""
    key = module._system_key()
    monkeypatch.setattr(module, "_system_key", lambda: key)


@of_any_size
def noise_of_sums_reused_every(monkeypatch, size):
    """A descent has noise for ``size`` releases, and then reuses it."""
    right, kept = GridGaussian.add_to, {}

    def add_to(self, values, generator, threads=None):
        count, key, _ = kept.get(id(generator), (0, None, generator))
        key = generator.bytes(32) if key is None else key
        kept[id(generator)] = (count + 1, key, generator)  # so that no other object gets its id
        right(self, values, NoiseKey(key, secure=False).generator(count % size), threads)

    monkeypatch.setattr(GridGaussian, "add_to", add_to)


@of_any_size
def steps_counted_modulo(monkeypatch, size):
    """The draws of a stream are numbered by steps, from 1 to ``size``, and then from 1 again."""
    _number_draws(monkeypatch, lambda step: 1 + step % size)


def draws_numbered_by_pairs_of_steps(monkeypatch):
    """Draws are numbered by pairs of steps: every second one is that of the step before."""
    _number_draws(monkeypatch, lambda step: step // 2)


def _number_draws(monkeypatch, number):
    right = BufferedNoise._drawn
    monkeypatch.setattr(
        BufferedNoise,
        "_drawn",
        lambda self, first, count: np.concatenate(
            [right(self, number(step), 1) for step in range(first, first + count)]
        ),
    )


def streams_go_on_in_a_child(monkeypatch):
    """A running sum does not check which process it is in."""
    monkeypatch.setattr(RunningSum, "check_process", lambda self: None)
    monkeypatch.setattr(NoiseKey, "check_process", lambda self: None)


def words_ahead_drawn_once(monkeypatch):
    """The first 64 words are drawn when the module is first used, to save each fit some time.

    All fits of a process propose by the same words: their noise is shared.
    """
    right = lazy_tiers.words_ahead
    kept = []

    def words_ahead(generator):
        if not kept:
            kept.append(right(generator))
        return kept[0].copy()

    monkeypatch.setattr(lazy_tiers, "words_ahead", words_ahead)


def one_stream_for_all_fits(monkeypatch):
    """The key of the bits is read once, and every fit starts its stream anew."""
    monkeypatch.setattr(
        base.PrivateLasso,
        "_random_bits",
        lambda self: RandomBits(random_bits(5).generator, secure=True),
    )


def one_key_for_all_streams(monkeypatch):
    """The key of the noise is made once."""
    key = NoiseKey.drawn(random_bits(5)).secret
    monkeypatch.setattr(NoiseKey, "drawn", lambda bits: NoiseKey(key, secure=bits.secure))


def one_key_for_all_epochs(monkeypatch):
    """A stream has one key.

    Each epoch of an endless stream begins with the draws of the one before.
    """
    monkeypatch.setattr(NoiseKey, "derived", lambda self, *name: self)


class _ShortKey:
    def __init__(self, generator, length):
        self._generator, self._length = generator, length

    def bytes(self, length):
        drawn = self._generator.bytes(self._length)
        return (drawn * (length // self._length + 1))[:length]


@of_any_size
def key_of_bytes(monkeypatch, size):
    """A key of few bytes is drawn and repeated to the length that the stream needs.

    An attacker who tries all keys finds the noise of a release, and the sum without it.
    """
    right = GridGaussian.add_to
    monkeypatch.setattr(
        GridGaussian,
        "add_to",
        lambda self, values, bits, *rest: right(self, values, _ShortKey(bits, size), *rest),
    )


@of_any_size
def bytes_biased(monkeypatch, size):
    """The lowest bit of this share of the bytes is 1."""
    right = base.PrivateLasso._random_bits

    class Biased:
        def __init__(self, generator):
            self._generator = generator

        def bytes(self, length):
            drawn = np.frombuffer(self._generator.bytes(length), np.uint8).copy()
            drawn[np.random.default_rng().random(length) < size] |= 1
            return drawn.tobytes()

        def __getattr__(self, name):
            return getattr(self._generator, name)

    def random_bits(self):
        bits = right(self)
        return RandomBits(Biased(bits.generator), secure=bits.secure)

    monkeypatch.setattr(base.PrivateLasso, "_random_bits", random_bits)
