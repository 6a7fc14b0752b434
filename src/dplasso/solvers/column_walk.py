"""Frank-Wolfe on columns that several processes hold: what one of them computes."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from dplasso.base.arrays import Floats, Ints
from dplasso.data import ColumnMatrix
from dplasso.kernels import block_trials as kernels
from dplasso.kernels import problem as kernel
from dplasso.kernels.gradients import row_gradients
from dplasso.kernels.problem import PATH
from dplasso.kernels.steps import step_size
from dplasso.losses import Loss
from dplasso.mechanisms.selection.block_draws import Standing, Trial, edges, stream
from dplasso.mechanisms.selection.column_block import ColumnBlock
from dplasso.solvers.frank_wolfe import empty_walk, problem_of


class Column(NamedTuple):
    """The entries of one column, in the order of the rows; no values where all are 1."""

    rows: Ints
    values: Floats | None


class Outcome(NamedTuple):
    """The first trial that is not void: its vertex and sign, and the path after its step."""

    number: int
    vertex: int
    sign: int
    path: float


class Advance(NamedTuple):
    """The blocks that steps have changed, and the outcome of the trials after them."""

    changed: Standing | None
    outcome: Outcome | None


Step = tuple[int, int]  # a vertex and its sign


class ColumnPart(NamedTuple):
    """Some columns of some rows."""

    n_rows: int
    indptr: Ints
    indices: Ints
    values: Floats | None


class Terms(NamedTuple):
    """The public numbers of a walk."""

    loss: Loss
    radius: float
    theta: float
    rounds: int
    x_bound: float
    columns: int  # of all processes


class ColumnWalk:
    """The margins of all rows, and the columns of some blocks.

    ``first`` and ``last`` are the blocks that are held here, of those of `edges`.

    Formal guarantees
    -----------------
    Every process that takes the same steps holds the same margins, to the last bit: a step is a
    function of the margins, of the released vertex and of the entries of its column. `ColumnBlock`
    says why the outcome of trials has the law of the exponential mechanism. Outcomes, columns and
    standings depend on the rows and are as private as they are: only the driver, which releases
    vertices, and the other processes of the fit may receive them.
    """

    def __init__(
        self,
        terms: Terms,
        parts: Sequence[ColumnPart],
        labels: Floats,
        weights: Floats | None,
        first: int,
        last: int,
    ) -> None:
        found = edges(terms.columns)
        self._first, self._edges, self._radius = first, found[first : last + 1], terms.radius
        matrix = stacked(parts, int(self._edges[-1] - self._edges[0]), terms.x_bound)
        self._matrix, self._rounds, self._all = matrix, terms.rounds, terms.columns
        self._problem = problem_of(
            matrix, labels, terms.loss, terms.radius, terms.theta, kernel.DECREASING, weights
        )
        self.restart()

    def restart(self) -> None:
        """Go back to weights of 0."""
        problem, self.done = self._problem, 0
        self._walk = empty_walk(problem, 0)
        gradients = np.empty(len(problem.labels) * problem.classes)
        row_gradients(problem, self._walk, gradients, 0, len(problem.labels))
        inner = self._edges - self._edges[0]
        self._blocks = [
            self._block(int(a), int(b), gradients)
            for a, b in zip(inner[:-1], inner[1:], strict=True)
        ]
        self._horizons = np.array([block.horizon for block in self._blocks])

    def _block(self, a: int, b: int, gradients: Floats) -> ColumnBlock:
        problem = self._problem
        norm1 = None if problem.norm1 is None else problem.norm1[a:b]
        own = problem._replace(indptr=problem.indptr[a : b + 1], norm1=norm1)
        return ColumnBlock(own, self._walk, self._rounds, (b - a) / self._all, gradients)

    def standing(self) -> Standing:
        """What all blocks are worth."""
        return self._standing(np.arange(len(self._blocks)))

    def _standing(self, places: Ints) -> Standing:
        blocks = [self._blocks[place] for place in places]
        return Standing(
            places + self._first,
            np.array([block.tickets for block in blocks], np.int64),
            np.array([block.exponent for block in blocks], np.int64),
            self._horizons[places],
        )

    def first_of(self, trials: Sequence[Trial]) -> Outcome | None:
        """The outcome of the first trial that is not void. Nothing is changed."""
        for trial in trials:
            place = trial.block - self._first
            own, sign = self._blocks[place].decide(trial.ticket, stream(trial.key))
            if sign:
                classes = self._problem.classes
                vertex = int(self._edges[place]) * classes + own
                ahead = kernels.path_after(*self._towards(vertex, sign, self.column(vertex)))
                return Outcome(trial.number, vertex, sign, float(ahead))
        return None

    def column(self, vertex: int) -> Column:
        """The column of a vertex that is held here."""
        place = vertex // self._problem.classes - int(self._edges[0])
        run = slice(self._matrix.indptr[place], self._matrix.indptr[place + 1])
        values = self._matrix.values
        return Column(self._matrix.indices[run], None if values is None else values[run])

    def holds(self, vertex: int) -> bool:
        """Whether the column of a vertex is held here."""
        return bool(self._edges[0] <= vertex // self._problem.classes < self._edges[-1])

    def move(self, steps: Sequence[Step], others: Iterable[Column]) -> Standing | None:
        """Take steps towards released vertices; returns the blocks that changed, if any did.

        ``others`` are the columns of the steps that are not held here, in their order.
        """
        changed, given = np.zeros(len(self._blocks), np.bool_), iter(others)
        for vertex, sign in steps:
            column = self.column(vertex) if self.holds(vertex) else next(given)
            kernels.step_towards(*self._towards(vertex, sign, column))
            self.done += 1
            for place in np.flatnonzero(self._walk.scalars[PATH] > self._horizons):
                self._blocks[place].keep_up()
                self._horizons[place] = self._blocks[place].horizon
                changed[place] = True
        return self._standing(np.flatnonzero(changed)) if changed.any() else None

    def _towards(self, vertex: int, sign: int, column: Column) -> tuple[object, ...]:
        classes, eta = self._problem.classes, step_size(kernel.DECREASING, self.done + 1)
        step = vertex % classes, sign, eta
        return self._walk, classes, self._radius, *column, *step


def stacked(parts: Sequence[ColumnPart], columns: int, x_bound: float) -> ColumnMatrix:
    """The same columns of several parts of the rows, one part below the other.

    Values are stored if any part stores some, in the largest precision of all parts.
    """
    lengths = sum((np.diff(part.indptr).astype(np.int64) for part in parts), np.zeros(columns, int))
    starts = np.append(0, np.cumsum(lengths))
    kinds = [part.values.dtype for part in parts if part.values is not None]
    indices = np.empty(starts[-1], np.int32)
    values = np.empty(starts[-1], np.result_type(*kinds)) if kinds else None
    cursor, rows = starts[:-1].copy(), 0
    for part in parts:
        own = (part.indptr, part.indices, part.values)
        kernels.stack(*own, np.int32(rows), cursor, indices, values)
        rows += part.n_rows
    return ColumnMatrix(starts, indices, values, (rows, columns), x_bound, trusted=True)


def cut(matrix: ColumnMatrix, first: int, last: int) -> ColumnPart:
    """The columns from ``first`` to ``last``."""
    a, b = int(matrix.indptr[first]), int(matrix.indptr[last])
    indptr = matrix.indptr[first : last + 1].astype(np.int64) - a
    values = None if matrix.values is None else matrix.values[a:b]
    return ColumnPart(matrix.shape[0], indptr, matrix.indices[a:b], values)
