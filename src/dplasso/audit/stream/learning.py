"""An online estimator that learns step by step, with access to its sums, weights and releases."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplasso.audit.reference import Claim
from dplasso.audit.synthetic import random_labels
from dplasso.base.arrays import Floats, Ints
from dplasso.online.stream_learner import Compressed
from dplasso.privacy import leaks
from dplasso.streams.process import Stretch

# Settings under which the weights reveal the released sums: no projection onto a set, no fading,
# and a start so heavy that margins stay small.
READABLE: dict[str, Any] = {
    "domain": "l2",
    "radius": 1e12,
    "learner": "projection",
    "regularisation": 1.0,
    "start_rows": 100.0,
    "half_life": None,
}
_SIZES = (0.0, 1e-12, 0.1, 1.0, 30.0, 1e6)  # about how long rows are


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
        return self._stream.weights

    @property
    def total(self) -> Any:
        """The running sum."""
        return self._stream.total

    @property
    def exact_sum(self) -> Ints:
        """The current sum without noise, in integers."""
        return self.total.total.copy()

    @property
    def released_sum(self) -> Floats:
        """The released sum computed from the weights, under the settings `READABLE`."""
        rows = self.model.rows_seen_ + READABLE["start_rows"]
        return -self.weights.ravel() * rows

    def noise_matrix(self, steps: int) -> Floats:
        """The noise matrix that the product states, in units of the sensitivity."""
        return self.total.noise.noise_matrix(steps)

    def add_by(self, total: Any) -> None:
        """Replace the running sum of the learner."""
        self._stream.learner._total = total

    def continue_from(self, other: "Learning") -> None:
        """Copy the sum and weights of another stream, as if all releases were the same."""
        self.total.total[:] = other.total.total
        self._stream.learner.resume(other._stream.learner.state())


class _Heard:
    """The real running sum for a learner, which also records its releases."""

    def __init__(self, real: Any) -> None:
        self._real, self.bits, self.unit, self.total = real, real.bits, real.unit, real.total
        self.noise: Stretch | None = None

    def stretch(self, steps: int) -> Stretch:
        noise: Stretch = self._real.stretch(steps)
        self.noise = Stretch(noise.values.copy(), noise.floors.copy())
        return noise


class _Forged:
    """An empty sum, whose noise is the release of another sum."""

    def __init__(self, real: Any) -> None:
        self.bits, self.unit, self.total = real.bits, real.unit, np.zeros_like(real.total)
        self.next: Stretch | None = None

    def stretch(self, steps: int) -> Stretch:
        assert self.next is not None and steps == len(self.next.values)
        return self.next


class Replay:
    """Two streams with the same releases, of which one has seen only the releases."""

    def __init__(self, stream: Learning, blind: Learning) -> None:
        self._stream, self._blind = stream, blind
        self._heard, self._forged = _Heard(stream.total), _Forged(blind.total)
        stream.add_by(self._heard)
        blind.add_by(self._forged)

    def weights(self, batch: Batch) -> tuple[Floats, Floats]:
        """The weights of both, after one of them has learned from rows."""
        self._stream.learn(batch)
        noise, rows = self._heard.noise, len(batch.labels)
        assert noise is not None
        released: Ints = self._heard.total[None, :] + noise.values
        self._forged.next = Stretch(released, noise.floors)
        nothing = np.zeros(rows + 1, np.int64), np.empty(0, np.int32), np.empty(0)
        self._blind.learn(Batch(nothing, np.zeros(rows)))
        return self._stream.weights.ravel(), self._blind.weights.ravel()


def random_rows(
    rows: int, columns: int, facts: Claim, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Rows that are empty, tiny, of length about 1 or huge, with one, a few, or all entries."""
    size = rng.choice(_SIZES, (rows, 1)) / np.sqrt(columns)
    filled = rng.random((rows, columns)) < rng.choice([1.0 / columns, 0.3, 1.0], (rows, 1))
    X = rng.normal(size=(rows, columns)) * size * filled
    return X, random_labels(rows, facts, rng)
