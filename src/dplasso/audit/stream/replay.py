"""Replay the releases of one stream in a stream of empty rows."""

from typing import Any

import numpy as np

from dplasso.audit.stream.learning import Batch, Learning
from dplasso.base.arrays import Floats, Ints
from dplasso.streams.process import Stretch


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
