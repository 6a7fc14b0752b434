"""The optimal attack on one row, from the weights of a stream."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dplasso.audit.attack import Attack
from dplasso.audit.descent.account import gaussian_epsilon
from dplasso.audit.session import Session
from dplasso.audit.stream.learning import READABLE, Learning
from dplasso.audit.stream.reference import likelihood_weights, told_while_protected
from dplasso.base.arrays import Floats
from dplasso.mechanisms.random_bits import RandomBits

if TYPE_CHECKING:
    from dplasso.audit.stream.subject import StreamSubject

STEPS = 40  # per stream: two and a half windows
COLUMNS = 80  # columns that count as one run
_MOST = 50_000
_DELTA = 1e-6
_LONG = 8.0  # length of the canary's gradient at a margin error of 1, in clips


class StreamAttack(Attack):
    """Empty rows with one canary, at the position that the noise hides least.

    The attacker sees all weights while the row is protected, knows everything else, and computes
    the likelihood ratio of the releases. Each column serves as one run: a canary of d equal entries
    is clipped to one length, and at sqrt(d) times the mu every single column is a stream that the
    row changes by its share, at a mu of 1.
    """

    def __init__(self, session: "Session[StreamSubject]") -> None:
        self._subject, self._bits = session.subject, session.bits
        self._details: dict[str, Any] = {}

    def scores(self, side: int, runs: int, tell: Callable[[float], None]) -> Floats:
        subject, columns = self._subject, min(_MOST, runs * COLUMNS)
        # Noise matrix of one column, in units of its share of the sensitivity.
        matrix = self._stream(columns).noise_matrix(STEPS) * math.sqrt(columns)
        told = told_while_protected(matrix, subject.short_window)
        row = int(told.argmax())
        end = min(len(matrix), row + (subject.short_window or len(matrix)))
        # Rows of -1 have gradients of 1, because their label lies above their margin.
        rival = 1 if subject.facts.neighboring == "replace_one" else 0
        released = self._released(columns, row, rival if side else -1, end)
        self._details = {"mu_of_the_row": float(told.max()), "row": row}
        tell(1.0)
        scores: Floats = likelihood_weights(matrix, row, end) @ released
        return scores[:, None]

    def details(self) -> dict[str, Any]:
        return {**self._details, "budget": "at which every column has a mu of 1"}

    def _stream(self, columns: int, bits: RandomBits | None = None) -> Learning:
        subject = self._subject
        classes = {"classes": subject.classes[:2].tolist()} if subject.classifies else {}
        return subject.begun(
            columns,
            bits,
            **READABLE,
            **classes,
            epsilon=gaussian_epsilon(math.sqrt(columns), _DELTA),
            delta=_DELTA,
            rows="as_is",
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
