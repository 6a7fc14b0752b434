"""The table solver in plain numpy: its public numbers, sensitivities, sums and result.

It is one walk (`walk`): for every release it says how far a row may move it and what its exact sums
are, takes the released numbers, and continues. Cells, rows and sums are real numbers here; only
what the product rounds between two releases, a centre or a length, is rounded in the same way.
Weights that are dropped are left out: this is for fits that keep all of them.
"""

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dplasso.audit import correction
from dplasso.audit.reference import SQUARED, loss_gradients
from dplasso.audit.table.facts import Course, TableFacts, TableRows
from dplasso.audit.table.likely import james_stein, likely_mean, likely_share
from dplasso.audit.table.shape import Shape
from dplasso.base.arrays import Floats

CELL = 2.0**24  # whole number of a cell at the high end of its range, of a label, and of a term
CELLS, MEANS, SPREADS, LABELS = "cells", "means", "spreads", "labels"
PRODUCTS, STEPS, SIZES, PRESENCES = "products", "steps", "sizes", "presences"
COUNTED, CORRECTIONS = "counts by margin", "corrections"
CONSTANT = 0.3  # value of the intercept's column, for rows of length 1
_SIZES_AFTER = (0.25, 0.5)  # shares of the steps after which the size of residuals is released
N_SIZES, N_CORRECTIONS = len(_SIZES_AFTER), correction.RELEASES - 1


@dataclass(frozen=True)
class Expected:
    """The next release: how far one row, or a replaced row, moves it, and its exact sums.

    ``noise`` is the standard deviation of each of its numbers. For products it is smaller for
    those of two columns, which stand for two places of a symmetric matrix.
    """

    kind: str
    sensitivity: float
    noise: Floats
    sums: Callable[[TableRows], Floats]


Walk = Generator[Expected, Floats, tuple[Floats, Floats]]


def walk(course: Course, facts: TableFacts) -> Walk:
    """Yield all releases of a fit, and return weights and intercepts for entries as given."""
    return _Fit(course, facts).walk()


class _Fit:
    """The state of one fit. Released numbers were rounded down: steps add one half."""

    def __init__(self, course: Course, facts: TableFacts) -> None:
        self._course, self._facts, self._n = course, facts, float(facts.n_rows)
        self._taken: tuple[int, ...] = ()
        self._row_changes = facts.rows_changed == 2
        self._square = 1.0 + float(int(CONSTANT * course.unit) / course.unit) ** 2

    def walk(self) -> Walk:
        yield from self._take()
        centres, spreads, still = yield from self._standard()
        start, spread, curvature, most = yield from self._labels()
        standard = _Standard(self._course, centres, spreads)
        matrix, edge = yield from self._matrix(standard)
        shape = Shape(matrix, edge, curvature)
        weights, margins, hidden = yield from self._steps(
            standard, shape, start, spread, still, most
        )
        if hidden:
            start = self._mean_of_numbers(start)
            weights, margins = (
                np.zeros_like(weights),
                standard.margins_of(np.zeros_like(weights), start),
            )
        intercepts = CONSTANT * self._course.row_length * weights[:, -1] + start
        if COUNTED in self._course.multipliers:
            scale, shifts = yield from self._correction(margins, shape.length_of(weights))
            weights, intercepts = scale * weights, scale * intercepts + shifts
        weights = weights[:, :-1]
        slopes = weights / np.sqrt(spreads)
        table = self._course.columns - len(self._taken)
        own = np.append(np.arange(table), table + np.array(self._taken, np.int64))
        low, high = (ends[own] for ends in self._facts.ends(self._all_columns))
        with np.errstate(divide="ignore"):
            coefficients = slopes * np.where(high > low, 1.0 / (high - low), 0.0)
        found = np.zeros((len(slopes), self._all_columns))
        found[:, own] = coefficients
        return found, intercepts - slopes @ centres - coefficients @ low

    def _take(self) -> Generator[Expected, Floats, None]:
        """Take up the wide columns that are more frequent than noise alone would make them."""
        course = self._course
        self._all_columns = course.columns + course.n_wide
        if PRESENCES not in course.multipliers:
            return
        size = CELL * (math.sqrt(2.0) if self._row_changes else 1.0)
        asked = self._expect(PRESENCES, size, course.n_wide, _presence_sums)
        released = yield asked
        least = math.sqrt(2.0 * math.log(max(course.n_wide, 2))) * asked.noise[0]
        order = np.argsort(-released, kind="stable")[: course.most_taken]
        self._taken = tuple(sorted(int(j) for j in order if released[j] > least))
        self._course = replace(course, columns=course.columns + len(self._taken))

    def _expect(
        self,
        kind: str,
        by_a_row: float,
        places: int,
        sums: Callable[[TableRows], Floats],
    ) -> Expected:
        """The next release, which a row moves by so much at most."""
        sensitivity = self._facts.rows_per_person * by_a_row
        sigma, taken = self._course.multipliers[kind] * sensitivity, self._taken
        seen = (lambda rows: sums(rows.taking(taken))) if taken else sums
        return Expected(kind, sensitivity, np.full(places, sigma), seen)

    def _mean_noise(self, expected: Expected) -> float:
        """The noise of a mean over the declared rows, in cells."""
        return float(expected.noise[0]) / CELL / self._n

    def _standard(self) -> Generator[Expected, Floats, tuple[Floats, Floats, NDArray[np.bool_]]]:
        """The released means and variances of the columns, and which hardly vary."""
        columns = self._course.columns
        numbers = 3 if self._facts.counts_rows else 2
        sums = partial(_cell_sums, numbers)
        asked = self._expect(CELLS, math.sqrt(numbers) * CELL, numbers, sums)
        released = yield asked
        if self._facts.counts_rows:
            least = max(2.0 * float(asked.noise[0]) / CELL, 1.0)
            self._n = float(round(np.clip(released[2] / CELL, least, max(least, self._n))))
        total = self._n * CELL
        mean, square = np.clip(released[:2] / total, 0.0, 1.0)
        variance = max(square - mean**2, self._mean_noise(asked), 1.0 / columns)
        longest = math.sqrt(columns * min(variance, 1.0))
        centre, length = round(mean * CELL) / CELL, math.ceil(longest * CELL)
        asked = self._expect(
            *(MEANS, length * (2.0 if self._row_changes else 1.0), columns),
            lambda rows: CELL * rows.copies @ _cut(rows.shares - centre, length / CELL),
        )
        off_centre = self._mean_noise(asked)
        offsets = james_stein((yield asked) / total, 0.0, off_centre)
        centres = np.rint(np.clip(centre + offsets, 0.0, 1.0) * CELL) / CELL
        left = max(longest**2 - np.sum((centres - mean) ** 2), 0.1 * longest**2)
        shorter = math.ceil(math.sqrt(left) * CELL)
        asked = self._expect(
            *(SPREADS, shorter * (math.sqrt(2.0) if self._row_changes else 1.0), columns),
            lambda rows: CELL * rows.copies @ _cut((rows.shares - centres) ** 2, shorter / CELL),
        )
        spreads, noise = (yield asked) / total, self._mean_noise(asked)
        usual = max(spreads.mean(), noise / math.sqrt(columns), 1.0 / CELL)
        floored = np.maximum(james_stein(spreads, usual, noise), max(0.05 * usual, noise))
        variances = floored / self._variances()
        self._off_centre = off_centre / np.sqrt(variances)
        return centres, variances, spreads + noise < 0.05 * usual

    def _variances(self) -> Floats:
        """Variances of columns: indicators have a quarter of that of numbers; the mean is 1."""
        low, high = self._facts.ends(self._all_columns)
        table = self._course.columns - len(self._taken)
        number = ((low != 0.0) | (high != 1.0))[:table]
        found = np.append(np.where(number, 1.0, 0.25), np.full(len(self._taken), 0.25))
        return np.asarray(found / found.mean(), np.float64)

    def _labels(self) -> Generator[Expected, Floats, tuple[Floats, float, float, float]]:
        """Margins without columns, the unit of labels, the curvature, and the noise of margins
        beyond which a model without columns is better."""
        facts, course = self._facts, self._course
        if facts.loss == SQUARED:
            size = 2.0 if self._row_changes else math.sqrt(2.0)
            asked = self._expect(LABELS, size * CELL, 2, self._label_sums)
            mean, square = (yield asked) / (self._n * CELL)
            noise = self._mean_noise(asked)
            self._means = [(mean, noise**2, np.zeros(course.columns))]
            mean = likely_mean(mean, noise**2)
            apart = square - mean**2
            spread = math.sqrt(max(apart, noise, 1e-8)) * facts.y_bound
            most = 0.6 * math.sqrt(min(max(apart - 2.5 * noise, 0.0), 1.0)) * facts.y_bound
            start = np.array([mean * facts.y_bound])
            return start, spread, course.curvature, most
        both = self._row_changes and facts.outputs > 1
        size = math.sqrt(2.0) if both else 1.0
        asked = self._expect(LABELS, size * CELL, facts.outputs, self._label_sums)
        shares = (yield asked) / (self._n * CELL)
        noise, most = self._mean_noise(asked), 1.5 * course.margin_noise
        if facts.outputs == 1:
            share = likely_share(shares[0], noise, 1.0 / max(self._n, 2.0))
            return np.array([np.log(share / (1.0 - share))]), 1.0, course.curvature, most
        shares = np.maximum(shares, min(max(noise, 1.0 / self._n), 1.0 / facts.outputs))
        shares = shares / shares.sum()
        start = np.log(shares) - np.log(shares).mean()
        return start, 1.0, max(course.curvature, np.max(shares * (1.0 - shares))), most

    def _mean_of_numbers(self, start: Floats) -> Floats:
        """The mean of numbers by its own release and by the mean residuals of all steps."""
        if self._facts.loss != SQUARED:
            return start
        means, variances, weights = (np.array(one) for one in zip(*self._means, strict=True))
        off = weights * self._off_centre
        by_mean = np.linalg.solve(np.diag(variances) + off @ off.T, np.ones(len(means)))
        mean = float(by_mean @ means / by_mean.sum())
        return np.array([self._facts.y_bound * likely_mean(mean, 1.0 / float(by_mean.sum()))])

    def _label_sums(self, rows: TableRows) -> Floats:
        facts = self._facts
        if facts.loss == SQUARED:
            shares = rows.y / facts.y_bound
            return CELL * np.array([rows.copies @ shares, rows.copies @ shares**2])
        counted = (
            np.arange(1, 2) if facts.outputs == 1 else np.arange(facts.outputs)
        )  # the second class, or all
        return CELL * (rows.y == counted[:, None]) @ rows.copies

    def _matrix(self, standard: "_Standard") -> Generator[Expected, Floats, tuple[Floats, float]]:
        """The mean product of a row with itself, and the largest eigenvalue of its noise."""
        course, size = self._course, self._course.columns + 1
        length = course.row_length**2 * self._square
        if PRODUCTS not in course.multipliers:
            return np.eye(size) * length / size, length
        above = np.triu_indices(size, 1)
        factor = math.sqrt(2.0) if self._row_changes else 1.0

        def sums(rows: TableRows) -> Floats:
            whole = standard.with_constant(rows)
            found = whole.T @ (rows.copies[:, None] * whole)
            return course.unit**2 * np.append(np.diag(found), found[above])

        asked = self._expect(
            PRODUCTS, factor * self._square * course.unit**2, size + len(above[0]), sums
        )
        asked.noise[size:] *= math.sqrt(0.5)
        released = yield asked
        matrix = np.zeros((size, size))
        matrix[above] = released[size:]
        matrix += matrix.T + np.diag(released[:size])
        unit = (course.row_length / course.unit) ** 2 / self._n
        return matrix * unit, asked.noise[0] * unit * math.sqrt(2.0 * size)

    def _steps(
        self,
        standard: "_Standard",
        shape: "Shape",
        start: Floats,
        spread: float,
        still: NDArray[np.bool_],
        most: float,
    ) -> Generator[Expected, Floats, tuple[Floats, "_Margins", bool]]:
        """The mean of the last half of the iterates, its margins, and whether noise hides all.

        Weights belong to columns of variance 1, whatever the rows that steps see look like.
        """
        course, facts, n = self._course, self._facts, self._n
        clip = course.clip * spread
        changed = 2.0 if self._row_changes else 1.0
        sensitivity = changed * course.unit**2 * math.sqrt(self._square)
        noise = course.multipliers[STEPS] * sensitivity * facts.rows_per_person
        sigma = noise * course.row_length / course.unit**2 / n
        damped_after = (1 / 6, 1 / 3) if facts.loss != SQUARED and facts.outputs == 1 else ()
        weights = np.zeros((facts.outputs, course.columns + 1))
        noises = np.zeros(course.columns + 1)
        iterates, clips = [], []
        factors, rows = np.ones(course.columns + 1), standard
        floor = 0.0
        if facts.outputs > 1 and sigma > 0.0:
            most_told = course.margin_noise * math.sqrt(course.steps) / (sigma * clip)
            floor = shape.floor(most_told / course.longest)
        inverse, told = shape.inverse(factors, floor)
        of_one = sigma / math.sqrt(course.steps) * told * clip
        length = self._length(of_one, spread)
        hidden = of_one * length > most
        if hidden and facts.loss != SQUARED:  # no steps are taken
            return weights, standard.margins_of(weights, start), True
        open_to_doubt = facts.loss == SQUARED and of_one * length <= 0.6 * facts.y_bound
        for done in range(course.steps):
            if done in [int(at * course.steps) for at in damped_after]:
                factors = shape.factors(
                    np.sum(weights**2, axis=0) / spread**2, facts.outputs * noises
                )
                rows = standard.times(factors[:-1])
                inverse, told = shape.inverse(factors)
                of_one = sigma / math.sqrt(course.steps) * told * clip
                length = self._length(of_one, spread)
            margins = rows.margins_of(weights / factors, start)
            if facts.loss == SQUARED and done in [int(at * course.steps) for at in _SIZES_AFTER]:
                asked = self._expect(SIZES, CELL, 1, partial(self._size, margins, clip))
                mean = float((yield asked)[0]) / (n * CELL)
                if hidden and open_to_doubt:
                    surely = mean - 2.5 * self._mean_noise(asked)
                    hidden = 0.5 * (of_one * length / clip) ** 2 >= 0.6 * surely
                clip *= min(1.0, 2.5 * math.sqrt(max(mean, self._mean_noise(asked))))
            sums = partial(self._gradient, margins, clip, rows)
            released = yield self._expect(STEPS, sensitivity, weights.size, sums)
            moved = (released + 0.5).reshape(weights.shape) / course.unit**2 / n
            clips.append(clip)
            if facts.loss == SQUARED:
                ahead = clip * moved[0, -1] / CONSTANT
                mean = CONSTANT * course.row_length * weights[0, -1] + start[0] - ahead
                off = clip * sigma / (CONSTANT * course.row_length) / facts.y_bound
                self._means.append((mean / facts.y_bound, off**2, weights[0, :-1] / facts.y_bound))
            turned = length / course.steps * np.diag(factors) @ inverse
            weights = weights - clip * course.row_length * moved @ turned.T
            noises = noises + (sigma * clip / spread) ** 2 * np.diag(turned @ turned.T)
            iterates.append(weights)
        kept = [k for k in range(course.steps) if k + 1 > 0.5 * course.steps]
        found: Floats = np.mean([iterates[k] for k in kept], axis=0)
        squares = (found / spread) ** 2
        if hidden and open_to_doubt:
            hidden = not shape.shows(found[0, :-1], length / course.steps, sigma * np.array(clips))
        signal = np.maximum(squares - noises, 0.0) / np.maximum(squares, 1e-300)
        found = np.where(np.append(still, False), signal * found, found)
        return found, rows.margins_of(found / factors, start), hidden

    def _length(self, of_one: float, spread: float) -> float:
        """The total length of the steps, whose noise in a margin is ``of_one`` per unit."""
        if of_one <= 0.0:
            return self._course.longest
        allowed = self._course.margin_noise * spread / of_one
        allowed = allowed ** (2.0 / 3.0) if self._facts.loss == SQUARED else allowed
        return min(max(allowed, 2.0), self._course.longest)

    def _size(self, margins: "_Margins", clip: float, rows: TableRows) -> Floats:
        """The sum of squared residuals."""
        squares = np.sum(self._residuals(margins, clip, rows) ** 2, axis=1)
        return np.array([CELL * rows.copies @ squares])

    def _gradient(
        self, margins: "_Margins", clip: float, standard: "_Standard", rows: TableRows
    ) -> Floats:
        """The sum of row gradients, outputs x (columns, then the intercept)."""
        residuals = rows.copies[:, None] * self._residuals(margins, clip, rows)
        return self._course.unit**2 * (residuals.T @ standard.with_constant(rows)).ravel()

    def _residuals(self, margins: "_Margins", clip: float, rows: TableRows) -> Floats:
        """Clipped residuals in units of the clip, rows x outputs."""
        found = loss_gradients(margins(rows)[None], rows.y, self._facts)[0]
        if self._facts.loss == SQUARED:
            found = np.clip(found, -self._facts.residual_bound, self._facts.residual_bound)
        return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), clip)

    def _correction(
        self, margins: "_Margins", length: float
    ) -> Generator[Expected, Floats, tuple[float, Floats]]:
        """The scale by which margins are corrected, and their shifts."""
        facts, multipliers = self._facts, self._course.multipliers
        sensitivities = [
            correction.UNIT * correction.sensitivity(place, facts, searches=False)
            for place in range(correction.RELEASES)
        ]
        kinds = [COUNTED] + [CORRECTIONS] * N_CORRECTIONS
        first, second, third = (
            multipliers[kind] * size for kind, size in zip(kinds, sensitivities, strict=True)
        )
        two = facts.outputs == 1
        found = correction.Reference(
            claim=facts,
            n_rows=facts.n_rows,
            margin=4.0 if two else length or 1.0,
            scale=0.9 if two else 0.8,
            off=0.25 if two else 0.15,
            spread=2.5,
            shift_off=0.2 if two else 0.3,
            farthest=7.0,
            moves=True,
            searches=False,
            sigmas=(first, second, third),
        )
        for place, (kind, size) in enumerate(zip(kinds, sensitivities, strict=True)):
            # The sums at the current place, also if they are asked for later.
            sums = partial(_sums_of, replace(found), margins, place)
            by_a_row = size / facts.rows_per_person
            found.receive((yield self._expect(kind, by_a_row, found.numbers(place), sums)), place)
        return found.result()


class _Standard:
    """Standardised rows, scaled to the lengths that gradients and margins see."""

    def __init__(self, course: Course, centres: Floats, spreads: Floats) -> None:
        self.course, self._centres, self._spreads = course, centres, spreads
        self._known: dict[TableRows, tuple[Floats, Floats]] = {}

    def times(self, factors: Floats) -> "_Standard":
        """The same with every column multiplied by its factor."""
        return _Standard(self.course, self._centres, self._spreads / factors**2)

    def with_constant(self, rows: TableRows) -> Floats:
        """Rows in units of the length of a row, of at most 1 before their constant."""
        return self._scaled(rows)[0]

    def margins_of(self, weights: Floats, start: Floats) -> Callable[[TableRows], Floats]:
        """The margins that these weights give."""
        intercepts = CONSTANT * self.course.row_length * weights[:, -1] + start
        return lambda rows: self._scaled(rows)[1] @ weights[:, :-1].T + intercepts

    def _scaled(self, rows: TableRows) -> tuple[Floats, Floats]:
        """Rows as gradients see them, and as margins do, up to three usual lengths."""
        if rows not in self._known:
            usual = self.course.row_length
            apart = (rows.shares - self._centres) / np.sqrt(self._spreads)
            lengths = np.linalg.norm(apart, axis=1, keepdims=True)
            units = apart / np.maximum(lengths, usual / self.course.lengthened)
            seen = apart * np.minimum(1.0, 3.0 * usual / np.maximum(lengths, 1e-300))
            constant = np.full(len(units), CONSTANT)
            self._known[rows] = np.column_stack([units, constant]), seen
        return self._known[rows]


_Margins = Callable[[TableRows], Floats]


def _sums_of(found: correction.Reference, margins: _Margins, place: int, rows: TableRows) -> Floats:
    """The sums of a correction."""
    return found.exact(margins(rows), rows.y, rows.copies, place)


def _presence_sums(rows: TableRows) -> Floats:
    """The sum of rows of length 1 that are equal in all wide columns present, and 0 in others."""
    present = np.floor(rows.wide * CELL) != np.floor(rows.at_zero * CELL)
    counts = np.maximum(present.sum(axis=1, keepdims=True), 1.0)
    found: Floats = CELL * rows.copies @ (present / np.sqrt(counts))
    return found


def _cell_sums(numbers: int, rows: TableRows) -> Floats:
    """Sums of means and of mean squares, and as how many rows all count if that is released."""
    means, squares = rows.shares.mean(axis=1), np.mean(rows.shares**2, axis=1)
    return CELL * rows.copies @ np.column_stack([means, squares, np.ones(len(means))])[:, :numbers]


def _cut(rows: Floats, length: float) -> Floats:
    """Rows that are no longer than ``length``."""
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True) / length, 1.0)
