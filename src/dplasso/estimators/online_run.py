"""A stream under way: the learner, its running sum, and rows that wait for their batch."""

import threading
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from dplasso.base.arrays import Floats
from dplasso.estimators.online_rows import joined, tail
from dplasso.kernels import stream_rows
from dplasso.online.stream_learner import Compressed, StreamLearner
from dplasso.streams import RunningSum, State

_NONE: Compressed = (np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0))


class OnlineRun:
    """Rows in, margins out; everything in here but the weights is as secret as the rows.

    Formal guarantees
    -----------------
    See `StreamLearner`. Rows that do not fill a batch have reached nothing yet: they wait. Without
    a ``batch`` nobody waits: rows of a call make one release.
    """

    def __init__(
        self, learner: StreamLearner, total: RunningSum, outputs: int, batch: int | None
    ) -> None:
        self._learner, self.total = learner, total
        self._outputs, self._batch = outputs, batch
        self._waiting, self._labels = _NONE, np.empty(0)
        self._one_thread = threading.RLock()

    def alone(self) -> AbstractContextManager[Any]:
        """One thread at a time: two that learned at once would mix up rows and noise."""
        self.total.check_process()  # in a forked child the lock may be held by nobody
        return self._one_thread

    @property
    def rows_learned(self) -> int:
        return self._learner.rows

    @property
    def rows_waiting(self) -> int:
        return len(self._labels)

    @property
    def weights(self) -> Floats:
        """Outputs x columns, the intercept's last."""
        return self._learner.weights.reshape(self._outputs, -1)

    def learn(self, rows: Compressed, labels: Floats) -> Floats:
        """Margins of rows, each before it is learned from: rows x outputs."""
        if self._batch is None:
            return self._learner.learn(rows, labels, max(1, len(labels)))
        waiting = len(self._labels)
        if waiting:
            rows = joined(self._waiting, rows)
            labels = np.concatenate([self._labels, labels])
        whole = len(labels) // self._batch * self._batch
        # First nobody waits: a call that is interrupted must not learn a row twice.
        self._waiting, self._labels = _NONE, np.empty(0)
        first = (rows[0][: whole + 1], *rows[1:])
        margins = self._learner.learn(first, labels[:whole], self._batch)
        if whole < len(labels):
            left = tail(rows, whole)
            self._waiting, self._labels = left, labels[whole:].copy()
            margins = np.concatenate([margins, margins_of(left, self.weights)])
        return margins[waiting:]

    def state(self) -> State:
        """All of it, to go on from later: see `dplasso.streams.State`. Nobody may be waiting."""
        if self.rows_waiting:
            raise ValueError("rows wait for their batch; learn from whole batches before saving")
        header, arrays = self.total.state()
        public = self._learner.state()
        mine = {f"learner_{name}": value for name, value in public.items() if name != "rows"}
        return State({"sum": header, "rows": public["rows"]}, {**arrays, **mine})

    def resume(self, state: State) -> None:
        """Learner and sum stand where `state` was taken; the sum was made from it."""
        own = {
            name.removeprefix("learner_"): array
            for name, array in state.arrays.items()
            if name.startswith("learner_")
        }
        self._learner.resume({"rows": state.header["rows"], **own})


def margins_of(rows: Compressed, weights: Floats) -> Floats:
    """Products of rows with the weights: rows x outputs."""
    margins = np.empty((len(weights), len(rows[0]) - 1))
    for k, output in enumerate(weights):
        stream_rows.margins_of(np.ascontiguousarray(output), *rows, margins[k])
    return margins.T
