"""The rule of the table solver without privacy, in plain double precision."""

import math

import numpy as np
from scipy.special import expit, softmax

from dplasso.losses import SoftmaxLoss, SquaredLoss
from dplasso.losses.smoothed_hinge import SmoothedHingeLoss
from dplasso.solvers.table.plan import CONSTANT, MOST_CUT, MOST_STRETCH, SCALE_AFTER
from dplasso.solvers.table.walk import AVERAGED, CUT_OF_SIZE, LEAST_LEFT, LEAST_SPREAD

LONGEST_OF_MARGINS = 3.0


def standardised(u):
    """Shares of ranges, less their means and over their spreads; rows cut as the solver does."""
    p = u.shape[1]
    c, square = u.mean(), (u**2).mean()
    longest = math.sqrt(p * min(max(square - c**2, 1.0 / p), 1.0))
    m = np.clip(c + cut(u - c, longest).mean(axis=0), 0.0, 1.0)
    left = math.sqrt(max(longest**2 - np.sum((m - c) ** 2), LEAST_LEFT * longest**2))
    spread = cut((u - m) ** 2, left).mean(axis=0)
    spread = np.maximum(spread, LEAST_SPREAD * spread.mean())
    return (u - m) / np.sqrt(spread), m, np.sqrt(spread)


def cut(rows, length):
    sizes = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows * np.minimum(1.0, length / np.maximum(sizes, 1e-300))


def residuals_of(loss, margins, labels):
    if isinstance(loss, SoftmaxLoss):
        return softmax(margins, axis=1) - np.eye(loss.outputs)[labels.astype(int)]
    if isinstance(loss, SquaredLoss):
        return np.clip(margins - labels[:, None], -loss.clip, loss.clip)
    if isinstance(loss, SmoothedHingeLoss):
        return loss.gradient(margins, labels)
    return expit(margins) - labels[:, None]


def descent(u, labels, loss, steps):
    """Weights and intercepts of shares of ranges before probabilities are calibrated."""
    pace, (n, p), outputs = loss.table_pace(), u.shape, loss.outputs
    a, m, sd = standardised(u)
    C = math.sqrt(p) * (MOST_STRETCH if pace.of_numbers else 1.0)
    sizes = np.linalg.norm(a, axis=1, keepdims=True)
    b = a * np.minimum(pace.lengthened, C / np.maximum(sizes, 1e-300))
    seen = cut(a, LONGEST_OF_MARGINS * C)
    b = np.column_stack([b, np.full(n, CONSTANT * C)])
    constant, clip, curvature = _of_labels(labels, loss, pace)
    values, directions = np.linalg.eigh(b.T @ b / n)
    inverse = (directions / (curvature * np.maximum(values, 2.0**-19))) @ directions.T
    weights = np.zeros((outputs, p + 1))
    total, averaged = np.zeros_like(weights), 0
    for done in range(steps):
        margins = seen @ weights[:, :-1].T + CONSTANT * C * weights[:, -1] + constant
        r = cut(residuals_of(loss, margins, labels), clip)
        if pace.of_numbers and done in [int(after * steps) for after in SCALE_AFTER]:
            clip = min(clip, CUT_OF_SIZE * math.sqrt(np.mean(r**2)))
            r = cut(residuals_of(loss, margins, labels), clip)
        weights = weights - pace.longest / steps * (r.T @ b / n) @ inverse
        if done + 1 > (1.0 - AVERAGED) * steps:
            total, averaged = total + weights, averaged + 1
    weights = total / averaged
    slopes = weights[:, :-1] / sd
    return slopes, CONSTANT * C * weights[:, -1] + constant - slopes @ m


def _of_labels(labels, loss, pace):
    if pace.of_numbers:
        return labels.mean(), pace.cut * labels.std(), pace.curvature
    if loss.outputs == 1:
        share = labels.mean()
        return math.log(share / (1.0 - share)), MOST_CUT * pace.cut, pace.curvature
    shares = np.bincount(labels.astype(int), minlength=loss.outputs) / len(labels)
    constant = np.log(shares)
    curvature = max(pace.curvature, float(np.max(shares * (1.0 - shares))))
    return constant - constant.mean(), pace.cut, curvature
