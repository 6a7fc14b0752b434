"""Exact sums over the rows of integer entries times residuals, per column."""

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import entry


@njit(cache=True, nogil=True)
def residual_sums(indptr, indices, values, residuals, first, last, out):  # type: ignore[no-untyped-def]
    """For columns ``first`` to ``last``, the sum over the rows of entry times residual.

    Every term is rounded towards 0; those of whole residuals below 2^53 are exact.
    """
    for j in range(first, last):
        total = np.int64(0)
        for p in range(np.uint64(indptr[j]), np.uint64(indptr[j + 1])):
            total += np.int64(np.float64(entry(values, p)) * residuals[np.uint64(indices[p])])
        out[j] = total
