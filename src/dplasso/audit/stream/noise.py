"""Tests of the noise of released sums against its matrix."""

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammainc

from dplasso.audit.session import Session
from dplasso.audit.statistics import (
    agreement,
    even_chance,
    normal_p_values,
    pearson,
    unit_variance,
)
from dplasso.audit.stream import data
from dplasso.audit.stream.learning import READABLE
from dplasso.audit.stream.reference import fresh_noise, gamma_deviation, single_draws
from dplasso.base.arrays import Floats
from dplasso.mechanisms.random_bits import RandomBits

if TYPE_CHECKING:
    from dplasso.audit.stream.subject import StreamSubject

_CELLS = 10  # number of cells of equal probability in which lengths are counted


def of_stream(
    session: "Session[StreamSubject]", steps: int, columns: int, bits: RandomBits | None
) -> list[Floats]:
    """Released minus exact sums of a stream, step by step, in units of the sensitivity."""
    subject = session.subject
    stream = subject.begun(columns, bits, **READABLE)
    rows = subject.rows_per_step
    X, y = data.random_rows(rows * steps, columns, subject.facts, session.rng)
    batch, found = stream.batch(X, subject.labels(y)), []
    for step in range(steps):
        stream.learn(batch.part(step * rows, (step + 1) * rows))
        exact = stream.exact_sum * stream.total.unit
        found.append((stream.released_sum - exact) / subject.facts.reach)
    return found


def gaussian_p_values(matrix: Floats, streams: Floats) -> dict[str, float]:
    """Test the fresh noise of each release given earlier ones: it is standard normal by the matrix.

    ``streams`` are streams x steps x numbers.
    """
    fresh = fresh_noise(matrix, streams.swapaxes(0, 1))
    by_step = [unit_variance(float(np.sum(step**2)), step.size) for step in fresh]
    steps, runs, numbers = (np.moveaxis(fresh, axis, 0) for axis in range(3))
    return {
        **normal_p_values("steps", fresh.ravel()),
        "variance of the step farthest off": min(1.0, len(by_step) * min(by_step)),
        "signs of one step and the next": _of_the_next(steps),
        "signs of one number and the next": _of_the_next(numbers),
        "signs of one stream and the next": _of_the_next(runs),
    }


def _of_the_next(items: Floats) -> float:
    return agreement([(items[:-1].ravel(), items[1:].ravel())])


def gamma_p_values(matrix: Floats, streams: Floats) -> dict[str, float]:
    """Test the single noise vectors between steps: Gamma law of lengths, uniform direction.

    Errors of less than about ten per cent are too small for this test.
    """
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
