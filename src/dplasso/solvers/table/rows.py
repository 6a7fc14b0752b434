"""The rows of a table and every sum over them; the only part that sees data."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.base import threads as pool
from dplasso.base.arrays import Floats, Ints
from dplasso.data.wide_cells import WideCells
from dplasso.kernels import descent, wide_table
from dplasso.kernels import table as kernels
from dplasso.kernels.row_weights import ROOM
from dplasso.losses import Loss, OneMarginLoss
from dplasso.solvers.table.plan import CELL, TablePlan
from dplasso.solvers.table.questions import (
    CellSums,
    GradientSums,
    LabelSums,
    MeanSums,
    Position,
    PresenceSums,
    Products,
    Question,
    ResidualSize,
    SpreadSums,
    Standard,
    Taken,
)

# A margin sees rows up to this multiple of the length that gradients see.
LONGEST_OF_MARGINS = 3.0
# Products of whole numbers below 2^53 are exact in double precision, in any order of adding.
EXACT_BITS = 53
# Rows handled at a time: small enough for the cache, and for sums below 2^53. Rows with one margin
# are not converted and take so many blocks at a time.
BLOCK, BLOCKS_OF_ONE_MARGIN = 4096, 16


class PrivateTable:
    """Rows of whole cells with their labels, and exact answers to questions about them.

    Formal guarantees
    -----------------
    An answer is an exact sum of whole vectors, one per row; a row's vector is a function of that
    row, its label and the question alone. The 2-norm of a row's vector, and its distance from the
    vector of another row, are at most

    - `PresenceSums`: CELL, sqrt(2) CELL, because no entry is negative;
    - `CellSums`: sqrt(2) CELL, sqrt(2) CELL, because both numbers lie between 0 and CELL; with the
      sum of weights sqrt(3) CELL, sqrt(3) CELL, because all three do;
    - `MeanSums`: length, 2 length;
    - `SpreadSums`: length, sqrt(2) length, because no entry is negative;
    - `LabelSums`: of numbers sqrt(2) CELL, 2 CELL, because (y, y^2) with |y| <= 1 has these
      distances; of one count CELL, CELL; of several counts CELL, sqrt(2) CELL;
    - `Products`: as a symmetric matrix in the Frobenius norm S, sqrt(2) S, with S = square_length:
      it is the product of a whole row of squared length at most S with itself;
    - `GradientSums`: unit sqrt(S), 2 unit sqrt(S): a whole row times whole residuals of 2-norm at
      most unit;
    - `ResidualSize`: CELL, CELL, a number between 0 and CELL.

    A row of weight w, below 1, has a vector of at most w times that length: vectors are multiplied
    by the weight and rounded towards 0; whole rows of `Products` by its root. The vectors of a
    person whose rows' weights add up to k lie within k times the convex set of those that a row of
    weight 1 can have, 0 included. So the person moves an answer by at most k times the first
    number, and another person in their place by k times the second.

    Wide columns that are taken up are columns like the others: which ones, the question says.
    So adding or removing a row moves an answer by no more than the first number, exactly, and
    replacing a row by no more than the second. Matrix products of double precision are used only
    where every partial sum is a whole number below 2^53, so they are exact in any order. Sums that
    overflow wrap modulo 2^64, which is post-processing of the exact sum.
    """

    def __init__(
        self,
        cells: NDArray[np.int32],
        labels: Floats,
        loss: Loss,
        plan: TablePlan,
        threads: int,
        wide: WideCells | None = None,
        weights: Floats | None = None,
    ) -> None:
        self._narrow, self._wide = cells, wide
        self._taken: Taken = ()
        self._cells, self._labels, self._loss, self._plan = cells, labels, loss, plan
        self._weights = weights
        self._runs = pool.even_runs(len(labels), threads)
        self._standard: Standard | None = None
        self._rows: NDArray[np.int32] = np.empty((0, 0), np.int32)
        self._ratios: Floats = np.empty(0)

    def answer(self, question: Question) -> Ints:
        """Exact sums, without noise: never release them."""
        match question:
            case PresenceSums():
                return self._presences()
            case CellSums(taken):
                self._take(taken)
                sums = self._summed(kernels.cell_sums)
                return np.append(sums, self._weight_sum()) if self._plan.counts_weights else sums
            case MeanSums(centre, length, taken):
                self._take(taken)
                return self._summed(kernels.mean_sums, (centre, length))
            case SpreadSums(centres, length, taken):
                self._take(taken)
                return self._summed(kernels.spread_sums, (centres, length))
            case LabelSums():
                return self._label_sums()
            case Products(standard):
                self._scale(standard)
                return self._products()
            case GradientSums(at):
                return self._gradient_sums(at)
            case ResidualSize(at):
                return self._residual_size(at)
        raise TypeError(f"there is no answer to {type(question).__name__}")

    def _presences(self) -> Ints:
        assert self._wide is not None
        indptr, indices, columns = self._wide.indptr, self._wide.indices, len(self._wide.at_zero)
        lengths = wide_table.presence_lengths(indices, len(self._labels), self._weights)
        runs = pool.even_runs(columns, len(self._runs))
        parts = pool.run(wide_table.presence_sums, [(indptr, indices, lengths, *r) for r in runs])
        return np.concatenate(parts)

    def _take(self, taken: Taken) -> None:
        """Make the wide columns ``taken`` the last ones of the table."""
        if taken == self._taken:
            return
        assert self._wide is not None
        self._cells = np.hstack([self._narrow, self._wide.columns(taken)])
        self._taken, self._standard = taken, None

    def _summed(self, kernel: Any, facts: tuple[Any, ...] = ()) -> Ints:
        calls = [(self._cells, self._weights, *facts, *run) for run in self._runs]
        found: Ints = np.sum(pool.run(kernel, calls), axis=0)
        return found

    def _weight_sum(self) -> int:
        return int(self._whole_weights().sum())

    def _whole_weights(self) -> Ints:
        """Weights of the rows in units of CELL, rounded down."""
        ones = np.full(len(self._labels), float(CELL))
        found: Ints = np.trunc(_weighted(ones, self._weights)).astype(np.int64)
        return found

    def _label_sums(self) -> Ints:
        if self._plan.pace.of_numbers:
            assert isinstance(self._loss, OneMarginLoss)
            shares = np.clip(np.nan_to_num(self._loss.label_shares(self._labels)), -1.0, 1.0)
            whole = np.trunc(shares * CELL).astype(np.int64)
            return _numbers_and_squares(whole, self._weights)
        outputs = self._plan.outputs
        whole = self._whole_weights()
        if outputs == 1:
            return np.array([whole[self._labels > 0.0].sum()])
        known = (self._labels >= 0.0) & (self._labels < outputs)
        found = np.zeros(outputs, np.int64)
        np.add.at(found, self._labels[known].astype(np.int64), whole[known])
        return found

    def _scale(self, standard: Standard) -> None:
        """Compute the standardised rows, unless they are known."""
        if standard is self._standard:
            return
        self._take(standard.taken)
        plan, shape = self._plan, self._cells.shape
        if self._rows.shape != shape:  # otherwise the memory of former rows serves again
            self._rows, self._ratios = np.empty(shape, np.int32), np.empty(shape[0])
        length = plan.row_length(shape[1])
        longest = LONGEST_OF_MARGINS * length
        rule = (length, longest, plan.pace.lengthened, plan.unit)
        facts = (self._cells, standard.centres, standard.factors, rule)
        found = self._rows, self._ratios
        pool.run(kernels.standardise, [(*facts, *run, *found) for run in self._runs])
        self._standard = standard

    def _products(self) -> Ints:
        size = self._rows.shape[1] + 1
        return triangle(
            sum(pool.run(self._products_of, self._runs), np.zeros((size, size), np.int64))
        )

    def _products_of(self, first: int, last: int) -> Ints:
        size, constant = self._rows.shape[1] + 1, self._plan.constant
        total = np.zeros((size, size), np.int64)
        for begin in range(first, last, BLOCK):
            block = np.empty((min(BLOCK, last - begin), size))
            block[:, :-1], block[:, -1] = self._rows[begin : begin + len(block)], constant
            self._weigh_for_products(block, begin)
            total += (block.T @ block).astype(np.int64)
        return total

    def _weigh_for_products(self, block: Floats, begin: int) -> None:
        """Multiply rows by the root of their weights, and round towards 0.

        The weight then enters a product once. A whole row whose squared length exceeds its weight
        times the largest one of all rows counts as 0.
        """
        if self._weights is None:
            return
        weights = self._weights[begin : begin + len(block)]
        np.trunc(block * np.sqrt(weights)[:, None], out=block)
        most = np.floor(self._plan.square_length * np.where(weights < 1.0, weights * ROOM, 1.0))
        block[np.sum(block * block, axis=1) > most] = 0.0

    def _gradient_sums(self, at: Position) -> Ints:
        self._scale(at.standard)
        parts = pool.run(self._gradient_sums_of, [(at, *run) for run in self._runs])
        found: Ints = np.sum(parts, axis=0)
        return found.reshape(-1)

    def _gradient_sums_of(self, at: Position, first: int, last: int) -> Ints:
        plan = self._plan
        sums = np.zeros((plan.outputs, self._rows.shape[1] + 1), np.int64)
        whole = WholeWeights(at, plan)
        for begin, end in self._blocks(first, last):
            rows = self._block(begin, end)
            margins = self._margins(rows, whole, begin, end)
            residuals = self._residuals(margins, at.cut, plan.unit, begin, end, self._weights)
            if plan.outputs == 1:
                kernels.add_rows(rows, residuals[0], sums[0, :-1])
            else:
                sums[:, :-1] += (residuals.astype(np.float64) @ rows).astype(np.int64)
            sums[:, -1] += plan.constant * residuals.sum(axis=1)
        return sums

    def _blocks(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        size = BLOCK * (BLOCKS_OF_ONE_MARGIN if self._plan.outputs == 1 else 1)
        return ((begin, min(begin + size, last)) for begin in range(first, last, size))

    def _block(self, begin: int, end: int) -> NDArray[Any]:
        """Whole rows, in double precision where several margins call for matrix products."""
        rows = self._rows[begin:end]
        return rows if self._plan.outputs == 1 else rows.astype(np.float64)

    def _residual_size(self, at: Position) -> Ints:
        self._scale(at.standard)
        parts = pool.run(self._residual_size_of, [(at, *run) for run in self._runs])
        return np.array([sum(parts)], np.int64)

    def _residual_size_of(self, at: Position, first: int, last: int) -> int:
        total, whole = 0, WholeWeights(at, self._plan)
        for begin, end in self._blocks(first, last):
            margins = self._margins(self._block(begin, end), whole, begin, end)
            residuals = self._residuals(margins, at.cut, CELL, begin, end)
            squares = (residuals * residuals) >> kernels.CELL_BITS
            total += int(_shares(squares, self._weights, begin, end).sum())
        return total

    def margins(self, at: Position) -> Floats:
        """Margins of all rows, outputs x rows: never release them.

        A row's margins are a function of that row and ``at`` alone, to the last bit.
        """
        self._scale(at.standard)
        found = np.empty((self._plan.outputs, len(self._labels)))
        pool.run(self._write_margins, [(at, *run, found) for run in self._runs])
        return found

    def _write_margins(self, at: Position, first: int, last: int, found: Floats) -> None:
        whole = WholeWeights(at, self._plan)
        for begin, end in self._blocks(first, last):
            found[:, begin:end] = self._margins(self._block(begin, end), whole, begin, end)

    def _margins(self, rows: NDArray[Any], whole: "WholeWeights", begin: int, end: int) -> Floats:
        """Margins, outputs x rows: exact products, then the row's own factor and the intercept."""
        ratios = self._ratios[begin:end]
        if self._plan.outputs == 1:
            margins = np.empty((1, len(rows)))
            weights, intercept = whole.weights[0].astype(np.int64), whole.intercepts[0]
            kernels.row_margins(rows, weights, ratios, whole.unit, intercept, margins[0])
            return margins
        # A thread does not inherit this from the fit, and a warning would depend on the rows.
        with np.errstate(all="ignore"):
            found: Floats = whole.weights @ rows.T * ratios * whole.unit
            return found + whole.intercepts[:, None]

    def _residuals(
        self,
        margins: Floats,
        cut: float,
        unit: int,
        begin: int,
        end: int,
        weights: Floats | None = None,
    ) -> Ints:
        """Whole residuals, outputs x rows, of 2-norm at most ``unit``; a NaN counts as 0.

        That limit is checked on the whole numbers: a row that exceeds it counts as 0. With
        ``weights``, residuals and limit are multiplied by the row's.
        """
        whole = np.empty(margins.shape, np.int64)
        own = None if weights is None else weights[begin:end]
        lengths, labels = _weighted(np.full(end - begin, float(unit)), own), self._labels[begin:end]
        descent.coefficients(
            *(self._loss.compiled(), cut, np.ascontiguousarray(margins), labels, lengths),
            *(None, 0.0, 0, end - begin, whole),
        )
        if len(whole) > 1:
            room = 1.0 if own is None else np.where(own < 1.0, ROOM, 1.0)
            most = np.floor(lengths * lengths * room).astype(np.int64)
            whole[:, np.sum(whole * whole, axis=0) > most] = 0
        return whole


def triangle(products: Ints) -> Ints:
    """The diagonal of a symmetric matrix, then what is above it."""
    return np.concatenate([np.diag(products), products[np.triu_indices(len(products), 1)]])


def _weighted(numbers: Floats, weights: Floats | None) -> Floats:
    return numbers if weights is None else numbers * weights


def _shares(whole: Ints, weights: Floats | None, begin: int, end: int) -> Ints:
    """Whole numbers of the rows ``begin`` to ``end`` times their weights, rounded towards 0."""
    if weights is None:
        return whole
    found: Ints = (whole * weights[begin:end]).astype(np.int64)
    return found


def _numbers_and_squares(whole: Ints, weights: Floats | None) -> Ints:
    """Sums of whole numbers up to CELL, and of their squares in units of CELL.

    A number y of a row of weight w becomes p = w y, rounded towards 0, and its square p^2 / w,
    rounded up. So (p, square) stays between the parabola and its top, like any mixture of numbers:
    rounding the square down could move two people further apart than 2 CELL.
    """
    squares = (whole * whole) >> kernels.CELL_BITS
    if weights is None:
        return np.array([whole.sum(), squares.sum()])
    most = (weights * CELL).astype(np.int64)
    parts = np.trunc(whole * weights).astype(np.int64)
    rounded_up = -(-parts * parts // np.maximum(most, 1))
    squares = np.where(weights < 1.0, rounded_up, squares)
    return np.array([parts.sum(), squares.sum()])


class WholeWeights:
    """Weights on a grid so fine, and so coarse, that margins of whole rows are exact.

    A whole row times the whole weights of an output, and every part of that sum, is at most the
    product of their 2-norms, which is below 2^52. Weights that are not finite count as 0.
    """

    def __init__(self, at: Position, plan: TablePlan) -> None:
        largest = float(np.max(np.abs(at.weights)))
        # Weights are brought near 1 first: their squares could overflow, or vanish.
        power, finite = math.frexp(largest)[1], math.isfinite(largest)
        near = np.ldexp(at.weights, -power) if finite else np.zeros_like(at.weights)
        norm = float(np.sqrt(np.max(np.sum(near**2, axis=1))))
        finest = EXACT_BITS - 2 - plan.unit_bits - math.frexp(norm)[1]
        self.weights = np.trunc(np.ldexp(near, finest))
        with np.errstate(over="ignore"):
            length = plan.row_length(at.weights.shape[1])
            self.unit = float(np.ldexp(length / plan.unit, power - finest))
        self.intercepts = at.intercepts
