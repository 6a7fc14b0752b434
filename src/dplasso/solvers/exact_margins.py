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
    found = np.empty((len(intercepts), len(units)))
    kernel = conditioned.add_margins if columns is None else conditioned.add_margins_of
    among = () if columns is None else (columns,)
    for margins, of_output, intercept in zip(found, weights, intercepts, strict=True):
        facts = (*among, of_output, grains, MOST_GRAINS)
        sums = row_sums(kernel, matrix, facts, column_runs, len(units))
        margins[:] = sums * (units / grains) + intercept
    return found


def row_sums(
    kernel: Any, matrix: Matrix, facts: tuple[Any, ...], column_runs: Runs, rows: int
) -> Ints:
    """Integer sums per row, computed for parts of the columns in parallel."""
    parts = [np.zeros(rows, np.int64) for _ in column_runs]
    calls = [(*matrix, *facts, *run, part) for run, part in zip(column_runs, parts, strict=True)]
    pool.run(kernel, calls)
    for part in parts[1:]:
        parts[0] += part
    return parts[0]
