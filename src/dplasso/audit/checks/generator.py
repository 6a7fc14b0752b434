"""Does every fit draw its own random bits, in every process?"""

import copy
import os
import pickle
from collections.abc import Callable, Iterator

import numpy as np

from dplasso.audit import keys
from dplasso.audit.access import bits_of
from dplasso.audit.check import Check
from dplasso.audit.forking import fork
from dplasso.audit.session import Session
from dplasso.audit.statistics import pearson
from dplasso.audit.subject import Subject
from dplasso.audit.verdict import Verdict
from dplasso.mechanisms.random_bits import random_bits

_SIZE = 32  # bytes compared: they are equal by chance with probability 2^-256
_BYTES = 1 << 18


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
                children = [_in_child(draw) for _ in range(3)]
                streams[tested] = [*children, draw()]
        for tested, drawn in streams.items():
            shared = len(drawn) - len(set(drawn))
            yield Verdict(self.name, name, tested, shared, 0.0, runs=len(drawn))
        for kind, keyed in keys.keyed().items():
            idle = keys.idle_bytes(keyed)
            yield Verdict(self.name, name, f"bytes of its key that {kind} does not use", idle, 0.0)
        asked = keys.fewest_system_bytes(lambda: bits_of(model))
        yield Verdict(self.name, name, "bytes of the system in a key", asked, keys.LENGTH, "below")
        fairness = _fairness(bits_of(model).generator.bytes(_BYTES))
        yield from self.doubted(session, {"bytes of a fit's stream": fairness}, _BYTES)


def _fairness(drawn: bytes) -> float:
    counts = np.bincount(np.frombuffer(drawn, np.uint8), minlength=256)
    return pearson(counts, np.full(256, 1.0 / 256.0))


def _in_child(draw: Callable[[], bytes]) -> bytes:
    """The draws of a forked child, sent back through a pipe."""
    receive, send = os.pipe()
    child = fork()
    if child == 0:
        try:
            os.write(send, draw())
        finally:
            os._exit(0)
    os.close(send)
    with os.fdopen(receive, "rb") as pipe:
        drawn = pipe.read()
    os.waitpid(child, 0)
    if len(drawn) != _SIZE:
        raise RuntimeError("a forked child could not draw random bits")
    return drawn
