"""The correction of probabilities in plain numpy: its sensitivities, sums and conclusions.

It follows every fit to classes whose loss has probabilities. There are three releases: counts of
rows by margin and class, and two sums. If the scale of more than two classes is searched, which
the table solver does not need, the first of these is of slopes at several spreads.
"""

import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from scipy.special import expit, ndtr, softmax

from dplasso.audit.reference import LOGISTIC, SOFTMAX, Claim
from dplasso.base.arrays import Floats, Ints

SHARE = 0.05  # of mu^2, or of rho
RELEASES = 3
UNIT = 2.0**24  # a row in a count, and a term of 1 in a sum
_BEND_OF_CLASSES = 1.0
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
    places = (2, 2) if claim.outputs == 1 else (len(_PARTS), claim.outputs + 2)
    sums = [rng.normal(size=size) * 10.0 ** rng.uniform(-3.0, 3.0) * n_rows for size in places]
    return [np.clip(one * UNIT, -_MOST, _MOST).astype(np.int64) for one in (counts, *sums)]


@dataclass(kw_only=True)
class Reference:
    """What is concluded from the releases of a correction, one after the other.

    ``margin`` to ``farthest`` are what margins of a solver usually are. No guarantee rests on
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
    farthest: float = 3.0
    moves: bool
    searches: bool = True
    sigmas: tuple[float, float, float]
    limit: float = 1.0
    least: float = 0.0
    at: Floats = field(default_factory=lambda: np.zeros(2))
    known: Floats = field(default_factory=lambda: np.eye(2))
    bends: Floats = field(default_factory=lambda: np.zeros(0))
    law: "Law | None" = None  # of two classes

    def numbers(self, place: int) -> int:
        """How many numbers a release has."""
        outputs = self.claim.outputs
        if place == 0:
            return 2 * (2 * len(_ENDS) + 1) if outputs == 1 else len(_LENGTHS) + 1 + outputs
        return 2 if outputs == 1 else len(_PARTS) if self._slopes_at(place) else outputs + 2

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
            if two:
                self.law = Law(self, found.reshape(2, -1), noise)
            else:
                self._measure(found, noise)
        elif self._slopes_at(place):
            self._start_of_classes(found, noise)
        else:
            self._step(found, noise)

    def result(self) -> tuple[float, Floats]:
        """The scale and the shifts of margins."""
        if self.law is not None:
            shift = self.law.shift - self.law.used * self.law.centre if self.moves else 0.0
            return self.law.used, np.array([shift])
        scale = max(self.at[0], self.least) / self.limit
        shifts = self.at[1:]
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
        if self.law is not None:
            t = self.law.cut(margins[:, 0] - self.law.centre)
            r = expit(self.law.used * self.law.limit * t + self.law.shift) - y
            found: Floats = UNIT * copies @ np.stack([r * t, r], axis=1)
            return found
        spread, shifts = max(self.at[0], self.least), self.at[1:]
        t = self._cut(margins)
        q = softmax(spread * t + shifts, axis=1)
        r = q - (y[:, None] == np.arange(q.shape[1]))
        bend = _BEND_OF_CLASSES * (np.sum(q * t**2, axis=1) - np.sum(q * t, axis=1) ** 2)
        return UNIT * copies @ np.column_stack([np.sum(r * t, axis=1), bend, r])

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
        if self.law is not None:
            self.law = self.law.after(sums, noise)
            return
        slope = np.delete(sums, 1)
        own = _less(sums[1] / _BEND_OF_CLASSES, noise / _BEND_OF_CLASSES)
        bend = np.diagflat(np.append(own, self.bends))
        here = np.append(max(self.at[0], self.least), self.at[1:])
        # ``known`` are equations with errors of 1: one more for each sum, by its noise.
        self.known = np.vstack([self.known, bend / noise])
        right = np.append(np.zeros(len(self.known) - len(slope)), slope / noise)
        self.at = here - np.linalg.lstsq(self.known, right, rcond=-1)[0]


class Law:
    """What is known of the scale and the intercept of two classes: a mean over all of them."""

    def __init__(self, usual: Reference, counts: Floats, noise: float) -> None:
        top, unit = 2.0**4.5, usual.margin
        low = np.concatenate([[-top], -_ENDS[::-1], _ENDS])
        high = np.append(low[1:], top)
        counted, wide = counts.sum(axis=0), math.sqrt(2.0) * noise
        self._likely, widths, chances = _likely(counted, wide, usual.n_rows, usual.spread / unit)
        share = self._likely / self._likely.sum()
        middle = (low + high) / 2.0 * unit
        self.centre = float(share @ middle) if usual.moves else 0.0
        self._middle = middle - self.centre
        variance = share @ (self._middle**2 + ((high - low) * unit) ** 2 / 12.0)
        self._spread = max(math.sqrt(variance), 0.1 * usual.spread)
        signal = [max(1.0 - (usual.noise / unit / width) ** 2, 0.1) for width in widths]
        self._expected = usual.scale * float(np.dot(chances, signal))
        self._own = float(np.clip(self._expected * self.centre, -usual.farthest, usual.farthest))
        own_off = math.hypot(usual.shift_off, 0.35 * max(abs(self._own) - 1.0, 0.0))
        self._off = math.log(1.0 + usual.off), own_off if usual.moves else 1e-6
        self._rows = np.minimum(np.maximum(self._likely, counted - wide), counted + wide).clip(0.0)
        self._more, self._noise = counts[1] - counts[0], noise
        self._sums: list[tuple[float, float, float, Floats, float]] = []
        self._find()

    def _find(self) -> None:
        """The mean, on grids of 17 x 17 points, of which each is at most half as wide."""
        steps = np.arange(-8, 9) / 2.0
        grid = np.array([(first, second) for first in steps for second in steps])
        middle = np.array([math.log(self._expected), self._own])
        off = np.array([[self._off[0] + 1.0 / 3.0, 0.0], [self._own * self._off[0], self._off[1]]])
        for _ in range(14):
            chances = softmax(-self._unlikely(grid @ off.T + middle))
            mean = chances @ grid
            middle = middle + off @ mean
            sizes, axes = np.linalg.eigh(np.cov(grid.T, aweights=chances, bias=True))
            off = off @ axes @ np.diag(np.sqrt(np.maximum(sizes, 0.25))) @ axes.T
        self.shift = float(middle[1])
        highest = self._expected * math.exp(20.0)
        self.used = min(max(math.exp(min(middle[0], 700.0)), 0.1 * self._expected), highest)
        self.limit = min(3.0 * self._spread, abs(self.centre) + 5.0 / self.used)

    def cut(self, margins: Floats) -> Floats:
        """Margins, less the centre, over the limit, from -1 to 1."""
        found: Floats = np.minimum(np.maximum(margins / self.limit, -1.0), 1.0)
        return found

    def after(self, sums: Floats, noise: float) -> "Law":
        """What is known with sums of residuals at the present place, too."""
        found = copy(self)
        found._sums = [*self._sums, (self.used, self.shift, self.limit, sums, noise)]
        found._find()
        return found

    def _unlikely(self, points: Floats) -> Floats:
        times = points[:, 0] - math.log(self._expected)
        times = np.minimum(np.maximum(times, -20.0), 20.0)
        scale, shift = self._expected * np.exp(times)[:, None], points[:, 1:]
        narrow, broad = self._off[0], np.where(times <= 0.0, 1.0, 0.4)
        law = 0.85 / narrow * np.exp(-(times**2) / (2.0 * narrow**2))
        law = law + 0.15 / 0.7 * np.exp(-(times**2) / (2.0 * broad**2)) + 1e-300
        own = self._own * np.minimum(np.exp(times), 20.0)
        found = (points[:, 1] - own) ** 2 / (2.0 * self._off[1] ** 2) - np.log(law)
        q = expit(scale * self._middle + shift)
        spread = 4.0 * np.maximum(q * (1.0 - q), 1e-3) * self._rows
        spread = spread + 2.0 * self._noise**2 + 0.0025 * self._rows**2
        wrong = self._more - (2.0 * q - 1.0) * self._rows
        found = found + np.sum(wrong**2 / spread + np.log(spread), axis=1) / 2.0
        for used, at, limit, sums, noise in self._sums:
            t = np.minimum(np.maximum(self._middle / limit, -1.0), 1.0)
            there, q = expit(used * limit * t + at), expit(scale * limit * t + shift)
            for power, released in zip((1, 0), sums, strict=True):
                moved = np.sum((there - q) * self._likely * t**power, axis=1)
                sampled = np.sum(there * (1.0 - there) * self._likely * t ** (2 * power))
                spread = noise**2 + 0.0025 * moved**2 + sampled
                found = found + ((released - moved) ** 2 / spread + np.log(spread)) / 2.0
        result: Floats = found
        return result


def _likely(
    counted: Floats, noise: float, n_rows: float, usual: float
) -> tuple[Floats, Floats, Floats]:
    """Rows in each bin: as counted, or by the mean of all bell curves where noise hides them.

    The widths of the curves and their chances are returned with them.
    """
    curves, unusual, widths = _curves(n_rows, usual)
    fits = (curves @ counted - np.sum(curves**2, axis=1) / 2.0) / noise**2 - unusual
    chances = softmax(fits)
    curve = chances @ curves
    found = np.where(counted > 4.0 * noise, counted, np.minimum(curve, (counted + noise).clip(0.0)))
    return found if found.any() else curve, widths, chances


@cache
def _curves(n_rows: float, usual: float) -> tuple[Floats, Floats, Floats]:
    """Bell curves of rows in all bins, how unusual each is, and their widths."""
    ends, unusual, curves, widths = np.concatenate([-_ENDS[::-1], _ENDS]), [], [], []
    for width in usual * 2.0 ** (np.arange(-12, 13) / 4.0):
        for middle in max(width, usual) * np.arange(-8.0, 8.25, 0.25):
            below = ndtr((ends - middle) / width)
            curves.append(n_rows * np.diff(below, prepend=0.0, append=1.0))
            widths.append(width)
            far = math.log(1.0 + (middle / (1.5 * usual)) ** 2)
            unusual.append((math.log(width / usual) / 0.6) ** 2 / 2.0 + far)
    return np.array(curves), np.array(unusual), np.array(widths)


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


def _less(bend: float, noise: float) -> float:
    """A curvature less what its noise explains."""
    return max(bend - noise**2 / bend, 0.0) if bend > 0.0 else 0.0
