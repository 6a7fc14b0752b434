"""What the releases of a correction say: a scale and intercepts. It never sees rows."""

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import expit

from dplasso.base.arrays import Floats, Ints
from dplasso.kernels.calibration import CLASS_WEIGHT, TWO_CLASS_WEIGHT, UNIT
from dplasso.solvers.correction.bins import LENGTHS, MARGINS
from dplasso.solvers.correction.first_estimate import first_estimate
from dplasso.solvers.correction.plan import GRAINS, SPREADS, CorrectionPlan
from dplasso.solvers.correction.spread import likely_totals

# Lengths of margins of more than two classes that are fewer than this many standard deviations of
# their noise are taken for noise; if nothing is seen, margins have the usual length.
SEEN_FROM = 3.0
# Margins are cut at this many spreads from their centre, or where they are corrected to this beyond
# 0, whichever is nearer: farther ones say little and would only widen the cut. Margins of more than
# two classes are cut at this many lengths.
REACH, BEYOND, REACH_OF_LENGTHS = 3.0, 5.0, 2.0
# Least spread of margins, in usual ones, and least share of it that is not noise.
LEAST_SPREAD, LEAST_TOLD = 0.1, 0.1
# Least length of margins of more than two classes, in usual ones.
LEAST_LENGTH = 0.25
# A solver's own intercept is not trusted beyond FARTHEST. Beyond 1, its error grows at this rate.
FARTHEST, DOUBT = 3.0, 0.35
# Length to which margins of more than two classes are expected to be corrected if the signal is
# clear, over sqrt(2 (classes - 1)), and in these parts of that slopes are released. How far the
# length that they lead to may be off, relatively, and how far every intercept, at most and over a
# class's usual margin.
USUAL_LENGTH, LENGTH_OFF, SHIFT_OFF_OF_CLASSES, SHIFT_PER_MARGIN = 1.5, 0.3, 0.5, 0.3
PARTS: Floats = np.exp2(np.arange(SPREADS) - 5.0)
# An intercept that must not move is trusted to this.
FIXED = 1e-6
# Least scale, relative to the expected one: the order of predictions never turns around.
LEAST_SCALE = 0.05
# Curvature of intercepts of more than two classes, relative to that of a model without columns.
CONFIDENT = 0.7
# A slope of more standard deviations of its noise than this has a known sign.
CLEAR_SLOPE = 0.5
# How far curvatures may be off that follow from the counts, relatively.
BEND_OFF = 0.3


class Correction(NamedTuple):
    """Corrected margins are ``scale`` times the margins, plus ``shifts``.

    ``only_noise`` is whether the scale is the least that is allowed, because margins of two classes
    showed nothing of the labels.
    """

    scale: float
    shifts: Floats
    only_noise: bool = False


class Usual(NamedTuple):
    """What margins of a solver usually are, from public numbers and its releases.

    ``margin`` is the unit in which margins are counted: a usual one, or a usual length of the
    margins of more than two classes. ``scale`` usually corrects margins, ``off`` is how far it may
    be off, relative to it, and ``shift_off`` how far intercepts may be off. Of two classes,
    ``spread`` is the usual standard deviation of margins, and ``noise`` the part of it that is
    noise: the scale is for margins without. No guarantee rests on any of them.
    """

    margin: float
    scale: float
    off: float
    spread: float = 3.0
    noise: float = 0.0
    shift_off: float = 0.4


class Place(NamedTuple):
    """Where the sums of a step are taken.

    Margins less ``centre`` are cut at ``limit``; a margin there is corrected to ``spread``, plus
    ``shifts``.
    """

    centre: float
    limit: float
    spread: float
    shifts: Floats


class Course:
    """Newton steps for a scale and intercepts, each no larger than its noise allows.

    The counts say where margins lie, and for two classes how labels go with them. That, and an
    expectation of public numbers, is a first estimate. Sums at this estimate are further
    measurements. All are combined as normal laws are: where noise is large, little is corrected.

    Formal guarantees
    -----------------
    It is post-processing: a function of ``plan``, ``usual`` and the releases received. ``usual``
    must be a function of public numbers and earlier releases.
    """

    _limit: float
    _least: float
    _at: Floats  # what the limit is corrected to, and the shifts
    _root: Floats  # its square is the precision of what is known: R.T @ R
    _places: Floats  # of the bins of two classes, over the limit
    _totals: Floats  # rows that are likely in these bins
    _bends: Floats  # curvatures of the intercepts of more than two classes

    def __init__(self, plan: CorrectionPlan, usual: Usual, counts: Ints) -> None:
        self._plan, self._n = plan, plan.n_rows
        noise = plan.count_sigma / GRAINS
        found = (counts + 0.5) / GRAINS
        self._centre = 0.0
        if plan.outputs == 1:
            self._start(found.reshape(2, -1), noise, usual)
        else:
            self._start_of_classes(found[: len(LENGTHS)], found[len(LENGTHS) :], noise, usual)

    @property
    def at(self) -> Place:
        return Place(self._centre, self._limit, max(self._at[0], self._least), self._at[1:].copy())

    @property
    def correction(self) -> Correction:
        """The scale and the shifts that follow from the releases so far."""
        scale = self.at.spread / self._limit
        shifts = self._at[1:] - scale * self._centre
        shifts = shifts if self._plan.moves_intercept else np.zeros(len(shifts))
        is_least = bool(self._at[0] <= self._least)
        return Correction(scale, shifts, is_least and self._plan.outputs == 1)

    @property
    def spreads(self) -> Floats:
        """The values of a margin at the limit for which slopes of more classes are released."""
        usual = USUAL_LENGTH * math.sqrt(2.0 * (self._plan.outputs - 1))
        return REACH_OF_LENGTHS * usual * PARTS

    def receive_slopes(self, released: Ints) -> None:
        """Start more than two classes where released slopes cross 0."""
        plan, spreads = self._plan, self.spreads
        slopes, noise = (released + 0.5) / UNIT, plan.slope_sigma / UNIT
        spread = _crossing(spreads, slopes, noise)
        # Intercepts must not hide what margins say.
        margin = spread / (REACH_OF_LENGTHS * math.sqrt(plan.outputs))
        shift_off = min(SHIFT_OFF_OF_CLASSES, SHIFT_PER_MARGIN * margin)
        self._expect_of_classes(spread, LENGTH_OFF, shift_off)

    def receive(self, released: Ints) -> None:
        """Take a step along released sums."""
        sums, noise = (released + 0.5) / UNIT, self._plan.step_sigma / UNIT
        if self._plan.outputs == 1:
            slope, bend = sums[:2], self._bend(sums[2:] / TWO_CLASS_WEIGHT, noise)
        else:
            slope = np.append(sums[0], sums[2:])
            own = _shrunk(sums[1] / CLASS_WEIGHT, noise / CLASS_WEIGHT)
            bend = np.diagflat(np.append(own, self._bends))
        here = np.append(self.at.spread, self._at[1:])
        # Least squares by an orthogonal matrix: a squared curvature would lose half of the digits.
        turned, self._root = np.linalg.qr(np.vstack([self._root, bend / noise]))
        known = np.append(np.zeros(len(here)), slope / noise)
        self._at = here - solve_triangular(self._root, turned.T @ known)

    def _bend(self, measured: Floats, noise: float) -> Floats:
        """Curvatures of two classes: those that follow from the counts, and those measured."""
        q = expit(self.at.spread * self._places + self._at[1])
        rows = self._totals * q * (1.0 - q)
        counted = np.array([rows @ self._places**2, rows @ self._places, rows.sum()])
        off = BEND_OFF * np.maximum(counted, np.abs(measured))[[0, 2, 2]]
        trusted = off**2 / (off**2 + (noise / TWO_CLASS_WEIGHT) ** 2)
        first, across, second = counted + trusted * (measured - counted)
        first, second = max(first, 0.0), max(second, 0.0)
        across = math.copysign(min(abs(across), math.sqrt(first * second)), across)
        return np.array([[first, across], [across, second]])

    def _start(self, counts: Floats, noise: float, usual: Usual) -> None:
        """First estimate for two classes; ``counts`` is labels x bins."""
        moves, unit, middles = self._plan.moves_intercept, usual.margin, MARGINS.middles
        measured, of_totals = counts.sum(axis=0), math.sqrt(2.0) * noise
        totals = likely_totals(measured, of_totals, self._n, usual.spread / unit)
        shares = totals / totals.sum()
        centre = float(shares @ middles) if moves else 0.0
        square = float(shares @ ((middles - centre) ** 2 + MARGINS.variances))
        spread = max(math.sqrt(square), LEAST_SPREAD * usual.spread / unit)
        scale = usual.scale * max(1.0 - (usual.noise / (spread * unit)) ** 2, LEAST_TOLD)
        reach = min(REACH * spread, abs(centre) + BEYOND / (scale * unit))
        self._centre, self._limit = centre * unit, reach * unit
        self._least = LEAST_SCALE * scale * self._limit
        # The usual scale, and the solver's own intercept unless it is far off.
        own = min(max(scale * self._centre, -FARTHEST), FARTHEST)
        expected = np.array([scale * self._limit, own])
        # A margin of 0 is expected to stay near 0, whatever the scale: the shift goes with it.
        scale_off = usual.off * expected[0]
        shift_off = math.hypot(usual.shift_off, DOUBT * max(abs(own) - 1.0, 0.0))
        shift_off = shift_off if moves else FIXED
        off = np.array([[scale_off, 0.0], [scale_off * own / expected[0], shift_off]])
        self._places = np.clip((middles - centre) / reach, -1.0, 1.0)
        self._totals = totals
        # Rows that a curve expects and counts deny would look like rows of either label.
        totals = np.maximum(np.clip(totals, measured - of_totals, measured + of_totals), 0.0)
        found = first_estimate(counts, totals, self._places, noise, expected, off)
        self._at, self._root = found

    def _start_of_classes(
        self, lengths: Floats, classes: Floats, noise: float, usual: Usual
    ) -> None:
        """First estimate for more classes: how long margins are, and how frequent classes are."""
        plan = self._plan
        seen = np.where(lengths > SEEN_FROM * noise, lengths, 0.0)
        square = LENGTHS.middles**2 + LENGTHS.variances
        length = math.sqrt(float(seen @ square) / float(seen.sum())) if seen.any() else 1.0
        self._limit = REACH_OF_LENGTHS * max(length, LEAST_LENGTH) * usual.margin
        rows = np.clip(classes, 0.1 * self._n / plan.outputs, float(self._n))
        shares = rows / rows.sum()
        self._bends = CONFIDENT * self._n * shares * (1.0 - shares)
        self._expect_of_classes(usual.scale * self._limit, usual.off, usual.shift_off)

    def _expect_of_classes(self, spread: float, off: float, shift_off: float) -> None:
        """Expect more than two classes to have this spread and no shifts, up to these errors."""
        plan = self._plan
        self._least, self._at = LEAST_SCALE * spread, np.append(spread, np.zeros(plan.outputs))
        shifts_off = np.full(plan.outputs, shift_off if plan.moves_intercept else FIXED)
        self._root = np.diag(1.0 / np.append(off * spread, shifts_off))


def _crossing(spreads: Floats, slopes: Floats, noise: float) -> float:
    """The spread at which noisy slopes, which rise, cross 0.

    It rises from the least one as long as slopes are clearly below 0: if noise hides them, margins
    stay small, and probabilities close to each other.
    """
    at = 0
    while at + 1 < len(spreads) and slopes[at] < -CLEAR_SLOPE * noise:
        at += 1
    if at == 0 or slopes[at] <= 0.0:
        return float(spreads[at])
    way = slopes[at - 1] / (slopes[at - 1] - slopes[at])
    return float(spreads[at - 1] * (spreads[at] / spreads[at - 1]) ** way)


def _shrunk(bend: float, noise: float) -> float:
    """A curvature, less what its noise explains: what is noise must not count as evidence."""
    return max(bend - noise**2 / bend, 0.0) if bend > 0.0 else 0.0
