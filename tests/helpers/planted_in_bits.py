"""Slips by which noise would be used twice, each planted where one would make it."""

import contextlib
import copy
from typing import Any, NamedTuple

import numpy as np

from dplasso.mechanisms import random_bits as module
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.mechanisms.noise_key import NoiseKey
from dplasso.mechanisms.random_bits import RandomBits
from dplasso.mechanisms.selection.lazy import LazyDraw
from dplasso.streams.buffered import BufferedNoise
from dplasso.streams.running_sum import RunningSum


def bits_reused_every_1000_rounds(monkeypatch):
    """The engine draws from a block of bits that is long enough for 1,000 rounds, then again."""
    right = LazyDraw.advance

    def advance(self, until):
        bits = self.generator.bit_generator
        while self.done < until:
            if not hasattr(self, "block"):
                self.block = copy.deepcopy(bits.state)
            elif self.done % 1000 == 0:
                bits.state = self.block
            right(self, min(until, self.done - self.done % 1000 + 1000))

    monkeypatch.setattr(LazyDraw, "advance", advance)


def threads_share_a_stream(monkeypatch):
    """Secure bits that are handed in are drawn from as they are, by whoever holds them."""
    monkeypatch.setattr(module, "_of_its_own", lambda generator: RandomBits(generator, secure=True))
    monkeypatch.setattr(
        RandomBits, "exclusive", lambda self: contextlib.nullcontext(self.generator)
    )


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


def key_of_every_tenth_release(monkeypatch):
    """The key of a descent's noise is drawn again for every tenth release only."""
    right, kept = GridGaussian.add_to, {}

    def add_to(self, values, generator, threads=None):
        place = kept.get(id(generator), (0, b""))
        count, key = place if place[0] % 10 else (place[0], generator.bytes(32))
        kept[id(generator)] = (count + 1, key)
        stream = NoiseKey(key, secure=False).generator(count % 5)
        right(self, values, stream, threads)

    monkeypatch.setattr(GridGaussian, "add_to", add_to)


def steps_counted_modulo_1000(monkeypatch):
    """The noise of a stream is numbered by steps, from 0 to 999."""
    right = BufferedNoise._drawn
    monkeypatch.setattr(
        BufferedNoise,
        "_drawn",
        lambda self, first, count: np.concatenate(
            [right(self, 1 + step % 1000, 1) for step in range(first, first + count)]
        ),
    )


def streams_go_on_in_a_child(monkeypatch):
    """A running sum does not ask which process it is in."""
    monkeypatch.setattr(RunningSum, "check_process", lambda self: None)
    monkeypatch.setattr(NoiseKey, "check_process", lambda self: None)


class Bug(NamedTuple):
    plant: Any
    found_by: tuple[str, ...]
    solver: str = "frank_wolfe"


BUGS = {
    "bits reused every 1,000 rounds": Bug(bits_reused_every_1000_rounds, ("bits",)),
    "threads share a stream": Bug(threads_share_a_stream, ("bits",)),
    "threads of descents share a stream": Bug(threads_share_a_stream, ("bits",), "gradient"),
    "words drawn ahead outlive a fork": Bug(words_ahead_outlive_a_fork, ("bits",)),
    "streams outlive a fork": Bug(streams_outlive_a_fork, ("bits", "generator")),
    "descents outlive a fork": Bug(streams_outlive_a_fork, ("bits",), "gradient"),
    "one key in a process": Bug(one_key_in_a_process, ("bits", "generator")),
    "a key for ten releases": Bug(key_of_every_tenth_release, ("bits",), "gradient"),
    "steps counted modulo 1,000": Bug(steps_counted_modulo_1000, ("bits",), "online"),
    "streams go on in a child": Bug(streams_go_on_in_a_child, ("bits",), "online"),
}
