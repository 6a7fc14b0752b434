"""Is any sequence of noise used twice: within a fit, between fits or threads, or after a fork?"""

import os
import pickle
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dplasso.audit.check import Check, Session, Subject, Verdict
from dplasso.audit.subject import Draw
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
    luck, so the check also tests that a fit does not advance a stream that others hold. Transcripts
    with too few draws are an alarm, because they share nothing with any other.

    The check finds a sequence of `RUN` draws that occurs twice in a transcript of the stated
    length. It cannot find reuse after a longer time, or bits that are related without being equal.
    Correct code alarms with probability below 1e-6.
    """

    name = "bits"

    def run(self, session: Session[Subject]) -> Iterator[Verdict]:
        draw = session.subject.transcript(session.rng)
        first, second = (draw(None, _nothing)[0] for _ in range(2))
        held = random_bits()
        before = _position(held)
        threads = _at_once(lambda: draw(held, _nothing)[0])
        moved = float(_position(held) != before)
        found = {
            "sequences that occur twice within a fit": _repeated([first]),
            "sequences that two fits share": _repeated([first, second]) - _repeated([first]),
            "sequences that two threads share": _repeated(threads),
            "shared streams that a fit advances": moved,
        }
        transcripts = [first, second, *threads]
        if hasattr(os, "fork"):
            parent, child = parent_and_child(draw)
            found["sequences that a forked child shares"] = _repeated([parent, child])
            transcripts.append(parent)
        found["transcripts too short to compare"] = sum(len(one) < RUN for one in transcripts)
        yield from self.worst(session, [found], len(first), limit=0.0)


def _nothing() -> None:
    """The call within a fit that no fork interrupts."""


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
    """The draws of two threads.

    A thread may be rejected because the other one draws from the same stream. Then the job is done
    again after that. If both are rejected, nothing that ran at the same time could be compared, and
    both transcripts are empty.
    """
    gate = threading.Barrier(2)

    def started(_: int) -> Ints:
        gate.wait()
        try:
            return job()
        except RuntimeError:
            return np.empty(0, np.int64)

    with ThreadPoolExecutor(2) as pool:
        drawn = list(pool.map(started, range(2)))
    if not any(map(len, drawn)):
        return drawn
    return [one if len(one) else job() for one in drawn]


def parent_and_child(draw: Draw) -> list[Ints]:
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
    if not child:
        raise RuntimeError("a fit was not interrupted: no child was compared")
    os.waitpid(child[0], 0)
    return [mine, theirs]


def fork() -> int:
    """As `os.fork`, without the warning of Python 3.12 and later about forks in a process with
    threads: the child uses none of their locks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()
