"""Are weights of a stream made of its releases alone?"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from dplasso.audit.check import Check, Session
from dplasso.audit.stream import data
from dplasso.audit.stream.subject import StreamSubject, rows_of
from dplasso.audit.verdict import Verdict
from dplasso.base.arrays import Ints
from dplasso.streams.process import Stretch

STREAMS = 4
_STEPS = 6


class Release(Check[StreamSubject]):
    """Hands the releases of one stream to a stream of empty rows, which must have the same weights.

    A sum that has no row in it is given noise that makes it what was released: the learner then
    goes on from the same releases and has seen nothing else. Weights must be the same bit for bit
    after every step, whatever the set of weights and the learner. Finds weights that hold more of
    the rows than was released. Cannot find what leaves by other ways: time, memory, logs.
    """

    name = "release"
    of = StreamSubject

    def run(self, session: Session[StreamSubject]) -> Iterator[Verdict]:
        differing = sum(_differing(session) for _ in range(STREAMS))
        figures = {"weights that other rows change": (differing, 0.0)}
        yield from self.limited(session, figures, STREAMS)


class _Heard:
    """The running sum itself, for a learner to use, and notes of what it releases."""

    def __init__(self, real: Any) -> None:
        self._real, self.bits, self.unit, self.total = real, real.bits, real.unit, real.total
        self.noise: Stretch | None = None

    def stretch(self, steps: int) -> Stretch:
        noise: Stretch = self._real.stretch(steps)
        self.noise = Stretch(noise.values.copy(), noise.floors.copy())
        return noise


class _Forged:
    """A sum of nothing, whose noise is what another sum released."""

    def __init__(self, real: Any) -> None:
        self.bits, self.unit, self.total = real.bits, real.unit, np.zeros_like(real.total)
        self.next: Stretch | None = None

    def stretch(self, steps: int) -> Stretch:
        assert self.next is not None and steps == len(self.next.values)
        return self.next


def _differing(session: Session[StreamSubject]) -> int:
    """Weights of two streams of the same releases that are not the same, over all steps."""
    subject, rng = session.subject, session.rng
    model, blind = (subject.begun(subject.columns) for _ in range(2))
    heard, forged = _Heard(model.stream_.total), _Forged(blind.stream_.total)
    model.stream_.learner._total, blind.stream_.learner._total = heard, forged
    found = 0
    for _ in range(_STEPS):
        X, y = data.random_rows(subject.rows_a_step, subject.columns, subject.facts, rng)
        model.stream_.learn(*rows_of(model, X, subject.labels(y)))
        assert heard.noise is not None
        released: Ints = heard.total[None, :] + heard.noise.values
        forged.next = Stretch(released, heard.noise.floors)
        nothing = np.zeros(len(y) + 1, np.int64), np.empty(0, np.int32), np.empty(0)
        blind.stream_.learn(nothing, np.zeros(len(y)))
        found += int(np.sum(model.stream_.weights != blind.stream_.weights))
    return found
