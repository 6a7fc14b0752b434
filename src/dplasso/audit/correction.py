"""The correction of probabilities in plain numpy: its sensitivities, sums and conclusions.

It follows every fit to classes whose loss has probabilities. There are three releases: counts of
rows by margin and class, and two sums. If the scale of more than two classes is searched, which
the table solver does not need, the first of these is of slopes at several spreads.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from scipy.special import expit, ndtr, softmax

from dplasso.audit.reference import LOGISTIC, SOFTMAX, Claim
from dplasso.base.arrays import Floats, Ints

SHARE = 0.05  # of mu^2, or of rho
RELEASES = 3
UNIT = 2.0**24  # a row in a count, and a term of 1 in a sum
_BEND, _BEND_OF_CLASSES = 2.7, 1.0
_ENDS = 2.0 ** (np.arange(-4, 9) / 2.0)
_LENGTHS = 2.0 ** (np.arange(-8, 9) / 2.0)
_PARTS = 2.0 ** np.arange(-5.0, 3.0)  # of the usual length, at which slopes are released
_MOST = 2.0**55  # largest number of a forged release


def is_corrected(claim: Claim) -> bool:
    """Whether a fit is corrected."""
    return claim.loss in (LOGISTIC, SOFTMAX)


def solver_share(claim: Claim) -> float:
    """Share of rho, after a bound on entries, that a correction leaves."""
    return 1.0 - SHARE if is_corrected(claim) else 1.0


def sensitivity(place: int, claim: Claim, searches: bool = True) -> float:
    """Sensitivity of a release, in units: first of the counts, then of the sums.

    A row is in one count, of more than two classes in two, and a replaced row leaves as many. The
    terms of a sum have a squared length of at most 2, of more classes 2 * 2 + 1 / 4. A slope is at
    most sqrt(2). All of it holds once per row that a person counts as.
    """
    if place == 0:
        counted = 1.0 if claim.outputs == 1 else 2.0
        return claim.rows_per_person * math.sqrt(counted * claim.rows_changed)
    slopes = place == 1 and searches
    square = 2.0 * len(_PARTS) if slopes else 4.25
    longest = math.sqrt(2.0 if claim.outputs == 1 else square)
    return claim.rows_per_person * claim.rows_changed * longest


def forged(claim: Claim, n_rows: int, rng: np.random.Generator) -> list[Ints]:
    """Releases that no data would give: margins anywhere or all near 0, huge and tiny scales."""
    bins = 2 * (2 * len(_ENDS) + 1) if claim.outputs == 1 else len(_LENGTHS) + 1 + claim.outputs
    counts = rng.normal(size=bins) * (rng.random(bins) < 0.3) * n_rows
    if rng.random() < 0.5:  # all margins in the bin around 0: most rows lie beyond the limit
        counts = np.where(np.arange(bins) == len(_ENDS), 1.0, 0.0) * n_rows
    places = (5, 5) if claim.outputs == 1 else (len(_PARTS), claim.outputs + 2)
    sums = [rng.normal(size=size) * 10.0 ** rng.uniform(-3.0, 3.0) * n_rows for size in places]
    return [np.clip(one * UNIT, -_MOST, _MOST).astype(np.int64) for one in (counts, *sums)]


@dataclass(kw_only=True)
class Reference:
    """What is concluded from the releases of a correction, one after the other.

    ``margin`` to ``shift_off`` are what margins of a solver usually are. No guarantee rests on
    them, nor on ``n_rows``. ``searches`` says whether slopes at several spreads are released.
    """

    claim: Claim
    n_rows: int
    margin: float
    scale: float
    off: float
    spread: float = 3.0
    noise: float = 0.0
    shift_off: float = 0.4
    moves: bool
    searches: bool = True
    sigmas: tuple[float, float, float]
    centre: float = 0.0
    limit: float = 1.0
    least: float = 0.0
    at: Floats = field(default_factory=lambda: np.zeros(2))
    known: Floats = field(default_factory=lambda: np.eye(2))
    bends: Floats = field(default_factory=lambda: np.zeros(0))
    places: Floats = field(default_factory=lambda: np.zeros(0))
    likely: Floats = field(default_factory=lambda: np.zeros(0))

    def numbers(self, place: int) -> int:
        """How many numbers a release has."""
        outputs = self.claim.outputs
        if place == 0:
            return 2 * (2 * len(_ENDS) + 1) if outputs == 1 else len(_LENGTHS) + 1 + outputs
        return 5 if outputs == 1 else len(_PARTS) if self._slopes_at(place) else outputs + 2

    def _slopes_at(self, place: int) -> bool:
        return place == 1 and self.searches and self.claim.outputs > 1

    def exact(self, margins: Floats, y: Floats, copies: Floats, place: int) -> Floats:
        """The next release without noise; ``margins`` is rows x outputs."""
        if self._slopes_at(place):
            return self._slopes(margins, y, copies)
        return self._counts(margins, y, copies) if place == 0 else self._sums(margins, y, copies)

    def receive(self, released: Floats, place: int) -> None:
        """Take a release; it was rounded down, and is read as the middle of its cell."""
        found = (released + 0.5) / UNIT
        noise, two = self.sigmas[place] / UNIT, self.claim.outputs == 1
        if place == 0:
            self._start(found.reshape(2, -1), noise) if two else self._measure(found, noise)
        elif self._slopes_at(place):
            self._start_of_classes(found, noise)
        else:
            self._step(found, noise)

    def result(self) -> tuple[float, Floats]:
        """The scale and the shifts of margins."""
        scale = max(self.at[0], self.least) / self.limit
        shifts = self.at[1:] - scale * self.centre
        return float(scale), shifts if self.moves else np.zeros_like(shifts)

    def _counts(self, margins: Floats, y: Floats, copies: Floats) -> Floats:
        if self.claim.outputs == 1:
            ends = self.margin * np.concatenate([-_ENDS[::-1], _ENDS])
            place = (margins[:, :1] > ends).sum(axis=1) + (len(ends) + 1) * y.astype(np.int64)
            return np.asarray(UNIT * np.bincount(place, copies, 2 * (len(ends) + 1)), np.float64)
        length = np.linalg.norm(margins - margins.mean(axis=1, keepdims=True), axis=1)
        place = (length[:, None] > self.margin * _LENGTHS).sum(axis=1)
        lengths = np.bincount(place, copies, len(_LENGTHS) + 1)
        classes = np.bincount(y.astype(np.int64), copies, self.claim.outputs)
        return UNIT * np.concatenate([lengths, classes])

    @property
    def _spreads(self) -> Floats:
        return 3.0 * math.sqrt(2.0 * (self.claim.outputs - 1)) * _PARTS

    def _slopes(self, margins: Floats, y: Floats, copies: Floats) -> Floats:
        t = self._cut(margins)
        found = []
        for spread in self._spreads:
            r = softmax(spread * t, axis=1) - (y[:, None] == np.arange(t.shape[1]))
            found.append(UNIT * copies @ np.sum(r * t, axis=1))
        return np.array(found)

    def _cut(self, margins: Floats) -> Floats:
        t = (margins - margins.mean(axis=1, keepdims=True)) / self.limit
        cut: Floats = t / np.maximum(np.linalg.norm(t, axis=1, keepdims=True), 1.0)
        return cut

    def _sums(self, margins: Floats, y: Floats, copies: Floats) -> Floats:
        spread, shifts = max(self.at[0], self.least), self.at[1:]
        if self.claim.outputs == 1:
            t = np.clip((margins[:, 0] - self.centre) / self.limit, -1.0, 1.0)
            q = expit(spread * t + shifts[0])
            r, h = q - y, _BEND * q * (1.0 - q)
            found: Floats = UNIT * copies @ np.stack([r * t, r, h * t * t, h * t, h], axis=1)
            return found
        t = self._cut(margins)
        q = softmax(spread * t + shifts, axis=1)
        r = q - (y[:, None] == np.arange(q.shape[1]))
        bend = _BEND_OF_CLASSES * (np.sum(q * t**2, axis=1) - np.sum(q * t, axis=1) ** 2)
        return UNIT * copies @ np.column_stack([np.sum(r * t, axis=1), bend, r])

    def _start(self, counts: Floats, noise: float) -> None:
        top = 2.0**4.5
        low = np.concatenate([[-top], -_ENDS[::-1], _ENDS])
        high = np.append(low[1:], top)
        middle, counted, wide = (low + high) / 2.0, counts.sum(axis=0), math.sqrt(2.0) * noise
        likely = _likely(counted, wide, self.n_rows, self.spread / self.margin)
        share = likely / likely.sum()
        centre = float(share @ middle) if self.moves else 0.0
        variance = share @ ((middle - centre) ** 2 + (high - low) ** 2 / 12.0)
        spread = max(math.sqrt(variance), 0.1 * self.spread / self.margin)
        scale = self.scale * max(1.0 - (self.noise / self.margin / spread) ** 2, 0.1)
        reach = min(3.0 * spread, abs(centre) + 5.0 / scale / self.margin)
        self.centre, self.limit = centre * self.margin, reach * self.margin
        self.least = 0.05 * scale * self.limit
        own = float(np.clip(scale * self.centre, -3.0, 3.0))
        start = np.array([scale * self.limit, own])
        # A margin of 0 stays near 0 at any scale: the second row of errors follows the first.
        own_off = math.hypot(self.shift_off, 0.35 * max(abs(own) - 1.0, 0.0))
        own_off = own_off if self.moves else 1e-6
        off = np.array([[self.off * start[0], 0.0], [self.off * own, own_off]])
        self.places, self.likely = np.clip((middle - centre) / reach, -1.0, 1.0), likely
        total = np.clip(likely, counted - wide, counted + wide).clip(0.0)
        rows = np.column_stack([self.places, np.ones(len(middle))]) @ off
        first = start[0] * self.places + start[1]
        ones = np.clip((total + counts[1] - counts[0]) / 2.0, -2.0 * noise, total + 2.0 * noise)
        moved, weight = np.zeros(2), np.ones(len(middle))
        for _ in range(2):
            even = expit(first + rows @ moved) * expit(-first - rows @ moved)
            weight = np.minimum(total * even / (noise**2 * (1.0 - 2.0 * even)), weight)
            moved, bends = _least(rows, first, weight * total, weight * ones)
        self.at, self.known = start + off @ moved, bends @ np.linalg.inv(off)

    def _measure(self, counts: Floats, noise: float) -> None:
        lengths, classes = np.split(counts, [len(_LENGTHS) + 1])
        low, high = np.append(0.0, _LENGTHS), np.append(_LENGTHS, 2.0**4.5)
        square = ((low + high) / 2.0) ** 2 + (high - low) ** 2 / 12.0
        seen = np.where(lengths > 3.0 * noise, lengths, 0.0)
        length = max(math.sqrt(seen @ square / seen.sum()), 0.25) if seen.any() else 1.0
        self.limit = 2.0 * length * self.margin
        rows = np.clip(classes, 0.1 * self.n_rows / len(classes), self.n_rows)
        self.bends = 0.7 * self.n_rows * rows / rows.sum() * (1.0 - rows / rows.sum())
        self._expect(self.scale * self.limit, self.off, self.shift_off)

    def _start_of_classes(self, slopes: Floats, noise: float) -> None:
        unclear = np.append(np.flatnonzero(slopes[:-1] >= -0.5 * noise), len(slopes) - 1)
        at, spreads = int(unclear[0]), self._spreads
        spread = float(spreads[at])
        if at and slopes[at] > 0.0:
            way = slopes[at - 1] / (slopes[at - 1] - slopes[at])
            spread = float(spreads[at - 1] ** (1.0 - way) * spreads[at] ** way)
        self._expect(spread, 0.3, min(0.5, 0.15 * spread / math.sqrt(len(self.bends))))

    def _expect(self, spread: float, off: float, shift_off: float) -> None:
        """Start more than two classes at a spread, without shifts."""
        self.least, self.at = 0.05 * spread, np.append(spread, np.zeros(len(self.bends)))
        shifts_off = np.full(len(self.bends), shift_off if self.moves else 1e-6)
        self.known = np.diag(1.0 / np.append(off * spread, shifts_off))

    def _step(self, sums: Floats, noise: float) -> None:
        if self.claim.outputs == 1:
            found = self._bends_of_two(sums[2:] / _BEND, noise / _BEND)
            first, second = max(found[0], 0.0), max(found[2], 0.0)
            across = float(np.clip(found[1], -math.sqrt(first * second), math.sqrt(first * second)))
            slope, bend = sums[:2], np.array([[first, across], [across, second]])
        else:
            slope = np.delete(sums, 1)
            own = _less(sums[1] / _BEND_OF_CLASSES, noise / _BEND_OF_CLASSES)
            bend = np.diagflat(np.append(own, self.bends))
        here = np.append(max(self.at[0], self.least), self.at[1:])
        # ``known`` are equations with errors of 1: one more for each sum, by its noise.
        self.known = np.vstack([self.known, bend / noise])
        right = np.append(np.zeros(len(self.known) - len(slope)), slope / noise)
        self.at = here - np.linalg.lstsq(self.known, right, rcond=-1)[0]

    def _bends_of_two(self, measured: Floats, noise: float) -> Floats:
        """Measured curvatures, and those of the likely rows as far as noise hides the measured."""
        even = expit(max(self.at[0], self.least) * self.places + self.at[1])
        weights = self.likely * even * (1.0 - even)
        counted = np.array([weights @ self.places**k for k in (2, 1, 0)])
        sizes = np.maximum(counted, np.abs(measured))
        off = 0.3 * np.array([sizes[0], sizes[2], sizes[2]])
        found: Floats = (noise**2 * counted + off**2 * measured) / (noise**2 + off**2)
        return found


def _likely(counted: Floats, noise: float, n_rows: float, usual: float) -> Floats:
    """Rows in each bin: as counted, or by the mean of all bell curves where noise hides them."""
    curves, unusual = _curves(n_rows, usual)
    fits = (curves @ counted - np.sum(curves**2, axis=1) / 2.0) / noise**2 - unusual
    curve = softmax(fits) @ curves
    found = np.where(counted > 4.0 * noise, counted, np.minimum(curve, (counted + noise).clip(0.0)))
    return found if found.any() else curve


@cache
def _curves(n_rows: float, usual: float) -> tuple[Floats, Floats]:
    """Bell curves of rows in all bins, and how unusual each is."""
    ends, unusual, curves = np.concatenate([-_ENDS[::-1], _ENDS]), [], []
    for width in usual * 2.0 ** (np.arange(-12, 13) / 4.0):
        for middle in max(width, usual) * np.arange(-8.0, 8.25, 0.25):
            below = ndtr((ends - middle) / width)
            curves.append(n_rows * np.diff(below, prepend=0.0, append=1.0))
            far = math.log(1.0 + (middle / (1.5 * usual)) ** 2)
            unusual.append((math.log(width / usual) / 0.6) ** 2 / 2.0 + far)
    return np.array(curves), np.array(unusual)


def log_ratios(
    released: list[Floats],
    margins: tuple[Floats, Floats],
    rows: tuple[tuple[Floats, Floats], tuple[Floats, Floats]],
    start: Callable[[], Reference],
) -> tuple[Floats, Floats]:
    """Log-likelihood ratios of the releases of many runs, and the squared distance of the laws.

    ``released`` are runs x numbers; ``margins``, of the two tables, runs x rows x outputs; ``rows``
    are labels and counts of the rows of either table.
    """
    runs = len(released[0])
    ratios, squares = np.zeros(runs), np.zeros(runs)
    for run in range(runs):
        course = start()
        for place, release in enumerate(released):
            there, gone = (
                course.exact(of_table[run], *own, place)
                for of_table, own in zip(margins, rows, strict=True)
            )
            sigma = course.sigmas[place]
            apart = (there - gone) / sigma
            ratios[run] += apart @ (release[run] + 0.5 - 0.5 * (there + gone)) / sigma
            squares[run] += apart @ apart
            course.receive(release[run], place)
    return ratios, squares


def _least(rows: Floats, first: Floats, totals: Floats, ones: Floats) -> tuple[Floats, Floats]:
    """The least regularised logistic loss, by Newton steps halved until it falls.

    A matrix A is returned with it, one row per equation, so that A.T @ A is the curvature there.
    """

    def loss(at: Floats) -> float:
        margins = first + rows @ at
        return float(0.5 * at @ at + totals @ np.logaddexp(0.0, margins) - ones @ margins)

    at, bends = np.zeros(2), np.eye(2)
    for _ in range(1000):
        q = expit(first + rows @ at)
        bends = np.vstack([np.eye(2), rows * np.sqrt(totals * q * (1.0 - q))[:, None]])
        step = np.linalg.solve(bends.T @ bends, at + rows.T @ (totals * q - ones))
        # Once steps are small, rounding hides whether the loss falls, and whole steps converge.
        while np.abs(step).max() > 1e-5 and loss(at - step) > loss(at):
            step = step / 2.0
        at = at - step
        if np.abs(step).max() <= 1e-14:
            break
    return at, bends


def _less(bend: float, noise: float) -> float:
    """A curvature less what its noise explains."""
    return max(bend - noise**2 / bend, 0.0) if bend > 0.0 else 0.0
