"""What rows add to a running sum: the gradients of their losses, clipped row by row.

A row's gradient is a number, the residual, times the row. Where its length is above ``clip`` the
number is made smaller, by a little more than needed: the length is a rounded sum, and what counts
is that of the vector as it leaves here. Where floating point has too few digits for that to be
certain, in rows shorter than 1e-100 or longer than 1e100 and at residuals beyond 1e100, a row
counts as 0.
"""

import math

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import sigmoid
from dplasso.kernels.problem import HINGE, LOGISTIC

# Findings about rows.
FINE, NOT_FINITE, OUT_OF_RANGE, OUT_OF_ORDER = 0, 1, 2, 3
_UNIT = 2.0**-52
# Of a row's square length, and of a residual.
SHORTEST, LONGEST, STEEPEST = 1e-200, 1e200, 1e100


@njit(inline="always")
def _residual(loss, shape, margin, label):  # type: ignore[no-untyped-def]
    """Slope of a row's loss in its margin; ``shape`` is the loss's own number."""
    if loss == LOGISTIC:
        return sigmoid(margin) - label
    if loss == HINGE:
        side = 2.0 * label - 1.0
        return -side * min(max((1.0 - side * margin) / shape, 0.0), 1.0)
    return min(max(margin - label, -shape), shape)


@njit(inline="always")
def _clipped(residual, square, count, clip):  # type: ignore[no-untyped-def]
    """The residual, smaller where it times a row of that square length is longer than clip.

    ``count`` is of entries that are not 0: a row is the same whether zeros are stored or not.
    """
    if not (SHORTEST <= square <= LONGEST and abs(residual) <= STEEPEST):
        return 0.0
    length = abs(residual) * math.sqrt(square) * (1.0 + (count + 8) * _UNIT)
    return residual if length <= clip else residual * (clip / length)


@njit(cache=True, nogil=True, error_model="numpy")
def dense_step(weights, row, label, loss, shape, clip, out):  # type: ignore[no-untyped-def]
    """Write a row's clipped gradient; returns its margin."""
    margin, square, count = 0.0, 0.0, 0
    for j in range(row.size):
        margin += weights[j] * row[j]
        square += row[j] * row[j]
        count += int(row[j] != 0.0)
    factor = _clipped(_residual(loss, shape, margin, label), square, count, clip)
    for j in range(row.size):
        out[j] = factor * row[j]
    return margin


@njit(cache=True, nogil=True, error_model="numpy")
def sparse_step(weights, indices, values, label, loss, shape, clip, out):  # type: ignore[no-untyped-def]
    """The same of a row given by its entries; ``out`` are the gradient's values there."""
    margin, square, count = 0.0, 0.0, 0
    for p in range(indices.size):
        margin += weights[indices[p]] * values[p]
        square += values[p] * values[p]
        count += int(values[p] != 0.0)
    factor = _clipped(_residual(loss, shape, margin, label), square, count, clip)
    for p in range(indices.size):
        out[p] = factor * values[p]
    return margin


@njit(cache=True, nogil=True, error_model="numpy")
def dense_steps(weights, rows, labels, loss, shape, clip, margins, out):  # type: ignore[no-untyped-def]
    """Clipped gradients of all rows, at the same weights, and their margins."""
    for i in range(labels.size):
        margins[i] = dense_step(weights, rows[i], labels[i], loss, shape, clip, out[i])


@njit(cache=True, nogil=True, error_model="numpy")
def sparse_steps(weights, indptr, indices, values, labels, loss, shape, clip, margins, out):  # type: ignore[no-untyped-def]
    """The same of row-compressed rows; ``out`` are the values where those have theirs."""
    for i in range(labels.size):
        mine = slice(indptr[i], indptr[i + 1])
        margins[i] = sparse_step(
            weights, indices[mine], values[mine], labels[i], loss, shape, clip, out[mine]
        )


@njit(cache=True, nogil=True, error_model="numpy")
def sparse_margins(weights, indptr, indices, values, margins):  # type: ignore[no-untyped-def]
    """Products of row-compressed rows with the weights."""
    for i in range(margins.size):
        margin = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            margin += weights[indices[p]] * values[p]
        margins[i] = margin


@njit(cache=True, nogil=True)
def all_finite(values):  # type: ignore[no-untyped-def]
    """Whether every number is one."""
    finite = True
    for p in range(values.size):
        finite &= math.isfinite(values[p])
    return finite


@njit(cache=True, nogil=True)
def look_at_sparse(indptr, indices, values, dimension):  # type: ignore[no-untyped-def]
    """What, if anything, keeps row-compressed rows from being used: one of the findings.

    A column that occurs twice in a row would make its gradient longer than it was clipped to.
    """
    for i in range(indptr.size - 1):
        last = np.int64(-1)
        for p in range(indptr[i], indptr[i + 1]):
            j = np.int64(indices[p])
            if j < 0 or j >= dimension:
                return OUT_OF_RANGE
            if j <= last:
                return OUT_OF_ORDER
            if not math.isfinite(values[p]):
                return NOT_FINITE
            last = j
    return FINE
