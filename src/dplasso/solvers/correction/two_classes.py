"""What the releases of a correction say of two classes: a scale and an intercept."""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from dplasso.base.arrays import Floats, Ints
from dplasso.kernels.calibration import UNIT
from dplasso.solvers.correction.bins import MARGINS
from dplasso.solvers.correction.law import mean_of
from dplasso.solvers.correction.plan import GRAINS, CorrectionPlan
from dplasso.solvers.correction.spread import likely_margins
from dplasso.solvers.correction.walk import Correction, Place, Usual

# Margins are cut at this many spreads from their centre, or where they are corrected to this beyond
# 0, whichever is nearer: farther ones say little and would only widen the cut.
REACH, BEYOND = 3.0, 5.0
# Least spread of margins, in usual ones, and least share of it that is not noise.
LEAST_SPREAD, LEAST_TOLD = 0.1, 0.1
# Beyond 1, the error of a solver's own intercept grows at this rate.
DOUBT = 0.35
# In this share of fits margins are not as usual: the logarithm of their scale is then off by the
# first of these below 0, and by the second above. Probabilities that are too sure lose more.
UNUSUAL, BELOW, ABOVE = 0.15, 1.0, 0.4
# A scale that is this many times as large as expected moves the expected intercept no farther.
MOST_TIMES = 20.0
# No scale is farther from the expected one than this, as a logarithm: releases that no rows give
# must not end in numbers that overflow.
MOST_OFF = 20.0
# An intercept that must not move is trusted to this.
FIXED = 1e-6
# Least scale, relative to the expected one: the order of predictions never turns around.
LEAST_SCALE = 0.1
# How far sums over the rows of a bin may be off, relatively, because margins differ within it.
WITHIN = 0.05
# Least variance of a label that a bin is taken to have.
LEAST_VARIANCE = 1e-3


class _Sums(NamedTuple):
    """Released sums, and where they were taken: `Place`, with the limit in units."""

    limit: float
    spread: float
    shift: float
    released: Floats


class TwoClasses:
    """The law of a scale and an intercept, by what is expected, counts and sums.

    The counts say where margins lie, and how labels go with them. Sums at the mean of the law are
    further measurements. Each is compared with what the likely rows would give at every scale and
    intercept, and not only near the present ones: a sum says much about a correction that is far
    off, too. Where noise is large, little is corrected.

    Formal guarantees
    -----------------
    It is post-processing: a function of ``plan``, ``usual`` and the releases received. ``usual``
    must be a function of public numbers and earlier releases.
    """

    def __init__(self, plan: CorrectionPlan, usual: Usual, counts: Ints) -> None:
        self._plan, moves = plan, plan.moves_intercept
        self._noise = plan.count_sigma / GRAINS
        counted = ((counts + 0.5) / GRAINS).reshape(2, -1)
        measured, of_totals = counted.sum(axis=0), math.sqrt(2.0) * self._noise
        # Margins, spreads and scales are in units here, so that none overflows or vanishes.
        middles, self._unit = MARGINS.middles, usual.margin
        spread, unclear = usual.spread / self._unit, usual.noise / self._unit
        likely = likely_margins(measured, of_totals, plan.n_rows, spread)
        self._totals = likely.totals
        shares = likely.totals / likely.totals.sum()
        self._centre = float(shares @ middles) if moves else 0.0
        self._margins = middles - self._centre
        square = float(shares @ (self._margins**2 + MARGINS.variances))
        self._spread = max(math.sqrt(square), LEAST_SPREAD * spread)
        told = np.maximum(1.0 - (unclear / likely.widths) ** 2, LEAST_TOLD)
        self._scale = usual.scale * self._unit * float(likely.weights @ told)
        # The usual scale, and the solver's own intercept unless it is far off.
        self._own = min(max(self._scale * self._centre, -usual.farthest), usual.farthest)
        self._scale_off = math.log1p(usual.off)
        shift_off = math.hypot(usual.shift_off, DOUBT * max(abs(self._own) - 1.0, 0.0))
        self._shift_off = shift_off if moves else FIXED
        # Rows that a curve expects and counts deny would look like rows of either label.
        rows = np.clip(likely.totals, measured - of_totals, measured + of_totals)
        self._counted, self._ahead = np.maximum(rows, 0.0), counted[1] - counted[0]
        self._sums: list[_Sums] = []
        self._conclude()

    @property
    def at(self) -> Place:
        unit, limit = self._unit, self._limit
        return Place(self._centre * unit, limit * unit, self._used * limit, np.array([self._shift]))

    @property
    def correction(self) -> Correction:
        """The scale and the shift that follow from the releases so far."""
        shift = self._shift - self._used * self._centre if self._plan.moves_intercept else 0.0
        return Correction(self._used / self._unit, np.array([shift]), self._found < self._used)

    def receive(self, released: Ints) -> None:
        """Learn from released sums at the present correction."""
        released_sums = (released + 0.5) / UNIT
        self._sums.append(_Sums(self._limit, self._used * self._limit, self._shift, released_sums))
        self._conclude()

    @property
    def _limit(self) -> float:
        return min(REACH * self._spread, abs(self._centre) + BEYOND / self._used)

    def _conclude(self) -> None:
        """Find the mean of the law."""
        middle = np.array([math.log(self._scale), self._own])
        off = np.diag([self._scale_off + BELOW / 3.0, self._shift_off])
        off[1, 0] = self._own * self._scale_off  # the shift goes with the scale
        logarithm, self._shift = mean_of(self._unlikely, middle, off)
        self._found = math.exp(float(self._near(logarithm)))
        self._used = max(self._found, LEAST_SCALE * self._scale)

    def _near(self, logarithms: Floats) -> Floats:
        """Scales, as logarithms, that are not too far from the expected one."""
        expected = math.log(self._scale)
        near: Floats = np.clip(logarithms, expected - MOST_OFF, expected + MOST_OFF)
        return near

    def _unlikely(self, logarithms: Floats, shifts: Floats) -> Floats:
        """How unlikely scales, as logarithms, and intercepts are, up to a constant."""
        logarithms = self._near(logarithms)
        scales = np.exp(logarithms)[:, None]
        found = self._unexpected(logarithms, shifts) + self._by_counts(scales, shifts)
        for sums in self._sums:
            found += self._by_sums(scales, shifts, sums)
        return found

    def _unexpected(self, logarithms: Floats, shifts: Floats) -> Floats:
        """By what is usual. A margin of 0 stays near 0 at any scale: the shift goes with it."""
        off = logarithms - math.log(self._scale)
        usual, unusual = self._scale_off, np.where(off > 0.0, ABOVE, BELOW)
        law = (1.0 - UNUSUAL) / usual * np.exp(-0.5 * (off / usual) ** 2)
        law += UNUSUAL / (0.5 * (BELOW + ABOVE)) * np.exp(-0.5 * (off / unusual) ** 2)
        own = self._own * np.exp(np.minimum(off, math.log(MOST_TIMES)))
        found: Floats = 0.5 * ((shifts - own) / self._shift_off) ** 2 - np.log(law + 1e-300)
        return found

    def _by_counts(self, scales: Floats, shifts: Floats) -> Floats:
        """By how many more rows of one label than of the other each bin has."""
        rows = self._counted
        q = expit(scales * self._margins + shifts[:, None])
        variances = 4.0 * rows * np.maximum(q * (1.0 - q), LEAST_VARIANCE)
        variances += 2.0 * self._noise**2 + (WITHIN * rows) ** 2
        found: Floats = _misfit(self._ahead - rows * (2.0 * q - 1.0), variances).sum(axis=1)
        return found

    def _by_sums(self, scales: Floats, shifts: Floats, sums: "_Sums") -> Floats:
        """By sums of residuals, times margins and plain, that were taken at a place."""
        noise, rows = self._plan.step_sigma / UNIT, self._totals
        t = np.clip(self._margins / sums.limit, -1.0, 1.0)
        taken = expit(sums.spread * t + sums.shift)
        q = expit(scales * sums.limit * t + shifts[:, None])
        found = np.zeros(len(shifts))
        for factors, released in ((t, sums.released[0]), (np.ones(len(t)), sums.released[1])):
            # Residuals at that place have this sum if labels follow the scale and the shift.
            moved = (taken - q) @ (rows * factors)
            sampled = float(taken * (1.0 - taken) @ (rows * factors**2))
            found += _misfit(released - moved, noise**2 + (WITHIN * moved) ** 2 + sampled)
        return found


def _misfit(errors: Floats, variances: Floats) -> Floats:
    """Minus the logarithm of a normal density, up to a constant."""
    found: Floats = 0.5 * errors**2 / variances + 0.5 * np.log(variances)
    return found
