"""Does every fit have random bits of its own, in every process?"""

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

_SIZE = 32  # bytes that are compared: equal by chance with probability 2^-256
_BYTES = 1 << 18


class Generator(Check[Subject]):
    """Compares the bits of fits, of copies of a generator and of forked children.

    Two releases that share noise tell the difference of their data. Finds streams that are not
    keyed anew after a fork, or are kept and used again. Of all that makes a key, it is counted how
    many of the 256 bits are drawn, and whether what comes of them depends on each byte: a key of
    fewer can be tried out. That bits are fair is tested by the counts of their bytes; that they
    cannot be predicted is not something a test could show.
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
            return bytes(held.generator.bytes(_SIZE))  # as a fit does that a fork interrupts

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
    """What a forked child draws, sent back through a pipe."""
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
