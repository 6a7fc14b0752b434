"""Counts of the wide columns of a table: every row is a vector of one common length."""

import math

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import entry
from dplasso.kernels.row_weights import square_within
from dplasso.kernels.table import CELL_BITS


@njit(cache=True, nogil=True, error_model="numpy")
def presence_lengths(rows, n_rows, weights):  # type: ignore[no-untyped-def]
    """What a row adds to each column that is present in it, so that its vector is CELL long.

    ``rows`` has the row of every presence. With k presences the number is CELL / sqrt(k), rounded
    down: k times its square is at most CELL^2, which is checked on the whole number. A row with a
    weight has a vector of that weight times CELL.
    """
    found = np.zeros(n_rows, np.int64)
    for t in range(rows.size):
        found[rows[t]] += 1
    for i in range(n_rows):
        present, weight = found[i], entry(weights, i)
        most = square_within(np.int64(1) << (2 * CELL_BITS), weight)
        if present > 0:
            each = np.int64(2.0**CELL_BITS * weight / math.sqrt(np.float64(present)))
            if each > 0 and each * each * present > most:
                each -= 1
            found[i] = each if each * each * present <= most else 0
    return found


@njit(cache=True, nogil=True, error_model="numpy")
def presence_sums(starts, rows, lengths, first, last):  # type: ignore[no-untyped-def]
    """Sums of the rows' numbers over the rows in which a column is present, by column."""
    sums = np.zeros(last - first, np.int64)
    for j in range(first, last):
        for t in range(starts[j], starts[j + 1]):
            sums[j - first] += lengths[rows[t]]
    return sums
