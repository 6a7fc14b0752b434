"""Scale and intercepts of a fitted model, corrected from noisy sums so that it predicts shares."""

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from dplasso.base.arrays import Floats, Ints
from dplasso.kernels.calibration import CLASS_WEIGHT, TWO_CLASS_WEIGHT, UNIT

# Margins of two classes are cut to this absolute value, others to a 2-norm, per root of half the
# number of classes.
LIMIT, LIMIT_OF_CLASSES = 4.0, 6.0
# Newton steps, each of which needs one release.
STEPS = 2
# Expected correction of the scale: clipped residuals make descents overshoot. How far scale and
# intercepts are expected to be off.
USUAL_SCALE = 0.8
SCALE_OFF, SHIFT_OFF = 0.25, 0.5
LEAST_SCALE, MOST_SCALE = 0.05, 3.0


def limit_of(outputs: int) -> float:
    """Largest length of margins that a correction sees."""
    return LIMIT if outputs == 1 else LIMIT_OF_CLASSES * math.sqrt(outputs / 2.0)


def sensitivity_of(outputs: int) -> float:
    """Largest length of a row's terms, in whole numbers, rounded up."""
    square = 2.0 if outputs == 1 else 4.0 + CLASS_WEIGHT**2 / 4.0
    return UNIT * math.sqrt(square) * (1.0 + 1e-15)


def terms_of(outputs: int) -> int:
    """Number of sums that a correction needs."""
    return 5 if outputs == 1 else outputs + 2


class Correction(NamedTuple):
    """Corrected margins are ``scale`` times the margins, plus ``shifts``."""

    scale: float
    shifts: Floats


class Calibration:
    """Newton steps for scale and intercepts, each no larger than its noise allows.

    The correction starts at USUAL_SCALE and the given intercepts, which are trusted to SCALE_OFF
    and SHIFT_OFF. A release of the slopes of the loss, with their noise, is one more measurement.
    The two are combined as normal laws are: where noise is large, little is corrected. A step that
    would move margins by d > 1 moves them by 1 + ln d: where probabilities are nearly 0 or 1 the
    curvature is no guide, and a whole step would overshoot.

    Formal guarantees
    -----------------
    It is post-processing: a function of public numbers and of the releases received.
    """

    def __init__(self, n_rows: int, sigma: float, shares: Floats, intercepts: Floats) -> None:
        self._outputs = len(intercepts)
        self._limit, self._shares, self._n_rows = limit_of(self._outputs), shares, n_rows
        self._sigma = max(sigma / UNIT, 1e-9 * n_rows)
        self._at = np.append(USUAL_SCALE * self._limit, intercepts)
        trust = np.full(1 + self._outputs, SHIFT_OFF)
        trust[0] = SCALE_OFF * self._limit
        self._root = np.diag(1.0 / trust)  # its square is the precision of what is known: R.T @ R

    @property
    def correction(self) -> Correction:
        scale = min(max(self._at[0] / self._limit, LEAST_SCALE), MOST_SCALE)
        return Correction(float(scale), self._at[1:].copy())

    def receive(self, released: Ints) -> None:
        """Take a step along released sums."""
        sums = released / UNIT
        if self._outputs == 1:
            slope = sums[:2]
            across = sums[3]
            bend = np.array([[sums[2], across], [across, sums[4]]]) / TWO_CLASS_WEIGHT
        else:
            slope = np.append(sums[0], sums[2:])
            spread = self._n_rows * self._shares * (1.0 - self._shares)
            bend = np.diag(np.append(max(sums[1], 0.0) / CLASS_WEIGHT, spread))
        # Least squares by an orthogonal matrix: a squared curvature would lose half of the digits.
        turned, self._root = np.linalg.qr(np.vstack([self._root, bend / self._sigma]))
        known = np.append(np.zeros(len(slope)), slope / self._sigma)
        step = solve_triangular(self._root, turned.T @ known)
        moved = abs(step[0]) + float(np.max(np.abs(step[1:])))
        self._at = self._at - step * ((1.0 + math.log(moved)) / moved if moved > 1.0 else 1.0)
