"""The rows of a table and every sum over them; the only part that sees data."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.base import threads as pool
from dplasso.base.arrays import Floats, Ints
from dplasso.data.wide_cells import WideCells
from dplasso.kernels import calibration, descent, wide_table
from dplasso.kernels import table as kernels
from dplasso.losses import Loss, OneMarginLoss
from dplasso.solvers.calibration import Correction, limit_of, terms_of
from dplasso.solvers.table.plan import CELL, TablePlan
from dplasso.solvers.table.questions import (
    CalibrationSums,
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
# Rows handled at a time: small enough for the cache, and for sums below 2^53.
BLOCK = 4096


class PrivateTable:
    """Rows of whole cells with their labels, and exact answers to questions about them.

    Formal guarantees
    -----------------
    An answer is an exact sum of whole vectors, one per row; a row's vector is a function of that
    row, its label and the question alone. The 2-norm of a row's vector, and its distance from the
    vector of another row, are at most

    - `PresenceSums`: CELL, sqrt(2) CELL, because no entry is negative;
    - `CellSums`: sqrt(2) CELL, sqrt(2) CELL, because both numbers lie between 0 and CELL;
    - `MeanSums`: length, 2 length;
    - `SpreadSums`: length, sqrt(2) length, because no entry is negative;
    - `LabelSums`: of numbers sqrt(2) CELL, 2 CELL, because (y, y^2) with |y| <= 1 has these
      distances; of one count CELL, CELL; of several counts CELL, sqrt(2) CELL;
    - `Products`: as a symmetric matrix in the Frobenius norm S, sqrt(2) S, with S = square_length:
      it is the product of a whole row of squared length at most S with itself;
    - `GradientSums`: unit sqrt(S), 2 unit sqrt(S): a whole row times whole residuals of 2-norm at
      most unit;
    - `ResidualSize`: CELL, CELL, a number between 0 and CELL;
    - `CalibrationSums`: `sensitivity_of`, and twice that (`dplasso.kernels.calibration`).

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
    ) -> None:
        self._narrow, self._wide = cells, wide
        self._taken: Taken = ()
        self._cells, self._labels, self._loss, self._plan = cells, labels, loss, plan
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
                return self._summed(kernels.cell_sums, (self._cells,))
            case MeanSums(centre, length, taken):
                self._take(taken)
                return self._summed(kernels.mean_sums, (self._cells, centre, length))
            case SpreadSums(centres, length, taken):
                self._take(taken)
                return self._summed(kernels.spread_sums, (self._cells, centres, length))
            case LabelSums():
                return self._label_sums()
            case Products(standard):
                self._scale(standard)
                return self._products()
            case GradientSums(at):
                return self._gradient_sums(at)
            case ResidualSize(at):
                return self._residual_size(at)
            case CalibrationSums(at, correction):
                return self._calibration_sums(at, correction)
        raise TypeError(f"there is no answer to {type(question).__name__}")

    def _presences(self) -> Ints:
        assert self._wide is not None
        indptr, indices, columns = self._wide.indptr, self._wide.indices, len(self._wide.at_zero)
        lengths = wide_table.presence_lengths(indices, len(self._labels))
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

    def _summed(self, kernel: Any, facts: tuple[Any, ...]) -> Ints:
        found: Ints = np.sum(pool.run(kernel, [(*facts, *run) for run in self._runs]), axis=0)
        return found

    def _label_sums(self) -> Ints:
        if self._plan.pace.of_numbers:
            assert isinstance(self._loss, OneMarginLoss)
            shares = np.clip(np.nan_to_num(self._loss.label_shares(self._labels)), -1.0, 1.0)
            whole = np.trunc(shares * CELL).astype(np.int64)
            squares = (whole * whole) >> kernels.CELL_BITS
            return np.array([whole.sum(), squares.sum()])
        outputs = self._plan.outputs
        if outputs == 1:
            return np.array([np.count_nonzero(self._labels > 0.0) * CELL])
        known = self._labels[(self._labels >= 0.0) & (self._labels < outputs)]
        return np.bincount(known.astype(np.int64), minlength=outputs).astype(np.int64) * CELL

    def _scale(self, standard: Standard) -> None:
        """Compute the standardised rows, unless they are known."""
        if standard is self._standard:
            return
        self._take(standard.taken)
        plan, shape = self._plan, self._cells.shape
        rows, ratios = np.empty(shape, np.int32), np.empty(shape[0])
        length = plan.row_length(shape[1])
        longest = LONGEST_OF_MARGINS * length
        rule = (length, longest, plan.pace.lengthened, plan.unit)
        facts = (self._cells, standard.centres, standard.factors, rule)
        pool.run(kernels.standardise, [(*facts, *run, rows, ratios) for run in self._runs])
        self._standard, self._rows, self._ratios = standard, rows, ratios

    def _products(self) -> Ints:
        size = self._rows.shape[1] + 1
        found = sum(pool.run(self._products_of, self._runs), np.zeros((size, size), np.int64))
        return np.concatenate([np.diag(found), found[np.triu_indices(size, 1)]])

    def _products_of(self, first: int, last: int) -> Ints:
        size, constant = self._rows.shape[1] + 1, self._plan.constant
        total = np.zeros((size, size), np.int64)
        for begin in range(first, last, BLOCK):
            block = np.empty((min(BLOCK, last - begin), size))
            block[:, :-1], block[:, -1] = self._rows[begin : begin + len(block)], constant
            total += (block.T @ block).astype(np.int64)
        return total

    def _gradient_sums(self, at: Position) -> Ints:
        self._scale(at.standard)
        parts = pool.run(self._gradient_sums_of, [(at, *run) for run in self._runs])
        found: Ints = np.sum(parts, axis=0)
        return found.reshape(-1)

    def _gradient_sums_of(self, at: Position, first: int, last: int) -> Ints:
        plan = self._plan
        sums = np.zeros((plan.outputs, self._rows.shape[1] + 1), np.int64)
        whole = _WholeWeights(at, plan)
        for begin in range(first, last, BLOCK):
            end = min(begin + BLOCK, last)
            rows = self._rows[begin:end].astype(np.float64)
            margins = self._margins(rows, whole, begin, end)
            residuals = self._residuals(margins, at.cut, plan.unit, begin, end)
            sums[:, :-1] += (residuals @ rows).astype(np.int64)
            sums[:, -1] += plan.constant * residuals.sum(axis=1).astype(np.int64)
        return sums

    def _residual_size(self, at: Position) -> Ints:
        self._scale(at.standard)
        parts = pool.run(self._residual_size_of, [(at, *run) for run in self._runs])
        return np.array([sum(parts)], np.int64)

    def _residual_size_of(self, at: Position, first: int, last: int) -> int:
        total, whole = 0, _WholeWeights(at, self._plan)
        for begin in range(first, last, BLOCK):
            end = min(begin + BLOCK, last)
            margins = self._margins(self._rows[begin:end].astype(np.float64), whole, begin, end)
            residuals = self._residuals(margins, at.cut, CELL, begin, end).astype(np.int64)
            total += int(((residuals * residuals) >> kernels.CELL_BITS).sum())
        return total

    def _calibration_sums(self, at: Position, correction: Correction) -> Ints:
        self._scale(at.standard)
        parts = pool.run(self._calibration_sums_of, [(at, correction, *run) for run in self._runs])
        found: Ints = np.sum(parts, axis=0)
        return found

    def _calibration_sums_of(
        self, at: Position, correction: Correction, first: int, last: int
    ) -> Ints:
        outputs, whole = self._plan.outputs, _WholeWeights(at, self._plan)
        total, limit = np.zeros(terms_of(outputs), np.int64), limit_of(outputs)
        for begin in range(first, last, BLOCK):
            end = min(begin + BLOCK, last)
            margins = self._margins(self._rows[begin:end].astype(np.float64), whole, begin, end)
            labels, among = self._labels[begin:end], (limit, 0, end - begin)
            if outputs == 1:
                shift = float(correction.shifts[0])
                total += calibration.two_class_sums(
                    margins[0], labels, correction.scale, shift, *among
                )
            else:
                total += calibration.class_sums(
                    margins, labels, correction.scale, correction.shifts, *among
                )
        return total

    def _margins(self, rows: Floats, whole: "_WholeWeights", begin: int, end: int) -> Floats:
        """Margins, outputs x rows: exact products, then the row's own factor and the intercept."""
        exact = whole.weights @ rows.T
        # A thread does not inherit this from the fit, and a warning would depend on the rows.
        with np.errstate(all="ignore"):
            margins: Floats = exact * self._ratios[begin:end] * whole.unit
            return margins + whole.intercepts[:, None]

    def _residuals(self, margins: Floats, cut: float, unit: int, begin: int, end: int) -> Floats:
        """Whole residuals, outputs x rows, of 2-norm at most ``unit``; a NaN counts as 0.

        That limit is checked on the whole numbers: a row that exceeds it counts as 0.
        """
        whole = np.empty(margins.shape, np.int64)
        weights, labels = np.full(end - begin, float(unit)), self._labels[begin:end]
        descent.coefficients(
            *(self._loss.compiled(), cut, np.ascontiguousarray(margins), labels, weights),
            *(0.0, 0, end - begin, whole),
        )
        if len(whole) > 1:
            whole[:, np.sum(whole * whole, axis=0) > unit * unit] = 0
        return whole.astype(np.float64)


class _WholeWeights:
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
