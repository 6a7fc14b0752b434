"""The LASSO without privacy: the mean of a loss over the L1 ball, to a certified gap."""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from dplasso.base.arrays import Floats
from dplasso.data import ColumnMatrix
from dplasso.kernels.projections import onto_l1_ball
from dplasso.losses import Loss

# The certificate costs half a step, so it is computed only once in this many steps.
STEPS_PER_CHECK = 10
# Steps grow a little every time, and shrink where they prove too long.
LONGER, SHORTER = 1.05, 0.5
# Relative rounding error of the value of the loss.
ROUNDING = 1e-14


@dataclass(frozen=True)
class LassoSolution:
    """Weights, columns x outputs with exact zeros; their loss is within ``gap`` of the least.

    ``steps`` were taken to find them.
    """

    weights: Floats
    gap: float
    steps: int = 0


class _Point(NamedTuple):
    weights: Floats
    margins: Floats

    def beyond(self, other: "_Point", far: float) -> "_Point":
        """The point ``far`` times the way from ``other`` further on; it costs no product."""
        return _Point(
            self.weights + far * (self.weights - other.weights),
            self.margins + far * (self.margins - other.margins),
        )


def lasso(
    matrix: ColumnMatrix,
    labels: Floats,
    loss: Loss,
    radius: float,
    *,
    gap: float = 1e-4,
    most_steps: int = 20_000,
    weights: Floats | None = None,
) -> LassoSolution:
    """Minimise the mean of ``loss`` over ``||W||_1 <= radius``, entrywise. NOT private.

    Accelerated projected gradient (Beck and Teboulle, 2009) that forgets its momentum when that
    points uphill (O'Donoghue and Candes, 2015). It ends once the duality gap, the most that any
    point of the ball can gain, is at most ``gap``, or else after ``most_steps`` with the best point
    met and its gap. It raises nothing then: whether it does would depend on the data.

    ``labels`` are numbers, as ``loss.encode`` returns them. ``weights`` of the rows are at most 1;
    the mean is still over the number of rows.

    >>> import numpy as np
    >>> from dplasso.losses import SquaredLoss
    >>> lasso(ColumnMatrix.of(np.eye(3)), np.array([3.0, -2.0, 0.5]), SquaredLoss(3), 3.0).weights
    array([[ 2.],
           [-1.],
           [ 0.]])
    """
    _check(matrix, labels, radius, gap, most_steps)
    objective = _MeanLoss(matrix, labels, loss, weights)
    point = ahead = objective.at(np.zeros((matrix.shape[1], loss.outputs)))
    best = objective.certified(point, radius)
    curvature, momentum = objective.first_curvature, 1.0
    step = 0
    while step < most_steps and best.gap > gap:
        step += 1
        following, curvature = _descend(objective, ahead, radius, curvature)
        if np.vdot(ahead.weights - following.weights, following.weights - point.weights) > 0.0:
            momentum = 1.0
        heavier = (1.0 + math.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead = following.beyond(point, (momentum - 1.0) / heavier)
        point, momentum = following, heavier
        if step % STEPS_PER_CHECK == 0 or step in (1, most_steps):
            best = min(best, objective.certified(point, radius), key=lambda found: found.gap)
    return replace(best, steps=step)


def project(point: Floats, radius: float) -> Floats:
    """The nearest point of the ball ``||W||_1 <= radius``: all sizes less one threshold."""
    projected: Floats = onto_l1_ball(point.ravel(), radius).reshape(point.shape)
    return projected


class _MeanLoss:
    """The mean loss as a function of the weights, and bounds on its curvature."""

    def __init__(
        self, matrix: ColumnMatrix, labels: Floats, loss: Loss, weights: Floats | None
    ) -> None:
        entries = matrix.entries
        values = np.ones(entries) if matrix.values is None else matrix.values[:entries]
        parts = (values.astype(np.float64, copy=False), matrix.indices[:entries], matrix.indptr)
        self.matrix = sp.csc_array(parts, shape=matrix.shape)
        self.transposed = self.matrix.T
        self.labels, self.loss, self.rows = labels, loss, matrix.shape[0]
        self.weights = weights
        # A guess from the longest column, and an upper bound from the sum over all columns.
        squares = self.matrix.power(2).sum(axis=0) * loss.lipschitz / self.rows
        self.first_curvature = max(float(squares.max()), float(np.finfo(np.float64).tiny))
        self.most_curvature = math.sqrt(loss.outputs) * float(squares.sum())

    def at(self, weights: Floats) -> _Point:
        return _Point(weights, self.matrix @ weights)

    def value(self, point: _Point) -> float:
        return self.loss.value(point.margins, self.labels, self.weights) / self.rows

    def gradient(self, point: _Point) -> Floats:
        rows = self.loss.gradient(point.margins, self.labels)
        if self.weights is not None:
            rows = rows * self.weights[:, None]
        gradient: Floats = self.transposed @ (rows / self.rows)
        return gradient

    def certified(self, point: _Point, radius: float) -> LassoSolution:
        """The point with its duality gap: the largest of <gradient, point - v> over the ball."""
        gradient = self.gradient(point)
        gap = np.vdot(gradient, point.weights) + radius * np.max(np.abs(gradient))
        return LassoSolution(point.weights, max(0.0, float(gap)))


def _descend(
    objective: _MeanLoss, start: _Point, radius: float, curvature: float
) -> tuple[_Point, float]:
    """A projected gradient step, as long as ``curvature`` allows, and the next curvature to try."""
    value, gradient = objective.value(start), objective.gradient(start)
    while True:
        end = objective.at(project(start.weights - gradient / curvature, radius))
        move = end.weights - start.weights
        model = value + np.vdot(gradient, move) + curvature / 2.0 * np.vdot(move, move)
        fits = objective.value(end) <= model + ROUNDING * value
        if fits or curvature >= objective.most_curvature:
            return end, curvature / LONGER
        curvature /= SHORTER


def _check(
    matrix: ColumnMatrix, labels: Floats, radius: float, gap: float, most_steps: int
) -> None:
    if len(labels) != matrix.shape[0]:
        raise ValueError("matrix and labels differ in their number of rows; give one label per row")
    if not 0.0 < radius < math.inf:
        raise ValueError(f"radius must be a positive finite number, got {radius!r}")
    if not 1e-100 <= radius * matrix.x_bound <= 1e100:
        raise ValueError("radius times x_bound must lie between 1e-100 and 1e100; scale the data")
    if not 0.0 < gap < math.inf:
        raise ValueError(f"gap must be a positive finite number, got {gap!r}; 1e-4 is usual")
    if most_steps < 1:
        raise ValueError(f"most_steps must be a whole number of at least 1, got {most_steps!r}")
