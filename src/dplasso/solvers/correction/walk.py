"""What the releases of a correction say: a scale and intercepts. It never sees rows."""

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import expit

from dplasso.base.arrays import Floats, Ints
from dplasso.kernels.calibration import CLASS_WEIGHT, TWO_CLASS_WEIGHT, UNIT
from dplasso.solvers.calibration import Correction
from dplasso.solvers.correction.bins import LENGTHS, MARGINS
from dplasso.solvers.correction.plan import GRAINS, SPREADS, CorrectionPlan

# Counts below this many standard deviations of their noise are taken for noise.
SEEN_FROM = 3.0
# Share of the rows that the other counts must hold, or none of them is used.
COVERED = 0.5
# Margins are cut at this many spreads from their centre; for more than two classes, at this many
# usual lengths.
REACH, REACH_OF_LENGTHS = 3.0, 2.0
# Least spread of margins, and their spread if nothing is seen, in usual ones.
LEAST_SPREAD, UNSEEN_SPREAD = 0.25, 1.0
# How far the solver's intercept may be off; beyond FARTHEST it is not trusted.
SHIFT_OFF, FARTHEST = 0.4, 3.0
# Length to which margins of more than two classes are expected to be corrected if the signal is
# clear, over sqrt(2 (classes - 1)), and in these parts of that slopes are released. How far the
# length that they lead to may be off, relatively, and how far every intercept, at most and over a
# class's usual margin.
USUAL_LENGTH, LENGTH_OFF, SHIFT_OFF_OF_CLASSES, SHIFT_PER_MARGIN = 1.5, 0.3, 0.5, 0.3
PARTS: Floats = np.exp2(np.arange(SPREADS) - 5.0)
# An intercept that must not move is trusted to this.
FIXED = 1e-6
# Least scale, relative to the usual one: the order of predictions never turns around.
LEAST_SCALE = 0.05
# Curvature of intercepts of more than two classes, relative to that of a model without columns.
CONFIDENT = 0.7
# A slope of more standard deviations of its noise than this has a known sign.
CLEAR_SLOPE = 0.5
# A count is read as at least minus this many standard deviations of its noise.
BELOW = 2.0
# Most Newton steps of the first estimate, which ends where margins move by no more than TINY.
ITERATIONS, TINY = 1000, 1e-14


class Usual(NamedTuple):
    """What margins of a solver usually are: their spread, and the scale that corrects them.

    ``off`` is how far that scale may be off, relative to it.
    """

    margin: float
    scale: float
    off: float


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
        """Corrected margins are ``scale`` times the margins, plus ``shifts``."""
        scale = self.at.spread / self._limit
        shifts = self._at[1:] - scale * self._centre
        return Correction(scale, shifts if self._plan.moves_intercept else np.zeros(len(shifts)))

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
        self._least, self._at[0] = LEAST_SCALE * spread, spread
        # Intercepts must not hide what margins say.
        margin = spread / (REACH_OF_LENGTHS * math.sqrt(plan.outputs))
        shift = min(SHIFT_OFF_OF_CLASSES, SHIFT_PER_MARGIN * margin)
        shift = shift if plan.moves_intercept else FIXED
        off = np.append(LENGTH_OFF * spread, np.full(plan.outputs, shift))
        self._root = np.diag(1.0 / off)

    def receive(self, released: Ints) -> None:
        """Take a step along released sums."""
        sums, noise = (released + 0.5) / UNIT, self._plan.step_sigma / UNIT
        if self._plan.outputs == 1:
            slope, bends = sums[:2], sums[2:] / TWO_CLASS_WEIGHT
            first, second = (_shrunk(bends[k], noise / TWO_CLASS_WEIGHT) for k in (0, 2))
            across = math.copysign(min(abs(bends[1]), math.sqrt(first * second)), bends[1])
            bend = np.array([[first, across], [across, second]])
        else:
            slope = np.append(sums[0], sums[2:])
            own = _shrunk(sums[1] / CLASS_WEIGHT, noise / CLASS_WEIGHT)
            bend = np.diagflat(np.append(own, self._bends))
        here = np.append(self.at.spread, self._at[1:])
        # Least squares by an orthogonal matrix: a squared curvature would lose half of the digits.
        turned, self._root = np.linalg.qr(np.vstack([self._root, bend / noise]))
        known = np.append(np.zeros(len(here)), slope / noise)
        self._at = here - solve_triangular(self._root, turned.T @ known)

    def _start(self, counts: Floats, noise: float, usual: Usual) -> None:
        """First estimate for two classes; ``counts`` is labels x bins."""
        moves = self._plan.moves_intercept
        seen = counts.sum(axis=0) > SEEN_FROM * math.sqrt(2.0) * noise
        seen &= counts[:, seen].sum() > COVERED * self._n  # a few bins would lead astray
        counts, middles = counts[:, seen], MARGINS.middles[seen]
        centre, spread = 0.0, UNSEEN_SPREAD
        if seen.any():
            shares = counts.sum(axis=0) / counts.sum()
            centre = float(shares @ middles) if moves else 0.0
            square = float(shares @ ((middles - centre) ** 2 + MARGINS.variances[seen]))
            spread = max(math.sqrt(square), LEAST_SPREAD)
        self._centre, self._limit = centre * usual.margin, REACH * spread * usual.margin
        self._least = LEAST_SCALE * usual.scale * self._limit
        # The usual scale, and the solver's own intercept unless it is far off.
        own = min(max(usual.scale * self._centre, -FARTHEST), FARTHEST)
        expected = np.array([usual.scale * self._limit, own])
        # A margin of 0 is expected to stay near 0, whatever the scale: the shift goes with it.
        scale_off, shift_off = usual.off * expected[0], SHIFT_OFF if moves else FIXED
        off = np.array([[scale_off, 0.0], [scale_off * own / expected[0], shift_off]])
        places = np.clip((middles - centre) / (REACH * spread), -1.0, 1.0)
        self._at, self._root = _fitted(counts, places, noise, expected, off)

    def _start_of_classes(
        self, lengths: Floats, classes: Floats, noise: float, usual: Usual
    ) -> None:
        """First estimate for more classes: how long margins are, and how frequent classes are."""
        plan = self._plan
        seen = np.where(lengths > SEEN_FROM * noise, lengths, 0.0)
        square = LENGTHS.middles**2 + LENGTHS.variances
        length = UNSEEN_SPREAD
        if seen.any():
            length = max(math.sqrt(float(seen @ square) / float(seen.sum())), LEAST_SPREAD)
        self._limit, self._least = REACH_OF_LENGTHS * length * usual.margin, 0.0
        self._at, self._root = np.zeros(1 + plan.outputs), np.eye(1 + plan.outputs)
        rows = np.clip(classes, 0.1 * self._n / plan.outputs, float(self._n))
        shares = rows / rows.sum()
        self._bends = CONFIDENT * self._n * shares * (1.0 - shares)


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


def _fitted(
    counts: Floats, places: Floats, noise: float, expected: Floats, off: Floats
) -> tuple[Floats, Floats]:
    """Spread and intercept that fit noisy counts (labels x places), and a root of their precision.

    It is a logistic regression with a normal prior: ``expected`` counts as a measurement whose
    errors are ``off``, a matrix, times standard normal numbers. A place weighs as much as the noise
    of its counts leaves of it, and never more than its rows. That is judged by the expected share
    of labels: weights that follow the counted share make probabilities too cautious.

    The loss is strictly convex. Steps are damped by how far they move the largest margin: with this
    damping Newton's method converges from anywhere for losses whose third derivative is bounded by
    the second, as the logistic one's is (Sun and Tran-Dinh, 2019, *Generalized self-concordant
    functions*). So the result does not hang on how sums are rounded.
    """
    rows = np.stack([places, np.ones(len(places))], axis=1) @ off
    start, totals = expected[0] * places + expected[1], counts.sum(axis=0)
    # Noise takes counts below 0, but hardly farther than this.
    ones = np.clip(counts[1], -BELOW * noise, totals + BELOW * noise)
    q = expit(start)
    weights = np.minimum(totals * q * (1.0 - q) / (noise**2 * (q**2 + (1.0 - q) ** 2)), 1.0)
    at: Floats = np.zeros(2)
    root: Floats = np.eye(2)
    for _ in range(ITERATIONS):
        q = expit(start + rows @ at)
        slope = at + (weights * (q * totals - ones)) @ rows
        bends = rows * np.sqrt(weights * totals * q * (1.0 - q))[:, None]
        root = np.asarray(np.linalg.qr(np.vstack([np.eye(2), bends]), mode="r"))
        step = solve_triangular(root, solve_triangular(root, slope, trans="T"))
        farthest = float(np.max(np.abs(rows @ step), initial=TINY))
        at = at - step * (math.log1p(farthest) / farthest)
        if farthest <= TINY:
            break
    return expected + off @ at, root @ np.linalg.inv(off)
