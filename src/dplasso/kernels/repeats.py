"""Sum duplicate entries of a sparse matrix and drop zeros."""

import math

import numpy as np
from numba import njit

_LARGEST = float(np.finfo(np.float64).max)


@njit(cache=True, nogil=True)
def add_repeats(indptr, indices, values, out_indptr, out_indices, out_values):  # type: ignore[no-untyped-def]
    """Sum runs of equal indices into ``out`` and drop sums of 0; returns how many entries are left.

    Indices must be sorted within each compressed line. The values of a run are added in increasing
    order, so that the sum does not depend on the order in which entries are stored. A sum of finite
    values that overflows becomes the largest double. ``out_values`` is in double precision.
    """
    kept = 0
    out_indptr[0] = 0
    for line in range(indptr.size - 1):
        p, end = np.int64(indptr[line]), np.int64(indptr[line + 1])
        while p < end:
            after = p + 1
            while after < end and indices[after] == indices[p]:
                after += 1
            total = np.float64(values[p])
            if after - p > 1:
                rising = np.sort(values[p:after].astype(np.float64))
                total = rising[0]
                for k in range(1, rising.size):
                    total += rising[k]
                finite = math.isfinite(rising[0]) and math.isfinite(rising[-1])
                if finite and not math.isfinite(total):
                    total = np.float64(math.copysign(_LARGEST, total))
            if total != 0.0:
                out_indices[kept] = indices[p]
                out_values[kept] = total
                kept += 1
            p = after
        out_indptr[line + 1] = kept
    return kept
