"""The median absolute value of every row's entries."""

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def row_medians(
    indptr: NDArray[np.int64],
    values: NDArray[np.float64],
    first: int,
    last: int,
    medians: NDArray[np.float64],
) -> None:
    """Write the lower median of the nonzero absolute values of rows ``first`` to ``last``.

    Rows are compressed; a row without nonzero entries gets -1.
    """
    for row in range(first, last):
        sizes = np.abs(values[indptr[row] : indptr[row + 1]])
        sizes = sizes[sizes > 0.0]
        medians[row] = -1.0 if len(sizes) == 0 else np.sort(sizes)[(len(sizes) - 1) // 2]
