"""Has Gamma noise the length and the directions that were charged for?"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import gammainc

from dplasso.audit.check import Check, Session
from dplasso.audit.statistics import even_chance, pearson
from dplasso.audit.stream.facts import GAMMA
from dplasso.audit.stream.noise import noise_of_stream, repeated
from dplasso.audit.stream.reference import gamma_deviation, single_draws
from dplasso.audit.stream.subject import StreamSubject, noise_matrix
from dplasso.audit.subject import Subject
from dplasso.audit.verdict import Verdict
from dplasso.base.arrays import Floats

RUNS = 100
COLUMNS = 5
STEPS = 4  # whose noise is of four nodes: Gamma noise takes long to draw
_CELLS = 10


class GammaNoise(Check[StreamSubject]):
    """Tests of single noise vectors, which steps differ by, less the exact sums.

    Lengths must have the Gamma law of as many numbers at the scale that the matrix of the noise
    says, by a chi-square test; signs must be as often positive as not; and no two streams may share
    noise. Finds noise that is missing, too small, of another law or used again. Faults by less than
    some ten per cent are too small for it.
    """

    name = "noise"
    of = StreamSubject
    tests = 2
    share = 0.4

    def asked_of(self, subject: Subject) -> Check[Any] | None:
        found = isinstance(subject, StreamSubject) and subject.facts.noise == GAMMA
        return self if found else None

    def run(self, session: Session[StreamSubject]) -> Iterator[Verdict]:
        subject = session.subject

        def streams(runs: int) -> list[Floats]:
            return [noise_of_stream(session, STEPS, COLUMNS, seeded=True) for _ in range(runs)]

        runs = session.runs(RUNS, streams)
        found = streams(runs)
        yield repeated(session, STEPS, COLUMNS, found)
        matrix = noise_matrix(subject.begun(COLUMNS), STEPS)
        yield from self.doubted(session, _p_values(matrix, np.stack(found)), runs)


def _p_values(matrix: Floats, streams: Floats) -> dict[str, float]:
    """Of noise, streams x steps x numbers."""
    numbers = streams.shape[2]
    scale = matrix.max() / gamma_deviation(numbers)
    draws = np.concatenate(
        [
            streams[:, step] if other is None else streams[:, step] - streams[:, other]
            for step, other in single_draws(matrix)
        ]
    )
    lengths = np.linalg.norm(draws, axis=1) / scale
    cells = np.minimum((gammainc(numbers, lengths) * _CELLS).astype(np.int64), _CELLS - 1)
    counts = np.bincount(cells, minlength=_CELLS)
    return {
        "law of the noise's length": pearson(counts, np.full(_CELLS, 1.0 / _CELLS)),
        "signs of the noise": even_chance(int(np.sum(draws > 0.0)), draws.size),
    }
