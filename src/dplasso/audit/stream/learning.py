"""An online estimator that learns step by step, with access to its sums and weights."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplasso.base.arrays import Floats, Ints
from dplasso.online.stream_learner import Compressed
from dplasso.privacy import leaks

# Settings under which the weights reveal the released sums: no projection onto a set, and a start
# so heavy that margins stay small.
READABLE: dict[str, Any] = {
    "domain": "l2",
    "radius": 1e12,
    "learner": "projection",
    "regularisation": 1.0,
    "start_rows": 100.0,
}


class Batch(NamedTuple):
    """Rows and labels as the learner receives them."""

    rows: Compressed
    labels: Floats

    def part(self, first: int, last: int) -> "Batch":
        """Some of the rows."""
        starts, columns, values = self.rows
        return Batch((starts[first : last + 1], columns, values), self.labels[first:last])

    def without(self, place: int) -> "Batch":
        """The same rows with an empty row in the place of one."""
        starts, columns, values = self.rows
        mine = slice(starts[place], starts[place + 1])
        later = np.arange(len(starts)) > place
        shorter = starts - np.where(later, starts[place + 1] - starts[place], 0)
        return Batch((shorter, np.delete(columns, mine), np.delete(values, mine)), self.labels)


class Learning:
    """A stream that was started in the same way as by a first row, and has learned from no row."""

    def __init__(self, model: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", leaks.PrivacyLeakWarning)  # the audit's own seeds
            warnings.simplefilter("ignore", leaks.UndeclaredBoundWarning)
            model.begin()
        self.model, self._stream = model, model.stream_

    def batch(self, X: Any, y: NDArray[Any]) -> Batch:
        """Rows and labels, by the estimator's own validation."""
        checked, labels = self.model._checked(X, y)
        return Batch(self._stream.form.of_matrix(checked), self.model.encode(labels))

    def learn(self, batch: Batch) -> None:
        """Learn from rows; if they are fewer than a release needs, some are buffered."""
        self._stream.learn(*batch)

    @property
    def weights(self) -> Floats:
        """The latest release: outputs x columns."""
        found: Floats = self._stream.weights
        return found

    @property
    def total(self) -> Any:
        """The running sum."""
        return self._stream.total

    @property
    def exact_sum(self) -> Ints:
        """The current sum without noise, in integers."""
        found: Ints = self.total.total.copy()
        return found

    @property
    def released_sum(self) -> Floats:
        """The released sum computed from the weights, under the settings `READABLE`."""
        rows = self.model.rows_seen_ + READABLE["start_rows"]
        found: Floats = -self.weights.ravel() * rows
        return found

    def noise_matrix(self, steps: int) -> Floats:
        """The noise matrix that the product states, in units of the sensitivity."""
        found: Floats = self.total.noise.noise_matrix(steps)
        return found

    def add_by(self, total: Any) -> None:
        """Replace the running sum of the learner."""
        self._stream.learner._total = total

    def continue_from(self, other: "Learning") -> None:
        """Copy the sum and weights of another stream, as if all releases were the same."""
        self.total.total[:] = other.total.total
        self._stream.learner.resume(other._stream.learner.state())
