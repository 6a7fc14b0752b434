"""Residuals of rows with one margin per class: class probabilities minus the one-hot label.

This is the only loss with several margins per row. Kernels use it where a problem has more than one
class, and otherwise call the loss's own loops (`dplasso.kernels.residuals`).
"""

import math

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import exponential
from dplasso.kernels.row_weights import weight_of


@njit(inline="always")
def softmax_weights(margins, scale, row, classes, weights):  # type: ignore[no-untyped-def]
    """Unnormalised class probabilities of one row; returns their sum."""
    first = row * classes
    top = margins[first]
    for k in range(1, classes):
        top = max(top, margins[first + k])
    total = 0.0
    for k in range(classes):
        weights[k] = exponential(max((margins[first + k] - top) * scale, -700.0))
        total += weights[k]
    return total


@njit(inline="always")
def class_residual(margins, scale, row, classes, label, own):  # type: ignore[no-untyped-def]
    """Residual of one class in one row; ``own`` is the row's label."""
    first = row * classes
    top = margins[first]
    for k in range(1, classes):
        top = max(top, margins[first + k])
    total = 0.0
    chosen = 0.0
    for k in range(classes):
        weight = exponential(max((margins[first + k] - top) * scale, -700.0))
        total += weight
        if k == label:
            chosen = weight
    return chosen / total - (own == label)


@njit(inline="always")
def row_residuals(margins, scale, row, label, residuals):  # type: ignore[no-untyped-def]
    """Residuals of all classes in one row."""
    total = softmax_weights(margins, scale, row, residuals.size, residuals)
    for k in range(residuals.size):
        residuals[k] = residuals[k] / total - (label == k)


@njit(inline="always")
def clipped_residuals(margins, row, label, clip, residuals):  # type: ignore[no-untyped-def]
    """The same in units of ``clip``, with a 2-norm of at most 1; ``margins`` is classes x rows."""
    row_residuals(margins[:, row].copy(), 1.0, 0, label, residuals)
    square = 0.0
    for k in range(residuals.size):
        square += residuals[k] * residuals[k]
    # The last factor covers the rounding error of the length.
    scale = 1.0 / max(clip, math.sqrt(square)) * (1.0 - 1e-12)
    for k in range(residuals.size):
        residuals[k] *= scale


@njit(cache=True, nogil=True, error_model="numpy")
def derivatives(margins, scale, towards, eta, labels, classes, weights):  # type: ignore[no-untyped-def]
    """First and second derivative of the loss along ``margins * scale + eta * towards``."""
    slope = 0.0
    bend = 0.0
    for i in range(labels.size):
        first = i * classes
        top = -np.inf
        for k in range(first, first + classes):
            top = max(top, margins[k] * scale + eta * towards[k])
        total = 0.0
        mean = 0.0
        square = 0.0
        for k in range(first, first + classes):
            at = margins[k] * scale + eta * towards[k] - top
            weight = exponential(max(at, -700.0))
            total += weight
            mean += weight * towards[k]
            square += weight * towards[k] * towards[k]
        mean /= total
        row_weight = weight_of(weights, i)
        slope += row_weight * (mean - towards[first + np.int64(labels[i])])
        bend += row_weight * (square / total - mean * mean)
    return slope, bend
