"""What the releases of a correction say of more than two classes. It never sees rows."""

import math
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import solve_triangular

from dplasso.base.arrays import Floats, Ints
from dplasso.kernels.calibration import CLASS_WEIGHT, UNIT
from dplasso.solvers.correction.bins import LENGTHS
from dplasso.solvers.correction.plan import GRAINS, SPREADS, CorrectionPlan

# Lengths of margins of more than two classes that are fewer than this many standard deviations of
# their noise are taken for noise; if nothing is seen, margins have the usual length.
SEEN_FROM = 3.0
# Margins are cut at this many lengths.
REACH_OF_LENGTHS = 2.0
# Least length of margins, in usual ones.
LEAST_LENGTH = 0.25
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
    noise: the scale is for margins without. An intercept of two classes is not trusted beyond
    ``farthest``. No guarantee rests on any of them.
    """

    margin: float
    scale: float
    off: float
    spread: float = 3.0
    noise: float = 0.0
    shift_off: float = 0.4
    farthest: float = 3.0


class Place(NamedTuple):
    """Where the sums of a step are taken.

    Margins less ``centre`` are cut at ``limit``; a margin there is corrected to ``spread``, plus
    ``shifts``.
    """

    centre: float
    limit: float
    spread: float
    shifts: Floats


class Course(Protocol):
    """What follows from releases so far. It never sees rows."""

    @property
    def at(self) -> Place:
        """Where the next sums are taken."""

    @property
    def correction(self) -> Correction:
        """The scale and the shifts that follow."""

    def receive(self, released: Ints) -> None:
        """Learn from released sums."""


class ManyClasses:
    """Newton steps for a scale and intercepts, each no larger than its noise allows.

    The counts say how long margins are, and how frequent classes are. With an expectation of public
    numbers that is a first estimate. Sums at this estimate are further measurements. All are
    combined as normal laws are: where noise is large, little is corrected.

    Formal guarantees
    -----------------
    It is post-processing: a function of ``plan``, ``usual`` and the releases received. ``usual``
    must be a function of public numbers and earlier releases.
    """

    _least: float
    _at: Floats  # what the limit is corrected to, and the shifts
    _root: Floats  # its square is the precision of what is known: R.T @ R

    def __init__(self, plan: CorrectionPlan, usual: Usual, counts: Ints) -> None:
        self._plan, noise = plan, plan.count_sigma / GRAINS
        found = (counts + 0.5) / GRAINS
        lengths, classes = found[: len(LENGTHS)], found[len(LENGTHS) :]
        seen = np.where(lengths > SEEN_FROM * noise, lengths, 0.0)
        square = LENGTHS.middles**2 + LENGTHS.variances
        length = math.sqrt(float(seen @ square) / float(seen.sum())) if seen.any() else 1.0
        self._limit = REACH_OF_LENGTHS * max(length, LEAST_LENGTH) * usual.margin
        rows = np.clip(classes, 0.1 * plan.n_rows / plan.outputs, float(plan.n_rows))
        shares = rows / rows.sum()
        self._bends = CONFIDENT * plan.n_rows * shares * (1.0 - shares)  # of the intercepts
        self._expect(usual.scale * self._limit, usual.off, usual.shift_off)

    @property
    def at(self) -> Place:
        return Place(0.0, self._limit, max(self._at[0], self._least), self._at[1:].copy())

    @property
    def correction(self) -> Correction:
        """The scale and the shifts that follow from the releases so far."""
        at = self.at
        shifts = at.shifts if self._plan.moves_intercept else np.zeros(len(at.shifts))
        return Correction(at.spread / self._limit, shifts)

    @property
    def spreads(self) -> Floats:
        """The values of a margin at the limit for which slopes are released."""
        usual = USUAL_LENGTH * math.sqrt(2.0 * (self._plan.outputs - 1))
        return REACH_OF_LENGTHS * usual * PARTS

    def receive_slopes(self, released: Ints) -> None:
        """Start where released slopes cross 0."""
        plan, spreads = self._plan, self.spreads
        slopes, noise = (released + 0.5) / UNIT, plan.slope_sigma / UNIT
        spread = _crossing(spreads, slopes, noise)
        # Intercepts must not hide what margins say.
        margin = spread / (REACH_OF_LENGTHS * math.sqrt(plan.outputs))
        shift_off = min(SHIFT_OFF_OF_CLASSES, SHIFT_PER_MARGIN * margin)
        self._expect(spread, LENGTH_OFF, shift_off)

    def receive(self, released: Ints) -> None:
        """Take a step along released sums."""
        sums, noise = (released + 0.5) / UNIT, self._plan.step_sigma / UNIT
        slope = np.append(sums[0], sums[2:])
        own = _shrunk(sums[1] / CLASS_WEIGHT, noise / CLASS_WEIGHT)
        bend = np.diagflat(np.append(own, self._bends))
        here = np.append(self.at.spread, self._at[1:])
        # Least squares by an orthogonal matrix: a squared curvature would lose half of the digits.
        turned, self._root = np.linalg.qr(np.vstack([self._root, bend / noise]))
        known = np.append(np.zeros(len(here)), slope / noise)
        self._at = here - solve_triangular(self._root, turned.T @ known)

    def _expect(self, spread: float, off: float, shift_off: float) -> None:
        """Expect this spread and no shifts, up to these errors."""
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
