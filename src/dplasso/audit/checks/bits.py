"""Is any sequence of noise used twice: within a fit, between fits or threads, or after a fork?"""

import os
import pickle
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dplasso.audit.check import Check
from dplasso.audit.forking import fork
from dplasso.audit.session import Session
from dplasso.audit.subject import Draw, Subject
from dplasso.audit.verdict import Verdict
from dplasso.base.arrays import Ints
from dplasso.mechanisms.random_bits import RandomBits, random_bits

RUN = 4  # consecutive symbols that may not occur at two places


class Bits(Check[Subject]):
    """Compares short sequences of the draws of fits in one process, in threads and after a fork.

    A transcript holds the draws of one long fit: vertices on rows with almost no signal, the noise
    of a descent, or the noise of a stream. Two transcripts that draw from one stream share
    sequences; a transcript that reuses its own bits repeats one. Fits are made with bits of their
    own, in threads that hold the same bits, and in a child that is forked in the middle of a fit
    and continues at the same time as its parent. Threads that share a stream may miss each other by
    luck, so the check also tests that a fit does not advance a stream that others hold.

    The check finds a sequence of `RUN` draws that occurs twice in a transcript of the stated
    length. It cannot find reuse after a longer time, or bits that are related without being equal.
    Correct code alarms with probability below 1e-6.
    """

    name = "bits"

    def run(self, session: Session[Subject]) -> Iterator[Verdict]:
        draw = session.subject.transcript(session.rng)
        first, _ = draw(None, None)
        second, _ = draw(None, None)
        held = random_bits()
        before = _position(held)
        threads = _at_once(lambda: draw(held, None)[0])
        moved = float(_position(held) != before)
        found = {
            "runs that come again within a fit": _repeated([first]),
            "runs that two fits share": _repeated([first, second]) - _repeated([first]),
            "runs that two threads share": _repeated(threads),
            "streams of others that a fit draws from": moved,
        }
        if hasattr(os, "fork"):
            found["runs that a forked child shares"] = _repeated(_parent_and_child(draw))
        limits = {tested: (float(figure), 0.0) for tested, figure in found.items()}
        yield from self.limited(session, limits, runs=len(first))


def _repeated(transcripts: list[Ints]) -> int:
    """Number of sequences that occur more than once in all transcripts together."""
    spread = np.random.default_rng(1).integers(0, 2**64, RUN, np.uint64)
    runs = []
    for drawn in transcripts:
        words, last = drawn.astype(np.uint64), max(len(drawn) - RUN + 1, 0)
        # A 64-bit hash: two different sequences collide with probability 2^-64.
        runs.append(sum(spread[k] * words[k : k + last] for k in range(RUN)))
    every = np.concatenate(runs)
    return len(every) - len(np.unique(every))


def _position(bits: RandomBits) -> bytes:
    return pickle.dumps(bits.generator.bit_generator.state)


def _at_once(job: Callable[[], Ints]) -> list[Ints]:
    gate = threading.Barrier(2)

    def started(_: int) -> Ints:
        gate.wait()
        try:
            return job()
        except RuntimeError:  # rejected, because the other thread draws from the same stream
            return np.empty(0, np.int64)

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(started, range(2)))


def _parent_and_child(draw: Draw) -> list[Ints]:
    """The draws of a fit after a fork in its middle, in both processes.

    A child that refuses to continue, as that of a stream does, draws nothing.
    """
    receive, send = os.pipe()
    child: list[int] = []
    try:
        drawn, done = draw(None, lambda: child.append(fork()))
        mine = drawn[done:]
        if child == [0]:
            with os.fdopen(send, "wb") as sent:
                sent.write(np.ascontiguousarray(mine, np.int64).tobytes())
    finally:
        if child == [0]:
            os._exit(0)
    os.close(send)
    with os.fdopen(receive, "rb") as pipe:
        theirs = np.frombuffer(pipe.read(), np.int64)
    if child:
        os.waitpid(child[0], 0)
    return [mine, theirs]
