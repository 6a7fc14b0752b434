"""DP-FTRL and DP-SGD in one pass: gradient steps of one size along a noisy running sum.

Kairouz et al., "Practical and private (deep) learning without sampling or shuffling", 2021, with
the noise of a tree; and noise for every release alone, whose sums are those of a random walk.
"""

from typing import NamedTuple

import numpy as np

from dplasso.domains import L2Ball
from dplasso.estimators.online_rows import RowForm
from dplasso.losses import LogisticLoss
from dplasso.online import ProjectedLeader, StreamLearner

_TINY = 1e-9  # an L2 term that is felt by none


class Noises(NamedTuple):
    values: np.ndarray
    floors: np.ndarray


class DescentSum:
    """A running sum whose every row, or batch, has noise of its own; numpy's, on public data."""

    bits, unit = 30, 2.0**-30

    def __init__(self, dimension: int, sd: float, seed: int) -> None:
        self.total, self._sd = np.zeros(dimension, np.int64), sd
        self._rng, self._noise = np.random.default_rng(seed), np.zeros(dimension)

    def stretch(self, steps: int) -> Noises:
        drawn = self._rng.normal(0.0, self._sd, (steps, len(self._noise)))
        walked = self._noise + np.cumsum(drawn, axis=0)
        self._noise = walked[-1]
        return Noises((walked / self.unit).astype(np.int64), np.zeros(steps, np.int64))


class Taped:
    """A running sum whose noise was drawn before: one draw for all rates that are tried."""

    def __init__(self, total, steps: int) -> None:
        self.bits, self.unit = total.bits, total.unit
        self._noise, self._at = total.stretch(steps), 0
        self.total = np.zeros_like(total.total)

    def stretch(self, steps: int) -> Noises:
        part = slice(self._at, self._at + steps)
        self._at += steps
        return Noises(self._noise.values[part], self._noise.floors[part])

    def rewound(self) -> "Taped":
        """The same from its beginning, with nothing added."""
        self.total[:], self._at = 0, 0
        return self


def best_rate(X, y, make_total, batch: int, rates) -> tuple[float, float]:
    """The largest progressive accuracy of several rates, and its rate.

    Labels are 0 and 1 (or -1 and 1), or the numbers of more classes.
    """
    tape = Taped(make_total(_outputs(y) * (X.shape[1] + 1)), len(y) // batch)
    return max((descent(X, y, tape.rewound(), batch, rate), rate) for rate in rates)


def descent(X, y, total, batch: int, rate: float) -> float:
    """Progressive accuracy of weights that are -rate times the released sums."""
    form, outputs = RowForm(X.shape[1], unit=True, intercept=True), _outputs(y)
    leader = ProjectedLeader(L2Ball(outputs * form.width, 1e6), _TINY, 1.0 / (rate * _TINY))
    learner = StreamLearner(leader, LogisticLoss(), total, clip=1.0, outputs=outputs)
    whole = len(y) // batch * batch
    starts, *rest = form.of_matrix(X)
    margins = learner.learn((starts[: whole + 1], *rest), y[:whole].astype(np.float64), batch)
    if outputs > 1:
        return float(np.mean(margins.argmax(axis=1) == y[:whole]))
    return float(np.mean((margins[:, 0] > 0) == (y[:whole] > 0)))


def _outputs(y) -> int:
    """One for two classes; of more, each is learned against the rest, clipped together."""
    classes = len(np.unique(y))
    return 1 if classes == 2 else classes
