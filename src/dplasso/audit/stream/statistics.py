"""Statistics of released sums: tests of their noise, and the optimal attack on one row."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import gammainc

from dplasso.audit import account, statistics
from dplasso.audit.session import Session
from dplasso.audit.stream import reference
from dplasso.audit.stream.learning import READABLE, Learning
from dplasso.audit.subject import Scored
from dplasso.base.arrays import Floats
from dplasso.mechanisms.random_bits import RandomBits

if TYPE_CHECKING:
    from dplasso.audit.stream.subject import StreamSubject

STEPS = 40  # per stream: two and a half windows
COLUMNS = 80  # columns that count as one run
_MOST = 50_000
_DELTA = 1e-6
_LONG = 8.0  # length of the canary's gradient at a margin error of 1, in clips
_CELLS = 10  # number of cells of equal probability in which lengths are counted


def gaussian_p_values(matrix: Floats, streams: Floats) -> dict[str, float]:
    """Test the fresh noise of each release given earlier ones: it is standard normal by the matrix.

    ``streams`` are streams x steps x numbers.
    """
    fresh = reference.fresh_noise(matrix, streams.swapaxes(0, 1))
    by_step = [statistics.unit_variance(float(np.sum(step**2)), step.size) for step in fresh]
    steps, runs, numbers = (np.moveaxis(fresh, axis, 0) for axis in range(3))
    return {
        **statistics.normal_p_values("steps", fresh.ravel()),
        "variance of the step farthest off": min(1.0, len(by_step) * min(by_step)),
        "signs of one step and the next": _of_the_next(steps),
        "signs of one number and the next": _of_the_next(numbers),
        "signs of one stream and the next": _of_the_next(runs),
    }


def _of_the_next(items: Floats) -> float:
    return statistics.agreement([(items[:-1].ravel(), items[1:].ravel())])


def gamma_p_values(matrix: Floats, streams: Floats) -> dict[str, float]:
    """Test the single noise vectors between steps: Gamma law of lengths, uniform direction.

    Errors of less than about ten per cent are too small for this test.
    """
    numbers = streams.shape[2]
    scale = matrix.max() / reference.gamma_deviation(numbers)
    draws = np.concatenate(
        [
            streams[:, step] if other is None else streams[:, step] - streams[:, other]
            for step, other in reference.single_draws(matrix)
        ]
    )
    lengths = np.linalg.norm(draws, axis=1) / scale
    cells = np.minimum((gammainc(numbers, lengths) * _CELLS).astype(np.int64), _CELLS - 1)
    counts = np.bincount(cells, minlength=_CELLS)
    return {
        "law of the noise's length": statistics.pearson(counts, np.full(_CELLS, 1.0 / _CELLS)),
        "signs of the noise": statistics.even_chance(int(np.sum(draws > 0.0)), draws.size),
    }


class StreamAttack:
    """Empty rows with one canary, at the position that the noise hides least.

    The attacker sees all weights while the row is protected, knows everything else, and computes
    the likelihood ratio of the releases. Each column serves as one run: a canary of d equal entries
    is clipped to one length, and at sqrt(d) times the mu every single column is a stream that the
    row changes by its share, at a mu of 1.
    """

    def __init__(self, session: "Session[StreamSubject]") -> None:
        self._subject, self._bits = session.subject, session.bits

    def __call__(self, side: int, runs: int, session: Session[Any]) -> Scored:
        subject, columns = self._subject, min(_MOST, runs * COLUMNS)
        # Noise matrix of one column, in units of its share of the sensitivity.
        matrix = self._stream(columns).noise_matrix(STEPS) * math.sqrt(columns)
        told = reference.told_while_protected(matrix, subject.short_window)
        row = int(told.argmax())
        end = min(len(matrix), row + (subject.short_window or len(matrix)))
        # Rows of -1 have gradients of 1, because their label lies above their margin.
        rival = 1 if subject.facts.neighboring == "replace_one" else 0
        released = self._released(columns, row, rival if side else -1, end)
        session.tell(1.0)
        scores: Floats = reference.likelihood_weights(matrix, row, end) @ released
        return scores[:, None], {
            "mu_of_the_row": float(told.max()),
            "row": row,
            "budget": "at which every column has a mu of 1",
        }

    def _stream(self, columns: int, bits: RandomBits | None = None) -> Learning:
        subject = self._subject
        classes = {"classes": subject.classes[:2].tolist()} if subject.classifies else {}
        return subject.begun(
            columns,
            bits,
            **READABLE,
            **classes,
            epsilon=account.gaussian_epsilon(math.sqrt(columns), _DELTA),
            delta=_DELTA,
            row_map="as_is",
            fit_intercept=False,
        )

    def _released(self, columns: int, row: int, canary: int, steps: int) -> Floats:
        """Released sums, steps x columns, in units of a column's share of the sensitivity."""
        subject, stream = self._subject, self._stream(columns, self._bits)
        unit, rows = subject.facts.y_bound, subject.rows_per_step
        labels = subject.labels(np.full(rows, unit))
        entry = canary * _LONG * subject.facts.clip / (unit * math.sqrt(columns))
        sums = np.empty((steps, columns))
        for step in range(steps):
            X = np.zeros((rows, columns))
            X[0] = entry if step == row else 0.0
            stream.learn(stream.batch(X, labels))
            sums[step] = stream.released_sum
        return sums * (math.sqrt(columns) / subject.facts.reach)
