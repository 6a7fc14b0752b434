"""Scale and intercept of two classes that fit noisy counts, by penalised maximum likelihood."""

import math

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import expit

from dplasso.base.arrays import Floats

# A count is read as at least minus this many standard deviations of its noise.
BELOW = 2.0
# Fits, of which each weighs the places anew.
PASSES = 2
# Most Newton steps of a fit, which ends where margins move by no more than TINY.
ITERATIONS, TINY = 1000, 1e-14


def first_estimate(
    counts: Floats, totals: Floats, places: Floats, noise: float, expected: Floats, off: Floats
) -> tuple[Floats, Floats]:
    """Spread and intercept that fit noisy counts (labels x places), and a root of their precision.

    It is a logistic regression with a normal prior: ``expected`` counts as a measurement whose
    errors are ``off``, a matrix, times standard normal numbers. ``totals`` are the rows of each
    place; their labels are known by the difference of the two counts.

    A place weighs as much as the noise of its counts leaves of it, and never more than its rows.
    That is judged by the expected share of labels, and then by the fitted one where that leaves
    less: of a place where nearly all rows have one label, noise hides how nearly.
    """
    rows = np.stack([places, np.ones(len(places))], axis=1) @ off
    start = expected[0] * places + expected[1]
    # Noise takes counts below 0, but hardly farther than this.
    ones = np.clip((totals + counts[1] - counts[0]) / 2.0, -BELOW * noise, totals + BELOW * noise)
    weights: Floats = np.ones(len(places))
    at: Floats = np.zeros(2)
    root: Floats = np.eye(2)
    for _ in range(PASSES):
        q = expit(start + rows @ at)
        left = totals * q * (1.0 - q) / (noise**2 * (q**2 + (1.0 - q) ** 2))
        weights = np.minimum(weights, left)
        at, root = _least(rows, start, weights * totals, weights * ones)
    return expected + off @ at, root @ np.linalg.inv(off)


def _least(rows: Floats, start: Floats, totals: Floats, ones: Floats) -> tuple[Floats, Floats]:
    """Where the penalised loss is least, and a root of its curvature there.

    The loss is strictly convex. Steps are damped by how far they move the largest margin: with this
    damping Newton's method converges from anywhere for losses whose third derivative is bounded by
    the second, as the logistic one's is (Sun and Tran-Dinh, 2019, *Generalized self-concordant
    functions*). So the result does not hang on how sums are rounded.
    """
    at: Floats = np.zeros(2)
    root: Floats = np.eye(2)
    for _ in range(ITERATIONS):
        q = expit(start + rows @ at)
        slope = at + (q * totals - ones) @ rows
        bends = rows * np.sqrt(totals * q * (1.0 - q))[:, None]
        root = np.asarray(np.linalg.qr(np.vstack([np.eye(2), bends]), mode="r"))
        step = solve_triangular(root, solve_triangular(root, slope, trans="T"))
        farthest = float(np.max(np.abs(rows @ step), initial=TINY))
        at = at - step * (math.log1p(farthest) / farthest)
        if farthest <= TINY:
            break
    return at, root
