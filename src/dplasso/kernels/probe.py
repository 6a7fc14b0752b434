"""One operation on hard cases, whose results any device must share (``cuda/probe.cu``)."""

import math

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import exponential, nearest_integer, sigmoid

OPERATIONS = 14
_NAN = 0x7FF8000000000000


@njit(inline="always")
def _clipped(a, least, most):  # type: ignore[no-untyped-def]
    return min(max(a, least), most)


@njit(inline="always")
def _probed(operation, a, b):  # type: ignore[no-untyped-def]
    found = 0.0
    if operation == 0:
        found = a + b
    elif operation == 1:
        found = a * b
    elif operation == 2:
        found = a / b
    elif operation == 3:
        found = math.sqrt(a)
    elif operation == 4:
        found = a * b + a
    elif operation == 5:
        found = a - b * b
    elif operation == 6:
        found = exponential(_clipped(a, -700.0, 700.0))
    elif operation == 7:
        found = sigmoid(a)
    elif operation == 8:
        clipped = _clipped(a, -(2.0**50), 2.0**50)
        found = np.float64(nearest_integer(0.0 if math.isnan(clipped) else clipped))
    elif operation == 9 and math.isnan(a):
        found = a
    elif operation == 9:
        found = np.float64(np.int64(_clipped(a, -(2.0**53), 2.0**53)))
    elif operation == 12:
        found = -1.0 * _clipped((1.0 - 1.0 * a) / b, 0.0, 1.0)
    elif operation == 13:
        clipped = -b if a < -b else a
        found = (b if clipped > b else clipped) / b
    return found


@njit(cache=True, nogil=True, error_model="numpy")
def probe(operation, a, b, out):  # type: ignore[no-untyped-def]
    """Write the bits of the results, one code for all that is not a number."""
    whole, natural = a.view(np.int64), b.view(np.uint64)
    results = np.empty(1)
    for k in range(a.size):
        if operation == 10:
            results[0] = np.float64(whole[k])
        elif operation == 11:
            results[0] = np.float64(natural[k])
        else:
            results[0] = _probed(operation, a[k], b[k])
        out[k] = _NAN if math.isnan(results[0]) else results.view(np.int64)[0]
