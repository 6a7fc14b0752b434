"""A linear model that learns from a stream in compiled loops of thousands of steps per call."""

import math
import threading
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplasso.base import checks
from dplasso.base.arrays import Floats, Ints
from dplasso.domains import Box, L1Ball, L2Ball, Simplex
from dplasso.kernels import stream_rows, stream_steps
from dplasso.kernels.stream_rows import FINE
from dplasso.losses import Loss, OneMarginLoss, check_taken
from dplasso.online.few_columns import few_columns
from dplasso.online.forgetting import Forgetting
from dplasso.online.leaders import Leader, ProjectedLeader

# Row-compressed rows: starts of rows, columns in increasing order, values.
Compressed = tuple[NDArray[Any], NDArray[Any], Floats]

# The losses a stream takes.
LOSSES = (OneMarginLoss,)

# Most noise values, and most steps, drawn ahead.
_MOST_NUMBERS, _MOST_STEPS = 1 << 20, 4096

_NOTHING = np.empty(0)
_MOST_ROWS = 1 << 62  # compiled loops count in 64 bits


class RunningSum(Protocol):
    """An integer sum that compiled loops add to: `dplasso.streams.RunningSum`.

    It alone provides the privacy of a learner: the window, the noise and the accounting. `stretch`
    returns the noise of the next steps, and how often each was rounded down. `next_step` returns
    noises, the place of the next step's among them, and how often it was rounded down; `take_back`
    undoes it. Where noise comes in ``blocks``, `advance` takes the next steps, and `open_block`
    returns the noise of a step for the numbers that are looked at.
    """

    total: Ints
    bits: int
    unit: float
    position: int
    blocks: Any

    def stretch(self, steps: int) -> tuple[Ints, Ints]: ...

    def advance(self, steps: int) -> None: ...

    def open_block(self, step: int) -> tuple[Any, int]: ...

    def next_step(self) -> tuple[Ints, int, int]: ...

    def take_back(self) -> None: ...


class StreamLearner:
    """A linear model that learns from a stream, with one output or one per class.

    A new ``leader`` has outputs x columns weights, output by output. With several outputs, the
    label of each is whether the row belongs to its class. ``clip`` bounds the length of a row's
    gradients, all outputs together: it is the sensitivity of ``total``. With a ``half_life``, rows
    fade: see `Forgetting`.

    Formal guarantees
    -----------------
    Rows reach the weights only through ``total``. Each is added as a vector of whole numbers whose
    exact 2-norm, over all outputs, is at most the sensitivity; the vector is a function of that
    row, its label and earlier releases. `learn` returns margins at earlier releases, which are for
    the data owner only. Rows are counted before noise is drawn for them, so that an interrupt can
    lose rows and never their count: who continues after ``rows`` rows learns no row twice, and none
    of the last ``window`` rows is in more releases than were accounted for.
    """

    def __init__(
        self,
        leader: Leader,
        loss: Loss,
        total: RunningSum,
        *,
        clip: float,
        outputs: int = 1,
        half_life: float | None = None,
    ) -> None:
        self._leader, self._total, self._outputs = leader, total, outputs
        self._forgetting = None if half_life is None else Forgetting(leader.dimension, half_life)
        check_taken(loss, LOSSES, "a stream")
        self._loss = (loss.compiled(), checks.bound("clip", clip))
        self._compiled = _compiled(leader, self._forgetting)
        self._held = _NOTHING if self._forgetting is None else self._forgetting.held
        self._row_numbers = np.empty(0)  # for `learn_row`
        self._one_thread = threading.RLock()
        self.rows = 0
        self._few = few_columns(leader, total, outputs, self._count)
        if self._forgetting is not None:
            self._few = None

    def _count(self, more: int) -> int:
        """Count rows that will be learned from; returns those before them."""
        before = self.rows
        self.rows = before + more
        return before

    @property
    def weights(self) -> Floats:
        """The latest weights, one output after the other."""
        if self._few is not None:
            self._few.check_process()  # in a forked child, the lock may have no owner to release it
            with self._one_thread:
                self._leader.weights = self._few.all_weights()
        return self._leader.weights

    @property
    def leader(self) -> Leader | None:
        """The leader, whose weights are always the latest; None if not all weights are computed."""
        return self._leader if self._few is None else None

    def margins(self, rows: Compressed) -> Floats:
        """Products of rows with the latest weights: rows x outputs."""
        if self._few is None:  # predictions do not wait for a thread that learns
            return margins_of(rows, self._leader.weights.reshape(self._outputs, -1))
        self._few.check_process()
        with self._one_thread:
            weights = self._few.weights_at(rows[1])
            return margins_of(rows, weights.reshape(self._outputs, -1))

    def learn(self, rows: Compressed, labels: Floats, batch: int = 1) -> Floats:
        """Learn from whole batches of rows in order, with one release per ``batch`` rows.

        Returns margins, rows x outputs, each computed before its own batch is learned from. Rows
        must be finite, with columns in increasing order and within the weights.
        """
        margins = np.empty((len(labels), self._outputs))
        steps, done = len(labels) // batch, 0
        most = min(_MOST_STEPS, max(1, _MOST_NUMBERS // self._leader.dimension))
        while self._few is not None and done < steps:
            mine = slice(done * batch, steps * batch)
            part = (rows[0][mine.start : mine.stop + 1], *rows[1:])
            with self._one_thread:
                ran = self._few.learn(part, labels[mine], margins[mine], batch, self._loss)
            done += ran // batch
        while done < steps:
            count = min(most, steps - done)
            mine = slice(done * batch, (done + count) * batch)
            starts = rows[0][mine.start : mine.stop + 1]
            with self._one_thread:  # one thread runs a step, from its noise to its release
                self._learn((starts, *rows[1:]), labels[mine], margins[mine], batch)
            done += count
        return margins

    def takes_rows(self, form: tuple[int, bool, float, float]) -> bool:
        """Prepare for `learn_row`; False if only `learn` takes rows.

        ``form`` holds the number of columns without the intercept, whether rows are scaled, and the
        lengths of their entries and of their intercept, as `stream_rows.prepared` takes them.
        """
        if getattr(self._total, "blocks", None) is not None:
            return False
        if self._compiled is not None:
            total = self._total
            self._row_numbers = stream_steps.row_numbers(
                self._loss, total.bits, total.unit, self._compiled, self._outputs, form
            )
        return self._compiled is not None

    def learn_row(self, places: Ints, values: Floats, label: float) -> int:
        """Learn from the entries of one row, with one release; returns a finding about the row.

        It does what `learn` does for a row that `stream_rows.one_row` has made. A row that is not
        fine changes nothing. The caller has checked the process of ``total``, and keeps other
        threads away.
        """
        total, leader, before = self._total, self._leader, self.rows
        self.rows = before + 1
        noise, step, floors = total.next_step()
        weights = leader.weights
        learned, numbers, held = np.empty(weights.size), self._row_numbers, self._held
        found: int = stream_steps.learn_row(
            places, values, label, weights, total.total, noise, step, floors, before, numbers, held,
            learned,
        )  # fmt: skip
        if found == FINE:
            leader.weights = learned
        else:
            total.take_back()
            self.rows = before
        return found

    def _learn(self, rows: Compressed, labels: Floats, margins: Floats, batch: int) -> None:
        steps = len(labels) // batch
        before = self._count(steps * batch)
        noise, floors = self._total.stretch(steps)
        total, bits, unit = self._total.total, self._total.bits, self._total.unit
        if self._compiled is not None:
            assert isinstance(self._leader, ProjectedLeader)
            self._leader.weights = stream_steps.learn_steps(
                *(rows, labels, batch, self._leader.weights, self._loss, bits, unit),
                *(total, noise, floors, before, self._compiled, margins),
            )
            return
        for step in range(steps):
            first = step * batch
            mine = (first, first + batch, self._leader.weights, self._loss, bits)
            stream_steps.add_rows(rows, labels, *mine, total, margins)
            seen = before + first + batch
            sums = stream_steps.released(total, noise[step], floors[step], unit)
            counted: float = seen
            if self._forgetting is not None:
                sums, counted = self._forgetting.of(sums, batch)
            share = stream_steps.fresh_share(self._leader.averaging, seen, batch)
            self._leader.follow(sums, counted, share)

    def state(self) -> dict[str, Any]:
        """Arrays and numbers from which `resume` continues: as public as the weights."""
        more = {} if self._forgetting is None else self._forgetting.state()
        if self._few is not None:
            with self._one_thread:
                more = self._few.state()
        return {"rows": self.rows, **self._leader.state(), **more}

    def resume(self, state: dict[str, Any]) -> None:
        """Continue where `state` was taken; the running sum must be in its state of that time."""
        self.rows = checks.count("rows", state["rows"], 0, _MOST_ROWS)
        self._leader.resume({key: value for key, value in state.items() if key != "rows"})
        if self._forgetting is not None:
            self._forgetting.resume(state)
        if self._few is not None:
            self._few.resume(state)


def margins_of(rows: Compressed, weights: Floats) -> Floats:
    """Multiply rows with the weights: rows x outputs."""
    margins = np.empty((len(weights), len(rows[0]) - 1))
    for k, output in enumerate(weights):
        stream_rows.margins_of(np.ascontiguousarray(output), *rows, margins[k])
    return margins.T


def _compiled(leader: Leader, forgetting: Forgetting | None) -> tuple[Any, ...] | None:
    """The parameters of a leader for compiled loops; None for a leader they do not support."""
    domain, objective = leader.domain, leader.objective
    # Subclasses may project otherwise.
    if type(leader) is not ProjectedLeader or type(domain) not in (L2Ball, L1Ball, Simplex, Box):
        return None
    lower: ArrayLike = 0.0
    upper: ArrayLike
    match domain:
        case L2Ball():
            kind, upper = stream_steps.L2, domain.radius
        case L1Ball():
            kind, upper = stream_steps.L1, domain.radius
        case Simplex():
            kind, upper = stream_steps.SIMPLEX, domain.total
        case Box():
            kind, lower, upper = stream_steps.BOX, domain.lower, domain.upper
    bounds = (np.array(bound, np.float64, ndmin=1) for bound in (lower, upper))
    pull = np.empty(0) if objective.pull is None else objective.pull
    faded: tuple[Any, ...] = (math.inf, _NOTHING, _NOTHING)
    if forgetting is not None:
        faded = (forgetting.half_life, forgetting.forgotten, forgetting.faded_rows)
    numbers = (objective.regularisation, objective.start_rows, leader.averaging)
    return (kind, *bounds, *numbers, pull, *faded)
