"""One row, told from the weights of an online model as well as anyone could.

For an audit to run beside its other checks. A stream of empty rows has one canary, or none; whoever
sees all weights, and knows everything else, says which. Columns are as many experiments: a canary
of d ones is clipped to a length of 1, and at sqrt(d) times the mu every column by itself is a
stream whose row moves it by its share, at mu = 1.
"""

import math
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplasso.estimators.online_classifier import PrivateOnlineClassifier
from dplasso.privacy import leaks
from dplasso.privacy.gaussian import epsilon_of
from dplasso.streams import exposure, telling_statistic

Floats = NDArray[np.float64]

_DELTA = 1e-6
# So much of the start beside every row that weights stay small, and the canary's slope large.
_START = 1.0


class Told(NamedTuple):
    """What was found of one row, where 1 was charged: from the noise matrix, and measured."""

    by_matrix: float
    measured: float
    error: float  # of what was measured, one standard deviation

    @property
    def alarming(self) -> bool:
        """Whether the row is told better than was paid for, beyond rounding and chance."""
        return self.by_matrix > 1.0 + 1e-6 or self.measured > 1.0 + 5.0 * self.error


def told_of_a_row(
    row: int, *, steps: int = 24, window: int = 8, columns: int = 4000, **options: Any
) -> Told:
    """Learn from a stream whose row number ``row`` is a canary, and from one without it.

    ``options`` are those of `PrivateOnlineClassifier` that say what is released: construction,
    learner, neighboring. The measured mu is the shift of the best statistic there is of the
    weights, over its standard deviation.

    Formal guarantees
    -----------------
    None: rows are made up, no budget is spent, and seeds make it repeatable.
    """
    present, noise = _released(row, steps, window, columns, seed=0, options=options)
    absent, _ = _released(None, steps, window, columns, seed=1, options=options)
    weights = telling_statistic(noise, row, window)
    shown, hidden = weights @ present, weights @ absent
    measured = abs(float(shown.mean() - hidden.mean())) / float(np.std(hidden))
    error = math.sqrt((2.0 + measured**2 / 2.0) / columns)
    return Told(float(exposure(noise, window)[row]), measured, error)


def _released(
    row: int | None, steps: int, window: int, columns: int, seed: int, options: dict[str, Any]
) -> tuple[Floats, Floats]:
    """Released sums, steps x columns, in units of a column's share of the canary, as the weights
    tell them; and the matrix of their noise."""
    model = PrivateOnlineClassifier(
        epsilon_of(math.sqrt(columns), _DELTA),
        _DELTA,
        **{"window": window, "radius": 1e9, "regularisation": 1.0, "start_rows": _START, **options},
        clip=1.0,
        rows="as_is",
        fit_intercept=False,
        classes=[0, 1],
        random_state=seed,
    )
    empty, canary = np.zeros((1, columns)), np.ones((1, columns))
    sums = np.empty((steps, columns))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", leaks.PrivacyLeakWarning)
        for step in range(steps):
            model.partial_fit(canary if step == row else empty, [1])
            sums[step] = -model.coef_[0] * (step + 1 + _START)
    assert model._run is not None
    share = math.sqrt(columns)
    return sums * share, model._run.total.noise.noise_matrix(steps) * share
