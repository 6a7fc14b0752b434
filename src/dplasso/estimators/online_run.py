"""The stream of an online estimator: one that continues to learn, or a snapshot."""

import math
import os
import threading
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

import numpy as np

from dplasso.base.arrays import Floats
from dplasso.base.one_at_a_time import refuse_again
from dplasso.base.wording import ParameterError
from dplasso.estimators import online_handover as handover
from dplasso.estimators.online_rows import Entries, RowForm, check_fine, joined, tail
from dplasso.estimators.online_rules import LeaderPlan
from dplasso.kernels.stream_rows import FINE
from dplasso.online.stream_learner import Compressed, StreamLearner, margins_of
from dplasso.privacy.accountant import Receipt
from dplasso.privacy.online_statement import OnlineStatement
from dplasso.streams import RunningSum, State

_NONE: Compressed = (np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0))


class OnlineStream(Protocol):
    """The stream of a fitted online estimator, whether or not it continues to learn."""

    @property
    def form(self) -> RowForm:
        """How rows are read."""

    @property
    def weights(self) -> Floats:
        """The latest release: outputs x columns, with the intercept last."""

    @property
    def rows_seen(self) -> int:
        """Number of rows that were learned from or wait for their batch."""

    @property
    def only_weights(self) -> Floats | None:
        """The latest release of a model with one output, as a vector; None if it is not at hand."""

    def margins(self, rows: Compressed) -> Floats:
        """Multiply rows with the latest weights: rows x outputs."""

    @property
    def known_labels(self) -> dict[Any, float]:
        """Labels that were encoded before, all of declared classes."""

    def learn(self, rows: Compressed, labels: Floats) -> Floats:
        """Learn from rows; return the margins before each was learned: rows x outputs."""

    def learn_one(self, entries: Entries, label: float) -> None:
        """Learn from the entries of one row; NaN is a missing entry."""


class Recorder(Protocol):
    """Keeps the rows of a stream on disk, so that the stream can continue after a crash."""

    def before(self, rows: Compressed, labels: Floats) -> None:
        """Record rows before noise is drawn for them; an error refuses them."""

    def after(self) -> None:
        """Note that all recorded rows were learned from."""


@dataclass(frozen=True)
class Snapshot:
    """A stream as it was when it was copied or saved: it predicts, but does not learn."""

    form: RowForm
    weights: Floats
    rows_seen: int
    stated: OnlineStatement
    rules: int = 1  # version of the public rules that the stream began with

    @property
    def only_weights(self) -> Floats:
        """The weights of a model with one output, as a vector."""
        return self.weights.reshape(-1)

    def margins(self, rows: Compressed) -> Floats:
        """Multiply rows with the weights: rows x outputs."""
        return margins_of(rows, self.weights)

    @property
    def known_labels(self) -> dict[Any, float]:
        """No labels: a snapshot does not learn."""
        return {}

    def learn(self, *_: object) -> NoReturn:
        """Raise, since two copies sharing a noise key could be subtracted to reveal rows."""
        raise ValueError(
            "this model is a copy or was loaded: it predicts, and only the original, or "
            "load_state, continues to learn with its noise; fit starts a new stream"
        )

    learn_one = learn


class OnlineRun:
    """A stream that learns. Everything in it except the weights is as secret as the rows.

    ``learner`` releases the running sum ``total``. If ``batch`` is None, all rows of a call make
    one release; an endless stream has no ``most_rows``.

    Formal guarantees
    -----------------
    See `StreamLearner`. Rows that do not fill a batch wait, and are in no release yet. A saved
    state is made useless before the next row is learned from: see `online_handover`. With a
    ``recorder``, rows are recorded before noise is drawn for them, whoever passes them. While rows
    are learned from, a signal handler can neither learn nor save a state: sums would be released
    in another order than their noise, or a state would lack rows that were released.
    """

    def __init__(
        self,
        learner: StreamLearner,
        total: RunningSum,
        form: RowForm,
        plan: LeaderPlan,
        *,
        outputs: int,
        batch: int | None,
        most_rows: int | None,
        rules: int,
    ) -> None:
        self.rules = rules  # version of the public rules that the stream began with
        self.learner, self.total, self.form, self.plan = learner, total, form, plan
        self.known_labels: dict[Any, float] = {}
        self.recorder: Recorder | None = None
        self.receipt: Receipt | None = None
        # The parameters that the stream began with, which those of its model may differ from later.
        self.given: dict[str, Any] = {}
        self.saved: str | None = None  # path of a saved state, until this stream learns again
        self._outputs, self._batch, self._most_rows = outputs, batch, most_rows
        self._waiting, self._labels = _NONE, np.empty(0)
        self._row_by_row = batch in (None, 1) and learner.takes_rows(form.facts)
        self._one_thread = threading.RLock()
        self._leader, self._process = learner.leader, os.getpid()

    def alone(self) -> AbstractContextManager[Any]:
        """Lock for one thread at a time: two that learn at once would mix up rows and noise.

        A signal handler that comes while this thread has the lock is refused.
        """
        self.total.check_process()  # in a forked child, the lock may have no owner to release it
        refuse_again(self._one_thread)
        return self._one_thread

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "the stream of a model can not be copied: a copy would not know where the state of the "
            "stream was saved, and two would continue with the same noise; copy the model, which "
            "makes a snapshot"
        )

    @property
    def rows_waiting(self) -> int:
        """Number of rows that wait for their batch."""
        return len(self._labels)

    @property
    def rows_seen(self) -> int:
        """Number of rows that were learned from or wait for their batch."""
        return self.learner.rows + self.rows_waiting

    @property
    def room(self) -> float:
        """Number of rows that the stream can still take."""
        return math.inf if self._most_rows is None else self._most_rows - self.rows_seen

    @property
    def weights(self) -> Floats:
        """The latest release: outputs x columns, with the intercept last."""
        return self.learner.weights.reshape(self._outputs, -1)

    @property
    def only_weights(self) -> Floats | None:
        """The latest release of a model with one output, as a vector; None if it is not at hand."""
        leader = self._leader
        return None if leader is None else leader.weights

    def margins(self, rows: Compressed) -> Floats:
        """Multiply rows with the latest weights: rows x outputs."""
        return self.learner.margins(rows)

    def check_room(self, rows: int) -> None:
        """Reject more rows than were declared."""
        if rows > self.room:
            refuse_rows(self._most_rows)

    def learn(self, rows: Compressed, labels: Floats) -> Floats:
        """Learn from rows; return the margins before each was learned: rows x outputs."""
        if len(rows[0]) - 1 != len(labels):
            raise ValueError("X and y differ in their number of rows; give one label per row")
        with self.alone():
            self.check_room(len(labels))  # no other thread takes the room before rows are recorded
            if not len(labels):
                return self._learned(rows, labels)
            handover.reclaim(self)
            if self.recorder is None:
                return self._learned(rows, labels)
            self.recorder.before(rows, labels)
            margins = self._learned(rows, labels)
            self.recorder.after()
            return margins

    def learn_one(self, entries: Entries, label: float) -> None:
        """Learn from the entries of one row, as `learn` does, with less work around the step."""
        if not self._row_by_row or self.recorder is not None:
            self.learn(self.form.of_entries(entries), np.array([label]))
            return
        if self._most_rows is not None:
            self.check_room(1)
        places, values = entries
        if os.getpid() != self._process:
            self.total.check_process()  # as in `alone`
        refuse_again(self._one_thread)
        with self._one_thread:
            if self.saved is not None:
                handover.reclaim(self)
            found = self.learner.learn_row(places, values, label)
        if found != FINE:
            check_fine(found)

    def _learned(self, rows: Compressed, labels: Floats) -> Floats:
        if self._batch is None:
            return self.learner.learn(rows, labels, max(1, len(labels)))
        waiting = len(self._labels)
        if waiting:
            rows = joined(self._waiting, rows)
            labels = np.concatenate([self._labels, labels])
        whole = len(labels) // self._batch * self._batch
        # Clear the waiting rows first: an interrupted call must not learn a row twice.
        self._waiting, self._labels = _NONE, np.empty(0)
        first = (rows[0][: whole + 1], *rows[1:])
        margins = self.learner.learn(first, labels[:whole], self._batch)
        if whole < len(labels):
            left = tail(rows, whole)
            self._waiting, self._labels = left, labels[whole:].copy()
            margins = np.concatenate([margins, self.margins(left)])
        return margins[waiting:]

    def state(self) -> State:
        """Return the state that a later run continues from: see `dplasso.streams.State`.

        Call it only when no rows wait for their batch.
        """
        if self.rows_waiting:
            raise ValueError("rows wait for their batch; learn from whole batches before saving")
        header, arrays = self.total.state()
        public = self.learner.state()
        mine = {f"learner_{name}": value for name, value in public.items() if name != "rows"}
        told = {"sum": header, "rows": public["rows"], "rules": self.rules}
        return State(told, {**arrays, **mine})

    def resume(self, state: State) -> None:
        """Continue from a state of `state`, from which the running sum was already restored."""
        own = {
            name.removeprefix("learner_"): array
            for name, array in state.arrays.items()
            if name.startswith("learner_")
        }
        self.learner.resume({"rows": state.header["rows"], **own})


def refuse_rows(declared: int | None) -> NoReturn:
    """Raise the error for more rows than were declared."""
    raise ParameterError(
        "{n_rows} must not be exceeded, {declared} are declared; declare more at the start, or "
        "leave it out for a stream without end",
        declared=declared,
    )
