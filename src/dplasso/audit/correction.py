"""The correction of probabilities in plain numpy: its sensitivities, sums and conclusions.

It follows every fit to classes whose loss has probabilities, except those of the table solver,
which has its own. There are three releases: counts of rows by margin and class, and two sums. Of
more than two classes the first of these is of slopes at several spreads.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit, softmax

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
    """Whether a fit by another solver than the table's is corrected."""
    return claim.loss in (LOGISTIC, SOFTMAX)


def solver_share(claim: Claim) -> float:
    """Share of rho, after a bound on entries, that a correction leaves."""
    return 1.0 - SHARE if is_corrected(claim) else 1.0


def sensitivity(place: int, claim: Claim) -> float:
    """Sensitivity of a release, in units: first of the counts, then of the sums.

    A row is in one count, of more than two classes in two, and a replaced row leaves as many. The
    terms of a sum have a squared length of at most 2, of more classes 2 * 2 + 1 / 4. A slope is at
    most sqrt(2).
    """
    if place == 0:
        return math.sqrt((1.0 if claim.outputs == 1 else 2.0) * claim.rows_changed)
    if claim.outputs == 1:
        return claim.rows_changed * math.sqrt(2.0)
    return claim.rows_changed * math.sqrt(2.0 * len(_PARTS) if place == 1 else 4.25)


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

    ``margin``, ``scale`` and ``off`` are what margins of a solver usually are. No guarantee rests
    on them, nor on ``n_rows``.
    """

    claim: Claim
    n_rows: int
    margin: float
    scale: float
    off: float
    moves: bool
    sigmas: tuple[float, float, float]
    centre: float = 0.0
    limit: float = 1.0
    least: float = 0.0
    at: Floats = field(default_factory=lambda: np.zeros(2))
    known: Floats = field(default_factory=lambda: np.eye(2))
    bends: Floats = field(default_factory=lambda: np.zeros(0))

    def exact(self, margins: Floats, y: Floats, copies: Floats, place: int) -> Floats:
        """The next release without noise; ``margins`` is rows x outputs."""
        if place == 1 and self.claim.outputs > 1:
            return self._slopes(margins, y, copies)
        return self._counts(margins, y, copies) if place == 0 else self._sums(margins, y, copies)

    def receive(self, released: Floats, place: int) -> None:
        """Take a release; it was rounded down, and is read as the middle of its cell."""
        found = (released + 0.5) / UNIT
        noise, two = self.sigmas[place] / UNIT, self.claim.outputs == 1
        if place == 0:
            self._start(found.reshape(2, -1), noise) if two else self._measure(found, noise)
        elif place == 1 and not two:
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
        seen = counts.sum(axis=0) > 3.0 * math.sqrt(2.0) * noise
        if counts[:, seen].sum() <= 0.5 * self.n_rows:
            seen[:] = False
        counts, low, high = counts[:, seen], low[seen], high[seen]
        middle, centre, spread = (low + high) / 2.0, 0.0, 1.0
        if seen.any():
            share = counts.sum(axis=0) / counts.sum()
            centre = float(share @ middle) if self.moves else 0.0
            variance = share @ ((middle - centre) ** 2 + (high - low) ** 2 / 12.0)
            spread = max(math.sqrt(variance), 0.25)
        self.centre, self.limit = centre * self.margin, 3.0 * spread * self.margin
        self.least = 0.05 * self.scale * self.limit
        own = float(np.clip(self.scale * self.centre, -3.0, 3.0))
        start = np.array([self.scale * self.limit, own])
        # A margin of 0 stays near 0 at any scale: the second row of errors follows the first.
        own_off = 0.4 if self.moves else 1e-6
        off = np.array([[self.off * start[0], 0.0], [self.off * own, own_off]])
        t = np.clip((middle - centre) / (3.0 * spread), -1.0, 1.0)
        rows, total = np.column_stack([t, np.ones_like(t)]) @ off, counts.sum(axis=0)
        first = start[0] * t + start[1]
        even = expit(first) * expit(-first)
        weight = np.minimum(total * even / (noise**2 * (1.0 - 2.0 * even)), 1.0)
        ones = np.clip(counts[1], -2.0 * noise, total + 2.0 * noise)
        moved, bends = _least(rows, first, weight * total, weight * ones)
        self.at, self.known = start + off @ moved, bends @ np.linalg.inv(off)

    def _measure(self, counts: Floats, noise: float) -> None:
        lengths, classes = np.split(counts, [len(_LENGTHS) + 1])
        low, high = np.append(0.0, _LENGTHS), np.append(_LENGTHS, 2.0**4.5)
        square = ((low + high) / 2.0) ** 2 + (high - low) ** 2 / 12.0
        seen = np.where(lengths > 3.0 * noise, lengths, 0.0)
        length = max(math.sqrt(seen @ square / seen.sum()), 0.25) if seen.any() else 1.0
        self.limit, self.at = 2.0 * length * self.margin, np.zeros(1 + len(classes))
        rows = np.clip(classes, 0.1 * self.n_rows / len(classes), self.n_rows)
        self.bends = 0.7 * self.n_rows * rows / rows.sum() * (1.0 - rows / rows.sum())

    def _start_of_classes(self, slopes: Floats, noise: float) -> None:
        unclear = np.append(np.flatnonzero(slopes[:-1] >= -0.5 * noise), len(slopes) - 1)
        at, spreads = int(unclear[0]), self._spreads
        spread = float(spreads[at])
        if at and slopes[at] > 0.0:
            way = slopes[at - 1] / (slopes[at - 1] - slopes[at])
            spread = float(spreads[at - 1] ** (1.0 - way) * spreads[at] ** way)
        self.least, self.at[0] = 0.05 * spread, spread
        shift = min(0.5, 0.15 * spread / math.sqrt(len(self.bends))) if self.moves else 1e-6
        off = np.append(0.3 * spread, np.full(len(self.bends), shift))
        self.known = np.diag(1.0 / off)

    def _step(self, sums: Floats, noise: float) -> None:
        if self.claim.outputs == 1:
            first, second = (_less(sums[k] / _BEND, noise / _BEND) for k in (2, 4))
            most = math.sqrt(first * second)
            across = float(np.clip(sums[3] / _BEND, -most, most))
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
