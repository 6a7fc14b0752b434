"""Is the noise of released sums what its matrix says, and never used again?"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import ndtr

from dplasso.audit.check import Check, Session
from dplasso.audit.statistics import even_chance, pearson, unit_variance, zero_mean
from dplasso.audit.stream import data
from dplasso.audit.stream.facts import GAMMA
from dplasso.audit.stream.reference import fresh_noise
from dplasso.audit.stream.subject import (
    READABLE,
    STEPS,
    StreamSubject,
    exact_sum,
    noise_matrix,
    released_sum,
    rows_of,
)
from dplasso.audit.subject import Subject
from dplasso.audit.verdict import Verdict
from dplasso.base.arrays import Floats

RUNS = 100
COLUMNS = 40
_CELLS = 32  # of equal probability, that draws are counted in
_FRESH = 3  # streams by bits of their own


class Noise(Check[StreamSubject]):
    """Tests of what weights tell of a sum, less the exact sum, by the matrix of the noise.

    Given releases before, a release has fresh noise, which must be standard normal in units of what
    the matrix says: mean, variance, that of the step which is farthest off, and a chi-square test
    of the law; that signs agree as often as not between one step and the next, one number and the
    next, one stream and the next; that no two streams share noise, those that draw their own bits
    among them. Finds noise that is missing, too small, drawn once for two steps, kept or left out
    where it should not be. Faults by less than a few per cent are too small for it.
    """

    name = "noise"
    of = StreamSubject
    tests = 7
    share = 0.4

    def asked_of(self, subject: Subject) -> Check[Any] | None:
        found = isinstance(subject, StreamSubject) and subject.facts.noise != GAMMA
        return self if found else None

    def run(self, session: Session[StreamSubject]) -> Iterator[Verdict]:
        subject = session.subject

        def pilot(runs: int) -> None:
            for _ in range(runs):
                noise_of_stream(session, STEPS, COLUMNS, seeded=True)

        runs, streams = session.runs(RUNS, pilot), []
        for run in range(runs):
            streams.append(noise_of_stream(session, STEPS, COLUMNS, seeded=True))
            session.tell((run + 1) / runs)
        yield repeated(session, STEPS, COLUMNS, streams)
        matrix = noise_matrix(subject.begun(COLUMNS), STEPS)
        fresh = fresh_noise(matrix, np.stack(streams, axis=1))
        yield from self.doubted(session, _p_values(fresh), runs)


def noise_of_stream(
    session: Session[StreamSubject], steps: int, columns: int, *, seeded: bool
) -> Floats:
    """Released sums of a stream less exact ones, steps x numbers, in units of what a row moves."""
    subject, rng = session.subject, session.rng
    seed: Any = session.bits if seeded else None
    model = subject.begun(columns, seed, **READABLE)
    rows = subject.rows_a_step
    X, y = data.random_rows(rows * steps, columns, subject.facts, rng)
    (starts, *entries), labels = rows_of(model, X, subject.labels(y))
    found = np.empty((steps, model.stream_.weights.size))
    for step in range(steps):
        first, last = step * rows, (step + 1) * rows
        model.stream_.learn((starts[first : last + 1], *entries), labels[first:last])
        found[step] = released_sum(model) - exact_sum(model) * model.stream_.total.unit
    return found / subject.facts.reach


def repeated(
    session: Session[StreamSubject], steps: int, columns: int, streams: list[Floats]
) -> Verdict:
    """Streams whose noise is, in some step, that of another."""
    own = [noise_of_stream(session, steps, columns, seeded=False) for _ in range(_FRESH)]
    every = [*streams, *own]
    figure = 0
    for step in range(steps):
        figure += len(every) - len({stream[step].round(9).tobytes() for stream in every})
    name = session.subject.name
    return Verdict("noise", name, "steps that share noise", figure, 0.0, runs=len(every))


def _p_values(fresh: Floats) -> dict[str, float]:
    """Of fresh noise, steps x streams x numbers."""
    draws = fresh.ravel()
    cells = np.clip((ndtr(draws) * _CELLS).astype(np.int64), 0, _CELLS - 1)
    counts = np.bincount(cells, minlength=_CELLS)
    by_step = [unit_variance(float(np.sum(step**2)), step.size) for step in fresh]
    up = fresh > 0.0
    return {
        "mean of the noise": zero_mean(float(draws.sum()), len(draws)),
        "variance of the noise": unit_variance(float(draws @ draws), len(draws)),
        "variance of the step farthest off": min(1.0, len(by_step) * min(by_step)),
        "law of the noise": pearson(counts, np.full(_CELLS, 1.0 / _CELLS)),
        "signs of one step and the next": _agreement(up[:-1], up[1:]),
        "signs of one number and the next": _agreement(up[..., :-1], up[..., 1:]),
        "signs of one stream and the next": _agreement(up[:, :-1], up[:, 1:]),
    }


def _agreement(one: Any, other: Any) -> float:
    """How likely signs are to agree so often, or so rarely, by chance: each is a fair coin's."""
    return even_chance(int(np.sum(one == other)), one.size)
