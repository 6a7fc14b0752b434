"""A linear model that learns from a stream of rows through a private running sum."""

from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from dplasso.base import checks
from dplasso.base.arrays import Floats
from dplasso.kernels import row_steps
from dplasso.kernels.problem import HINGE, LOGISTIC, SQUARED
from dplasso.online.leaders import Leader
from dplasso.online.rows import Clipping, Rows, rows_of
from dplasso.online.running_sum import RunningSum


class OnlineLoss(Protocol):
    """A loss of one margin: LogisticLoss, SquaredLoss (Huber's with a residual bound), or
    SmoothedHingeLoss."""

    @property
    def code(self) -> int: ...


class OnlineLearner:
    """Predict, then learn: every row's prediction is made before the row is learned from.

    The L2 term of the loss, and the set the weights live in, are the leader's.

    Parameters
    ----------
    leader : `ProjectedLeader` or `OracleLeader`, new.
    loss : LogisticLoss, SquaredLoss or SmoothedHingeLoss. Labels are numbers, as ``loss.encode``
        returns them.
    total : the private running sum that the rows' gradients go into.
    clip : length in L2 that every row's loss gradient is clipped to.

    Formal guarantees
    -----------------
    Neighbouring streams: one row's gradient is zero. A row and its label reach the weights, and
    thereby all later gradients, only through what ``total`` releases; its own vector there is at
    most ``clip`` long, alone or as part of a batch. The regulariser's gradient is public and
    added to the release. So the weights cost what ``total`` costs at sensitivity ``clip``, its
    inputs being chosen adaptively. Margins returned by `learn`, `learn_each` and `margins` are
    products with rows: as private as those, for their owner and for evaluation, and no release.
    The number of rows is public.

    >>> from dplasso.domains import L1Ball
    >>> from dplasso.losses import LogisticLoss
    >>> from dplasso.online import ProjectedLeader
    >>> class NoPrivacy:
    ...     def __init__(self): self.sum = np.zeros(2)
    ...     def add(self, vector):
    ...         self.sum = self.sum + vector
    ...         return self.sum
    >>> leader = ProjectedLeader(L1Ball(2, radius=5.0), regularisation=0.1)
    >>> learner = OnlineLearner(leader, LogisticLoss(), NoPrivacy(), clip=1.0)
    >>> margins = learner.learn_each([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0]], [1.0, 0.0, 1.0])
    >>> bool(margins[0] == 0.0 and margins[1] < 0.0 < margins[2])
    True
    """

    def __init__(self, leader: Leader, loss: OnlineLoss, total: RunningSum, *, clip: float) -> None:
        self._leader, self._total = leader, total
        shape = loss_shape(loss)
        self._clipping = Clipping(loss.code, shape, checks.bound("clip", clip))
        self.rows = 0

    @property
    def weights(self) -> Floats:
        """The latest release."""
        return self._leader.weights

    def margins(self, rows: Any) -> Floats:
        """Product of every row with the weights."""
        return rows_of(rows, self._leader.dimension).margins(self._leader.weights)

    def learn(self, rows: Any, labels: ArrayLike) -> Floats:
        """Learn from all rows at once, in one release; their margins before that."""
        batch = rows_of(rows, self._leader.dimension)
        y = _labels(labels, len(batch))
        if len(batch) == 0:
            return np.empty(0)
        if len(batch) == 1:
            return self._learn_stream(batch, y)
        margins, gradients = batch.steps(self._leader.weights, y, self._clipping)
        self.follow(self._total.add(gradients), len(batch))
        return margins

    def learn_each(self, rows: Any, labels: ArrayLike) -> Floats:
        """Learn from one row after another, a release each; their margins, each before its own."""
        stream = rows_of(rows, self._leader.dimension)
        return self._learn_stream(stream, _labels(labels, len(stream)))

    def follow(self, released: Floats, rows: int) -> None:
        """Move to the weights that a release of the running sum means, ``rows`` more being in it.

        For a program that was stopped between a release and what follows from it; `learn` and
        `learn_each` see to it themselves.
        """
        self.rows += rows
        self._leader.follow(released, self.rows)

    def state(self) -> dict[str, Any]:
        """Arrays and numbers from which `from_state` continues, to the last bit.

        Functions of releases: as public as the weights. The running sum has a state of its own,
        which is not.
        """
        return {"rows": self.rows, **self._leader.state()}

    @classmethod
    def from_state(
        cls,
        state: dict[str, Any],
        leader: Leader,
        loss: OnlineLoss,
        total: RunningSum,
        *,
        clip: float,
    ) -> Self:
        """The learner whose `state` this is; ``total`` must stand as it stood then."""
        learner = cls(leader, loss, total, clip=clip)
        learner.rows = checks.count("rows", state["rows"], 0)
        leader.resume(state)
        return learner

    def _learn_stream(self, stream: Rows, labels: Floats) -> Floats:
        margins = np.empty(len(stream))
        for i in range(len(stream)):
            margins[i], gradient = stream.step(i, self._leader.weights, labels[i], self._clipping)
            self.follow(self._total.add(gradient), 1)
        return margins


def loss_shape(loss: OnlineLoss) -> float:
    """The number that the compiled gradient of the loss takes."""
    code = getattr(loss, "code", None)
    if code not in (LOGISTIC, SQUARED, HINGE):
        raise ValueError(
            "loss must be LogisticLoss, SquaredLoss or SmoothedHingeLoss, "
            f"got {type(loss).__name__}; learn one model a class for more than two"
        )
    return float(getattr(loss, "smoothing" if code == HINGE else "clip", 0.0))


def _labels(labels: ArrayLike, rows: int) -> Floats:
    y = np.ascontiguousarray(labels, np.float64).reshape(-1)
    if len(y) != rows:
        raise ValueError("rows and labels differ in number; give one label per row")
    if not row_steps.all_finite(y):
        raise ValueError("labels hold NaN or infinity; remove or impute those rows first")
    return y
