"""The arguments of every compiled loop: the fixed problem and the moving walk."""

from typing import Any, NamedTuple

from dplasso.kernels.residuals import Residual

# Values of Problem.step that are not a step size.
DECREASING, SEARCHED = 0.0, -1.0

# Places in Walk.scalars.
SCALE, NORM2, PATH = 0, 1, 2

# Places in Walk.counters. Counters depend on the data: use them in benchmarks on public data only.
PROPOSALS, EVALUATIONS, ENTRIES, REFRESHES, PUSHES = 0, 1, 2, 3, 4
COUNTERS = 5


class Problem(NamedTuple):
    """Arrays and numbers that do not change during a run.

    A vertex is ``column * classes + class``; with one output it is the column itself.
    ``step`` is the constant step size, or one of the codes above. ``theta`` is infinite without
    privacy.
    """

    indptr: Any
    indices: Any
    values: Any  # None where every stored entry is 1
    norm1: Any  # 1-norm of every column over x_bound, rounded up; None where values is None
    labels: Any
    two_labels: bool  # labels are 0 and 1, and a row has one margin
    loss: Residual  # a loss of one margin; unused where there is more than one class
    classes: int
    gradient_bound: float  # bounds a row's gradient with respect to one margin
    start_bound: float  # the same at margins of 0
    curvature_low: float  # the row gradient's slope in its margin lies in [low, high]
    curvature_high: float
    curvature_turn: float  # most by which that slope changes per unit of margin; may be infinite
    lipschitz: float  # L2 Lipschitz constant of one class's row gradient in the row's margins
    x_bound: float
    radius: float
    theta: float
    step: float
    weights: Any  # of the rows, from 0 to 1; empty where all are 1


class Walk(NamedTuple):
    """The iterate, as margins, and the vertices released so far.

    The true margins are ``scalars[SCALE] * margins``, so that shrinking all of them is one product.
    ``NORM2`` is their squared length and ``PATH`` bounds the length of the path they have moved.
    """

    margins: Any  # float64, rows x classes, flat
    scalars: Any  # float64
    vertices: Any  # int64, one per round
    signs: Any  # int8, one per round: the sign of the vertex's score
    steps: Any  # float64, one per round with line search, otherwise empty
    counters: Any  # int64
