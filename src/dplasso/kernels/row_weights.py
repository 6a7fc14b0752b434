"""How much a row counts, and what that leaves of a limit on the length of its vector."""

import numpy as np
from numba import njit

# A weight below 1 is rounded down by far more than this (`dplasso.data.row_weights`), so the limit
# below stays within that of the exact weight, whatever the rounding of three products.
ROOM = 1.0 + 2.0**-42


@njit(inline="always")
def weight_of(weights, row):  # type: ignore[no-untyped-def]
    """The weight of a row; 1 where ``weights`` is empty.

    An empty array and not None, so that loops are compiled once for rows with and without weights.
    """
    return weights[row] if weights.size else 1.0


@njit(inline="always")
def square_within(square, weight):  # type: ignore[no-untyped-def]
    """Largest whole squared length of a row's vector if ``square`` is that of a row of weight 1."""
    return np.int64(square) if weight == 1.0 else np.int64(square * (weight * weight * ROOM))
