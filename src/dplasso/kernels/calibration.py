"""Sums over rows from which scale and intercepts of a model's margins are corrected.

Terms of a row with a weight are multiplied by it before they are rounded, and the limit on their
length with them.
"""

import math

import numpy as np
from numba import njit

from dplasso.kernels.arithmetic import entry, exponential, sigmoid
from dplasso.kernels.row_weights import square_within

UNIT = 1 << 24  # a term of 1, as a whole number
# Weight of the curvature of more than two classes, which is nearly free.
CLASS_WEIGHT = 1.0


@njit(cache=True, nogil=True, error_model="numpy")
def two_class_sums(margins, labels, weights, scale, shift, limit, first, last):  # type: ignore[no-untyped-def]
    """Sums of r t and r over rows, in whole numbers.

    t is the row's margin over ``limit``, cut to [-1, 1]; q is the probability that the corrected
    margin ``scale * limit * t + shift`` gives; r = q - label. Terms are rounded towards 0. |r| and
    |t| are at most 1, so the squared length of a row's terms is at most 2.
    """
    sums, terms = np.zeros(2, np.int64), np.empty(2, np.int64)
    for i in range(first, last):
        t = _cut(margins[i] / limit)
        r = sigmoid(scale * limit * t + shift) - labels[i]
        _add((r * t, r), entry(weights, i), terms, 2 * UNIT * UNIT, sums)
    return sums


@njit(cache=True, nogil=True, error_model="numpy")
def class_sums(margins, labels, weights, scale, shifts, limit, first, last):  # type: ignore[no-untyped-def]
    """Sums of r . t, w v and r over rows, in whole numbers; ``margins`` is classes x rows.

    t are the row's margins less their mean, over ``limit`` and cut to a 2-norm of 1; q are the
    probabilities that ``scale * limit * t + shifts`` gives; r is q less the one-hot label, v the
    variance of t under q, and w is CLASS_WEIGHT. Terms are rounded towards 0. |r|^2 <= 2,
    |r . t| <= |r| and v <= 1/2, so the squared length of a row's terms is at most 4 + w^2 / 4.
    """
    classes = margins.shape[0]
    sums = np.zeros(classes + 2, np.int64)
    terms = np.empty(classes + 2, np.int64)
    t, q = np.empty(classes), np.empty(classes)
    most = 4 * UNIT * UNIT + UNIT * UNIT // 4
    for i in range(first, last):
        _cut_to_length(margins, i, limit, t)
        top = -np.inf
        for k in range(classes):
            top = max(top, scale * limit * t[k] + shifts[k])
        total = 0.0
        for k in range(classes):
            q[k] = exponential(max(scale * limit * t[k] + shifts[k] - top, -700.0))
            total += q[k]
        along, first_moment, second = 0.0, 0.0, 0.0
        weight = entry(weights, i)
        for k in range(classes):
            q[k] /= total
            first_moment += q[k] * t[k]
            second += q[k] * t[k] * t[k]
            residual = q[k] - (labels[i] == k)
            along += residual * t[k]
            terms[k + 2] = _whole(residual * weight)
        terms[0] = _whole(along * weight)
        bend = CLASS_WEIGHT * max(second - first_moment * first_moment, 0.0)
        terms[1] = _whole(bend * weight)
        _add_whole(terms, square_within(most, weight), sums)
    return sums


@njit(cache=True, nogil=True, error_model="numpy")
def class_slopes(margins, labels, weights, spreads, limit, first, last):  # type: ignore[no-untyped-def]
    """Sums of r . t over rows at several spreads, in whole numbers; ``margins`` is classes x rows.

    t are as in `class_sums`, r as there with the probabilities that ``spread * t`` gives. Terms are
    rounded towards 0. |r . t| <= |r| <= sqrt(2), so the squared length of a row's terms is at most
    twice the number of spreads.
    """
    classes, count = margins.shape[0], spreads.size
    sums, terms = np.zeros(count, np.int64), np.empty(count, np.int64)
    t = np.empty(classes)
    for i in range(first, last):
        row_weight = entry(weights, i)
        _cut_to_length(margins, i, limit, t)
        top, own = -np.inf, 0.0
        for k in range(classes):
            top = max(top, t[k])
            if labels[i] == k:
                own = t[k]
        for j in range(count):
            total, along = 0.0, 0.0
            for k in range(classes):
                weight = exponential(max(spreads[j] * (t[k] - top), -700.0))
                total += weight
                along += weight * t[k]
            terms[j] = _whole((along / total - own) * row_weight)
        _add_whole(terms, square_within(2 * count * UNIT * UNIT, row_weight), sums)
    return sums


@njit(inline="always")
def _cut_to_length(margins, i, limit, t):  # type: ignore[no-untyped-def]
    """Put the row's margins less their mean, over ``limit`` and cut to a 2-norm of 1, into t."""
    mean = 0.0
    for k in range(t.size):
        mean += margins[k, i]
    mean /= t.size
    square = 0.0
    for k in range(t.size):
        t[k] = (margins[k, i] - mean) / limit
        square += t[k] * t[k]
    factor = 1.0 / max(1.0, math.sqrt(square))
    for k in range(t.size):
        t[k] *= factor


@njit(inline="always")
def _cut(value):  # type: ignore[no-untyped-def]
    """The value cut to [-1, 1]; 0 if it is NaN."""
    if math.isnan(value):
        return 0.0
    return max(-1.0, min(1.0, value))


@njit(inline="always")
def _whole(value):  # type: ignore[no-untyped-def]
    """The value in units, rounded towards 0; 0 if it is NaN or beyond any term."""
    return np.int64(value * UNIT) if abs(value) <= 2.0 else np.int64(0)


@njit(inline="always")
def _add(values, weight, terms, most, sums):  # type: ignore[no-untyped-def]
    for k in range(terms.size):
        terms[k] = _whole(values[k] * weight)
    _add_whole(terms, square_within(most, weight), sums)


@njit(inline="always")
def _add_whole(terms, most, sums):  # type: ignore[no-untyped-def]
    """Add a row's terms, unless rounding made them too long."""
    square = np.int64(0)
    for k in range(terms.size):
        square += terms[k] * terms[k]
    if square <= most:
        for k in range(terms.size):
            sums[k] += terms[k]
