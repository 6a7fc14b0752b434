"""Margins of rows as sums of whole numbers, which are the same whatever the order of columns."""

from typing import Any

import numpy as np

from dplasso.base import threads as pool
from dplasso.base.arrays import Floats, Ints
from dplasso.kernels import conditioned

# Grains in a margin of 1 of the largest entry; each term of a margin is clipped at 2^50 grains.
MARGIN_GRAINS, MOST_GRAINS = 2.0**40, 2.0**50
Matrix = tuple[Any, Any, Any]  # indptr, indices and values by columns; values None if all are 1
Runs = list[tuple[int, int]]  # parts of the columns


def exact_margins(
    matrix: Matrix,
    units: Floats,
    grains: float,
    weights: Floats,
    intercepts: Floats,
    column_runs: Runs,
    columns: Ints | None = None,
) -> Floats:
    """Margins, outputs x rows: entries times weights, times the row's unit, plus the intercept.

    ``weights`` are those of all columns, or of ``columns``, which ``column_runs`` then divide.
    Every product is rounded to whole ``1 / grains`` before it is added, so a row's margins are a
    function of that row, the weights and the intercepts alone, to the last bit.
    """
    row_sums, edges = RowSums(len(units), len(column_runs)), pool.edges_of(column_runs)
    kernel = conditioned.add_margins if columns is None else conditioned.add_margins_of
    found = np.empty((len(intercepts), len(units)))
    for margins, of_output, intercept in zip(found, weights, intercepts, strict=True):
        parts = row_sums.by_columns(
            kernel, (*matrix, columns, of_output, grains, MOST_GRAINS), edges
        )
        row_sums.finish(conditioned.finish_margins, (parts, units, grains, intercept), margins)
    return found


class RowSums:
    """Integer sums per row: parts of the columns are summed in parallel, then parts of the rows.

    The memory for them is kept: asking for new pages would take longer than adding up.
    """

    def __init__(self, rows: int, threads: int) -> None:
        self._room = np.empty((threads, rows), np.int64)
        self.row_runs = pool.even_runs(rows, threads)

    def by_columns(self, kernel: Any, facts: tuple[Any, ...], edges: Ints) -> Ints:
        """Sums per row over runs of columns, by a kernel that takes runs in turns.

        Every thread has sums of its own.
        """
        parts = self._room[: len(edges) - 1]
        pool.run_in_turns(kernel, facts, edges, parts)
        return parts

    def finish(self, kernel: Any, facts: tuple[Any, ...], out: Any) -> None:
        """Write what a kernel computes from the sums of all runs of columns."""
        pool.run(kernel, [(*facts, *run, out) for run in self.row_runs])
