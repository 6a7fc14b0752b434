"""The rows and every sum over them; the only part that sees data."""

from typing import Any

import numpy as np

from dplasso.base import threads as pool
from dplasso.base.arrays import Floats, Ints
from dplasso.base.rooms import Room, new_room
from dplasso.data.unit_rows import UnitRows
from dplasso.kernels import conditioned, descent
from dplasso.losses import Loss
from dplasso.solvers.exact_margins import (
    MARGIN_GRAINS,
    MOST_GRAINS,
    RowSums,
    Runs,
    exact_margins,
)
from dplasso.solvers.gradient.conditioning import WHOLE, Conditioning
from dplasso.solvers.gradient.held_columns import HeldColumns
from dplasso.solvers.gradient.plan import CONSTANT, GradientPlan

# Covers the rounding of a row's length, of its inverse and of the product with a residual.
SAFE = 1.0 - 2.0**-40


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

    A row of weight w, below 1, adds vectors of at most w times these lengths: coefficients, unit
    rows and constants are multiplied by it before they are rounded towards 0.

    So adding or removing a row moves a sum by no more than that, exactly, and replacing a row by no
    more than twice that, at any weights, damping and centre; and so does a person whose rows'
    weights add up to 1. Sums that overflow wrap modulo 2^64,
    which is post-processing of the exact sum: the cost does not change.
    """

    def __init__(
        self,
        rows: UnitRows,
        labels: Floats,
        loss: Loss,
        plan: GradientPlan,
        threads: int,
        weights: Floats | None = None,
        room: Room = new_room,
    ) -> None:
        self._room = room
        self._rows, self._labels, self._loss, self._plan = rows, labels, loss, plan
        self._grains = MARGIN_GRAINS / rows.largest
        self._weights = weights
        self._threads = threads
        self._row_sums = RowSums(len(labels), threads)
        self._left: Ints | None = None  # columns that were left in the last sums
        self._held = HeldColumns(rows, None, threads)
        self._conditioning: Conditioning | None = None
        self._lengths: Floats = np.empty(0)
        self._margins = np.empty((plan.outputs, len(labels)))
        # Coefficients of the rows for every output, each beside the bits of its row's unit.
        self._pairs = np.empty((plan.outputs, len(labels), 2), np.int64)
        self._pairs[:, :, conditioned.UNIT] = rows.units.view(np.int64)

    def mass(self) -> Ints:
        """Sums of the unit rows, by column."""
        out = np.empty(self._rows.shape[1], np.int64)
        units = self._weighted(self._rows.units)
        facts = (self._rows.indptr, self._rows.indices, self._rows.values, units, self._plan.unit)
        runs = pool.balanced_runs(self._rows.indptr, self._threads)
        pool.run(conditioned.unit_sums, [(*facts, *run, out) for run in runs])
        return out

    def sums(
        self,
        conditioning: Conditioning,
        weights: Floats,
        intercepts: Floats,
        room: Room | None = None,
    ) -> Ints:
        """Sums of the row gradients, outputs x (columns, then the intercept).

        They are written to ``room``, or to the room that was passed at the start.
        """
        self._hold(conditioning.columns)
        if conditioning is not self._conditioning:
            self._conditioning, self._lengths = conditioning, self._weigh(conditioning)
        totals, constants = self._coefficients(conditioning, weights, intercepts)
        head, held = conditioning.head, self._held
        out = (room or self._room)((len(weights), self._rows.shape[1] + 1))
        if not held.are_all:
            pool.clear(out.reshape(-1), self._threads)
        out[:, -1] = constants
        for pairs, total, sums in zip(self._pairs, totals, out, strict=True):
            facts = (*held.matrix, held.columns, pairs, WHOLE, conditioning.damping)
            outs = [sums] * min(self._threads, len(held.edges) - 1)
            pool.run_in_turns(conditioned.weighted_sums, facts, held.edges, outs)
            sums[head] -= conditioning.whole_centre[head] * total
        return out

    def _hold(self, columns: Ints | None) -> None:
        """Hold the columns that are left; columns beside these are all 0, and do no harm."""
        if columns is not self._left and not self._held.serves(self._rows, columns):
            self._held = HeldColumns(self._rows, columns, self._threads)
        self._left = columns

    def _weigh(self, conditioning: Conditioning) -> Floats:
        """U over the length of every conditioned row, slightly reduced, times its weight.

        It is 0 for a length of 0.
        """
        held, centre = self._held, conditioning.whole_centre
        facts = (held.columns, self._rows.units, WHOLE, conditioning.damping, centre)
        parts = self._row_sums.by_columns(
            conditioned.square_lengths, (*held.matrix, *facts), held.edges
        )
        found, unit = np.empty(self._rows.shape[0]), self._plan.unit * SAFE
        rest = (parts, conditioning.square_centre, unit, self._weights)
        self._row_sums.finish(conditioned.finish_lengths, rest, found)
        return found

    def _weighted(self, numbers: Floats) -> Floats:
        return numbers if self._weights is None else numbers * self._weights

    def _coefficients(
        self, conditioning: Conditioning, weights: Floats, intercepts: Floats
    ) -> tuple[Ints, Ints]:
        """Set the rows' coefficients; returns their sums, and those of the constants."""
        shifts = np.array([conditioning.margin_of_centre(row) for row in weights])
        starts = intercepts - shifts
        for output in range(len(weights)):
            parts = self._add_margins(weights[output])
            given = (parts, self._rows.units, self._grains, starts[output])
            if output < len(weights) - 1:
                self._row_sums.finish(conditioned.finish_margins, given, self._margins[output])
        law: tuple[Any, ...] = (self._loss.compiled(), self._plan.clip, self._margins, self._labels)
        law += (self._lengths, self._weights, CONSTANT * self._plan.unit)
        runs = self._row_sums.row_runs
        found = np.array(pool.run(self._finish, [(given, law, *run) for run in runs]))
        totals, constants = found.sum(axis=0)
        return totals, constants

    def _add_margins(self, weights: Floats) -> Ints:
        """The rows' margins in one output, in whole grains, for every run of columns."""
        held = self._held
        facts = (*held.matrix, held.columns, weights, self._grains, MOST_GRAINS)
        return self._row_sums.by_columns(conditioned.add_margins, facts, held.edges)

    def _finish(
        self, last_output: tuple[Any, ...], law: tuple[Any, ...], first: int, last: int
    ) -> tuple[Ints, Ints]:
        """Margins in the last output, and coefficients, of the rows ``first`` to ``last``.

        Returns the sums of the coefficients, and those of the constants.
        """
        out = self._pairs[:, :, conditioned.COEFFICIENT]
        totals, constants = descent.finish_rows(*last_output, *law, first, last, out)
        return totals, constants


def unit_margins(rows: UnitRows, weights: Floats, intercepts: Floats, column_runs: Runs) -> Floats:
    """Margins of unit rows, outputs x rows (`exact_margins`)."""
    matrix, grains = (rows.indptr, rows.indices, rows.values), MARGIN_GRAINS / rows.largest
    return exact_margins(matrix, rows.units, grains, weights, intercepts, column_runs)
