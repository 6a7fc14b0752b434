"""Is any run of noise used twice: within a fit, between fits, threads, or after a fork?"""

import os
import pickle
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse as sp

from dplasso.audit.check import Check, Session
from dplasso.audit.descent.recording import Recorded, Recording
from dplasso.audit.descent.subject import DescentSubject
from dplasso.audit.selection.subject import SelectionSubject
from dplasso.audit.stream.subject import StreamSubject
from dplasso.audit.subject import Subject
from dplasso.audit.verdict import Verdict
from dplasso.base.arrays import Floats, Ints
from dplasso.mechanisms.random_bits import RandomBits, random_bits
from dplasso.solvers import frank_wolfe

RUN = 4  # symbols in a row that no two places may share
COLUMNS = 1 << 14  # of selections: a vertex is worth 15 bits, a run 60
LONG = {"lazy": 60_000}  # rounds of a transcript, by selection rule
USUAL = 2_500
_ROWS, _DENSITY, _THETA = 60, 0.01, 1e-3  # rows that say next to nothing
STREAM_STEPS = {"gaussian": 1_400, "gamma": 400}
_SIGNS = 63  # of a step's noises
_FORKED_AFTER = 5  # releases of a descent

# A fit by the bits handed in, or by its own; ``halfway`` is called once within it. Returns what
# was drawn, in order, as whole numbers, and how many of them were drawn when it was called.
Draw = Callable[[RandomBits | None, Callable[[], None] | None], tuple[Ints, int]]


class Bits(Check[Subject]):
    """Compares runs of what fits draw, place by place, wherever they ran.

    A transcript is what one long fit draws: vertices on rows that say next to nothing, the noise of
    a descent, or the noise of a stream. Two transcripts that draw from one stream have runs in
    common; so has one that comes back to bits it has used. Fits are made by bits of their own, in
    threads that hold the same bits, and in a child that is forked in the middle of a fit and goes
    on beside its parent. Threads that share a stream may be lucky: so it is also tested that a fit
    leaves a stream that others hold where it was.

    Finds a run of `RUN` draws that occurs twice, in a transcript as long as stated. Reuse after a
    longer time, and bits that are related without being equal, are beyond it. By chance correct
    code alarms with probability below 1e-6.
    """

    name = "bits"

    def run(self, session: Session[Subject]) -> Iterator[Verdict]:
        subject = session.subject
        draw = _draw_of(subject, session.rng)
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


def _draw_of(subject: Subject, rng: np.random.Generator) -> Draw:
    if isinstance(subject, SelectionSubject):
        return _selection(subject, rng)
    if isinstance(subject, DescentSubject):
        return _descent(subject, rng)
    assert isinstance(subject, StreamSubject)
    return _stream(subject)


def _selection(subject: SelectionSubject, rng: np.random.Generator) -> Draw:
    model = subject.copy()
    X = sp.random_array((_ROWS, COLUMNS), density=_DENSITY, rng=rng, format="csc")
    y = subject.labels(_labels(_ROWS, subject))
    loss, rounds = model._make_loss(y), LONG.get(model.selection, USUAL)

    def draw(bits: RandomBits | None, halfway: Callable[[], None] | None) -> tuple[Ints, int]:
        called: list[int] = []

        def progress(done: int) -> None:
            if halfway is not None and not called and done < rounds:
                halfway()
                called.append(done)

        found = frank_wolfe(
            *(X, y),
            loss=loss,
            radius=1.0,
            rounds=rounds,
            theta=_THETA,
            selection=model.selection,
            generator=subject.copy(random_state=bits)._random_bits(),
            n_threads=1,
            progress=progress,
        )
        drawn = 2 * (found.columns * subject.outputs + found.classes) + (found.signs > 0)
        return drawn, called[0] if called else 0

    return draw


def _labels(rows: int, subject: Subject) -> Floats:
    """Of all kinds, in turn."""
    return np.arange(float(rows)) % max(len(subject.classes), 2)


def _descent(subject: DescentSubject, rng: np.random.Generator) -> Draw:
    replaced = subject.facts.neighboring == "replace_one"  # rows are then as many as declared
    X = rng.normal(size=(subject.facts.n_rows if replaced else _ROWS, subject.columns))
    y = _labels(len(X), subject)

    def draw(bits: RandomBits | None, halfway: Callable[[], None] | None) -> tuple[Ints, int]:
        prepared, recording = subject.prepare(X, y), _Interrupted(halfway)
        own = prepared.task.drawing.bits if bits is None else bits
        prepared.task.with_drawing(noise_of=recording, bits=own).run()
        before = _FORKED_AFTER if halfway is not None else 0
        drawn, earlier = (_noise(part) for part in (recording.found, recording.found[:before]))
        return drawn, len(earlier)

    return draw


class _Interrupted(Recording):
    """Notes of the noise of a descent, and a call in the middle of it."""

    def __init__(self, halfway: Callable[[], None] | None) -> None:
        super().__init__()
        self._halfway = halfway

    def __call__(self, sigma: float) -> Any:
        mechanism = super().__call__(sigma)
        return _Interrupting(mechanism, self)

    def look(self) -> None:
        """Call once, after so many releases."""
        if self._halfway is not None and len(self.found) == _FORKED_AFTER:
            self._halfway()


class _Interrupting:
    def __init__(self, mechanism: Any, recording: _Interrupted) -> None:
        self._mechanism, self._recording = mechanism, recording

    def add_to(self, values: Ints, generator: Any, threads: int | None = None) -> None:
        self._mechanism.add_to(values, generator, threads)
        self._recording.look()


def _noise(found: list[Recorded]) -> Ints:
    parts = [release.noise for release in found]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _stream(subject: StreamSubject) -> Draw:
    """Signs of a step's noises, as one number: they repeat where the noises do.

    Noise that is repeated shows once what came before it has faded.
    """
    steps, columns = STREAM_STEPS[subject.facts.noise], -(-_SIGNS // subject.outputs)

    def draw(bits: RandomBits | None, halfway: Callable[[], None] | None) -> tuple[Ints, int]:
        total = subject.begun(columns, bits, n_rows=None).stream_.total
        noise = total.stretch(steps // 2).values
        if halfway is not None:
            halfway()
        noise = np.concatenate([noise, total.stretch(steps // 2).values])
        return _signs(noise), steps // 2

    return draw


def _signs(noise: Ints) -> Ints:
    bits = (noise[:, :_SIGNS] > 0).astype(np.int64)
    return np.asarray(bits @ (np.int64(1) << np.arange(bits.shape[1])), np.int64)


def _repeated(transcripts: list[Ints]) -> int:
    """Runs that occur more than once, in all transcripts together."""
    spread = np.random.default_rng(1).integers(0, 2**64, RUN, np.uint64)
    runs = []
    for drawn in transcripts:
        words, last = drawn.astype(np.uint64), max(len(drawn) - RUN + 1, 0)
        # A hash of 64 bits: of runs that differ, two are taken for one with a chance of 2^-64.
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
        except RuntimeError:  # refused, because the other one draws from the same stream
            return np.empty(0, np.int64)

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(started, range(2)))


def _parent_and_child(draw: Draw) -> list[Ints]:
    """What a fit draws after a fork in its middle, in both processes.

    A child that refuses to go on, as a stream does, draws nothing.
    """
    receive, send = os.pipe()
    child: list[int] = []

    def fork() -> None:
        with warnings.catch_warnings():
            # Python 3.12 and later warn of forks beside threads; none of them is needed here.
            warnings.simplefilter("ignore", DeprecationWarning)
            child.append(os.fork())

    try:
        drawn, done = draw(None, fork)
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
