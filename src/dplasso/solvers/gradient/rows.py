"""The rows and every sum over them; the only part that sees data."""

from typing import Any

import numpy as np

from dplasso.base import threads as pool
from dplasso.base.arrays import Floats, Ints
from dplasso.data.unit_rows import UnitRows
from dplasso.kernels import conditioned, descent
from dplasso.losses import Loss
from dplasso.solvers.exact_margins import MARGIN_GRAINS, Runs, exact_margins, row_sums
from dplasso.solvers.gradient.conditioning import WHOLE, Conditioning
from dplasso.solvers.gradient.plan import CONSTANT, GradientPlan

# Covers the rounding of a row's length, of its inverse and of the product with a residual.
_SAFE = 1.0 - 2.0**-40


class PrivateRows:
    """Unit rows with their labels, and the two kinds of exact sums over them.

    Formal guarantees
    -----------------
    Sums are exact and of integer vectors, one per row; a row's vector is a function of that row,
    its label and the public argument alone. With U = 2^unit_bits, the exact 2-norm of a row's
    vector is

    - at most U in `mass`: the unit row times U, each entry rounded towards 0;
    - at most U * ROW_LENGTH in `sums`, all outputs and intercepts together: the integer conditioned
      row V - P, times integer coefficients c_k with |c| |V - P| <= U, because c_k is rounded
      towards 0 from U r_k / |V - P| with a residual |r| <= 1, and |V - P|^2 is the exact sum of the
      same integers; and c'_k, rounded towards 0 from CONSTANT U r_k. A row equal to the centre has
      V - P = 0 and adds only its constant, whatever its coefficient.

    So adding or removing a row moves a sum by no more than that, exactly, and replacing a row by no
    more than twice that, at any weights, damping and centre. Sums that overflow wrap modulo 2^64,
    which is post-processing of the exact sum: the cost does not change.
    """

    def __init__(
        self, rows: UnitRows, labels: Floats, loss: Loss, plan: GradientPlan, threads: int
    ) -> None:
        self._rows, self._labels, self._loss, self._plan = rows, labels, loss, plan
        self._matrix = (rows.indptr, rows.indices, rows.values)
        self._column_runs = pool.balanced_runs(rows.indptr, threads)
        self._row_runs = pool.even_runs(len(labels), threads)
        self._conditioning: Conditioning | None = None
        self._row_weights: Floats = np.empty(0)

    def mass(self) -> Ints:
        """Sums of the unit rows, by column."""
        out = np.empty(self._rows.shape[1], np.int64)
        self._by_columns(conditioned.unit_sums, (self._rows.units, self._plan.unit), out)
        return out

    def sums(self, conditioning: Conditioning, weights: Floats, intercepts: Floats) -> Ints:
        """Sums of the row gradients, outputs x (columns, then the intercept)."""
        if conditioning is not self._conditioning:
            self._conditioning, self._row_weights = conditioning, self._weigh(conditioning)
        coefficients, constants = self._coefficients(conditioning, weights, intercepts)
        out = np.empty((len(weights), self._rows.shape[1] + 1), np.int64)
        out[:, -1] = constants
        for mine, sums in zip(coefficients, out, strict=True):
            facts = (
                *(self._rows.units, WHOLE, conditioning.damping, conditioning.whole_centre),
                *(mine, mine.sum()),
            )
            self._by_columns(conditioned.weighted_sums, facts, sums)
        return out

    def _weigh(self, conditioning: Conditioning) -> Floats:
        """U over the length of every conditioned row, slightly reduced; 0 for a length of 0."""
        facts = (self._rows.units, WHOLE, conditioning.damping, conditioning.whole_centre)
        square = self._by_rows(conditioned.square_lengths, facts) + conditioning.square_centre
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(square > 0, self._plan.unit * _SAFE / np.sqrt(square), 0.0)

    def _coefficients(
        self, conditioning: Conditioning, weights: Floats, intercepts: Floats
    ) -> tuple[Ints, Ints]:
        shifts = np.array([conditioning.margin_of_centre(row) for row in weights])
        margins = unit_margins(self._rows, weights, intercepts - shifts, self._column_runs)
        out = np.empty(margins.shape, np.int64)
        plan = self._plan
        calls = [
            (
                *(self._loss.compiled(), plan.clip, margins, self._labels, self._row_weights),
                *(CONSTANT * plan.unit, *run, out),
            )
            for run in self._row_runs
        ]
        return out, np.sum(pool.run(descent.coefficients, calls), axis=0)

    def _by_columns(self, kernel: Any, facts: tuple[Any, ...], out: Ints) -> None:
        pool.run(kernel, [(*self._matrix, *facts, *run, out) for run in self._column_runs])

    def _by_rows(self, kernel: Any, facts: tuple[Any, ...]) -> Ints:
        """Integer sums per row, computed for parts of the columns in parallel."""
        return row_sums(kernel, self._matrix, facts, self._column_runs, self._rows.shape[0])


def unit_margins(rows: UnitRows, weights: Floats, intercepts: Floats, column_runs: Runs) -> Floats:
    """Margins of unit rows, outputs x rows (`exact_margins`)."""
    matrix, grains = (rows.indptr, rows.indices, rows.values), MARGIN_GRAINS / rows.largest
    return exact_margins(matrix, rows.units, grains, weights, intercepts, column_runs)
