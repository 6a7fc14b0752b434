"""From answers to weights: which question comes next, and what the answers say together."""

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplasso.base.arrays import Floats, Ints
from dplasso.solvers.table.likely_labels import MeasuredMean, likely_mean, likely_share
from dplasso.solvers.table.plan import CELL, CONSTANT, LEAST_LENGTH, TablePlan
from dplasso.solvers.table.questions import (
    CellSums,
    GradientSums,
    LabelSums,
    MeanSums,
    Position,
    PresenceSums,
    Products,
    Question,
    ResidualSize,
    SpreadSums,
    Standard,
    Taken,
)

# Share of the iterates, the last ones, that are averaged.
AVERAGED = 0.5
# A spread is at least this share of the mean spread.
LEAST_SPREAD = 0.05
# Variance of an indicator in units of that of a number: one level of a category says less.
OF_INDICATORS = 0.25
# Share of its variance that a column keeps whose weights have shown nothing but noise.
LEAST_SHOWN = 0.1
# Squared weights over their noise count up to this.
MOST_RATIO = 1e12
# The variance of a standardised column is at least this where columns are re-weighted.
LEAST_VARIANCE = 0.05
# Clip of residuals in units of their root mean square, once that is released.
CUT_OF_SIZE = 2.5
# Smallest length of a row after its mean was taken off, as a share of the squared length before.
LEAST_LEFT = 0.1
# Smallest eigenvalue of products: rows are whole numbers, and smaller ones are rounding.
LEAST_EIGENVALUE = 2.0**-19
# A floor of eigenvalues is found to this many bits.
HALVINGS = 50
# Smallest spread of numbers to predict, as a share of their bound.
LEAST_LABEL_SPREAD = 1e-4
# Noise of margins beyond which a model without columns is better. For classes it is in units of the
# noise that is aimed at; for numbers in units of the spread that the labels surely have.
MOST_NOISE, MOST_NOISE_OF_NUMBERS = 1.5, 0.6
# For numbers: standard deviations of noise that count as certain. By so many a spread of labels, or
# of residuals, is less than measured, and weights must exceed what their noise explains if a model
# is to be kept whatever the spread.
SURE = 2.5
# For numbers: the largest share of the mean square of residuals that the noise may have half way,
# where its variance is half of what it will be.
MOST_NOISE_SHARE = 0.6

Flags = NDArray[np.bool_]
Walk = Generator[Question, Ints, "TableSolution"]


@dataclass(frozen=True, eq=False)
class TableSolution:
    """The result of a fit: a linear model of cells, as shares of their range.

    Attributes
    ----------
    weights : array, outputs x columns
    intercepts : array, one per output
    length : float
        Total length of the steps; 0 if there would be nothing but noise, and weights are 0.
    margin_noise : float
        Predicted noise standard deviation of a margin.
    at : Position
        The same model, of standardised rows.
    margin_length : float
        Predicted root mean square length of the margins of several classes, without intercepts;
        0 if there is one output.
    taken : tuple of int
        Numbers of the wide columns that were taken up; their weights come last.
    """

    weights: Floats
    intercepts: Floats
    length: float
    margin_noise: float
    at: Position
    margin_length: float
    taken: Taken = ()


@dataclass(frozen=True, eq=False)
class Found:
    """A model of standardised rows, with the length of its descent and the noise it left."""

    at: Position
    length: float
    margin_noise: float
    margin_length: float
    is_noise: bool  # whether a model without columns is better

    def solution(self, plan: TablePlan, labels: "Labels") -> TableSolution:
        """Return the model of cells, or the model without columns if that is better."""
        if self.is_noise:
            nothing, constant = np.zeros((plan.outputs, plan.n_columns)), labels.constant
            if labels.measured is not None:
                constant = np.array([labels.measured.likely])
            at = replace(self.at, weights=nothing, intercepts=constant)
            return TableSolution(nothing, constant, 0.0, self.margin_noise, at, 0.0)
        standard = self.at.standard
        slopes = self.at.weights * standard.factors * CELL
        intercepts = self.at.intercepts - slopes @ (standard.centres / CELL)
        return TableSolution(
            slopes, intercepts, self.length, self.margin_noise, self.at, self.margin_length
        )


class Labels(NamedTuple):
    """The released facts about labels."""

    constant: Floats  # margins of the best model without columns
    unit: float  # spread of numbers; 1 for classes
    curvature: float
    most_noise: float  # noise of margins beyond which the model without columns seems better
    certain_noise: float  # and beyond which it is better for certain
    measured: MeasuredMean | None = None  # of numbers, all measurements of their mean


def walk(plan: TablePlan, y_bound: float = 1.0) -> Walk:
    """Ask all questions of a fit, and return the solution.

    Formal guarantees
    -----------------
    It is post-processing: a function of ``plan`` and the answers, which are noisy. It never sees
    data, and anyone can repeat it (`dplasso.solvers.table.replay`).
    """
    taken: Taken = ()
    if plan.has_wide:
        taken = _standing_out((yield PresenceSums()), plan)
        plan = plan.with_taken(len(taken))
    standard, hardly_vary, off_centre, plan = yield from _standard(plan, taken)
    labels = _labels((yield LabelSums()), plan, y_bound, off_centre)
    released = (yield Products(standard)) if plan.has_products else None
    shape = Shape.of(released, plan, labels.curvature)
    found = yield from _descent(plan, standard, labels, shape, hardly_vary)
    return replace(found.solution(plan, labels), taken=taken)


def _standing_out(released: Ints, plan: TablePlan) -> Taken:
    """The wide columns that are more frequent than noise alone would make any, in their order.

    Of so many columns the largest noise is about sqrt(2 ln columns) standard deviations.
    """
    least = math.sqrt(2.0 * math.log(max(plan.n_wide, 2))) * plan.presence_sigma
    found = np.flatnonzero(released > least)
    largest = np.argsort(-released[found], kind="stable")[: plan.most_taken]
    return tuple(np.sort(found[largest]).tolist())


def _standard(
    plan: TablePlan, taken: Taken
) -> Generator[Question, Ints, tuple[Standard, Flags, Floats, TablePlan]]:
    """Means and spreads of the columns, which are shrunk to their own means.

    The flags mark columns that hardly vary: their spread is surely below the smallest one that
    counts. The numbers say how far the mean of standardised columns may be from 0. The plan that is
    returned knows the sum of the rows' weights, if that is released.
    """
    answer = yield CellSums(taken)
    if plan.counts_weights:
        plan = plan.with_weights(float(answer[2]) / CELL)
    n, p = plan.n_rows, plan.n_columns
    mean, square = np.clip(answer[:2] / (n * CELL), 0.0, 1.0)
    noise = plan.cell_sigma / CELL / n
    longest = math.sqrt(p * min(max(square - mean**2, noise, 1.0 / p), 1.0))
    centre, length = round(mean * CELL), math.ceil(longest * CELL)
    offsets = (yield MeanSums(centre, length, taken)) / (n * CELL)
    off_centre = plan.mean_sigma(length) / CELL / n
    offsets = shrunk(offsets, 0.0, off_centre)
    centres = np.rint(np.clip(centre / CELL + offsets, 0.0, 1.0) * CELL).astype(np.int64)
    taken_off = float(np.sum((centres / CELL - mean) ** 2))
    length = math.ceil(math.sqrt(max(longest**2 - taken_off, LEAST_LEFT * longest**2)) * CELL)
    spreads = (yield SpreadSums(centres, length, taken)) / (n * CELL)
    noise = plan.spread_sigma(length) / CELL / n
    usual = max(float(spreads.mean()), noise / math.sqrt(p), 1.0 / CELL)
    least = max(LEAST_SPREAD * usual, noise)
    hardly_vary = spreads + noise < LEAST_SPREAD * usual
    spreads = np.maximum(shrunk(spreads, usual, noise), least)
    factors = np.sqrt(variances_of(plan)) / (np.sqrt(spreads) * CELL)
    return Standard(centres, factors, taken), hardly_vary, off_centre * CELL * factors, plan


def variances_of(plan: TablePlan) -> Floats:
    """Variances of the standardised columns: less for indicators than for numbers, 1 on average."""
    found: Floats = np.ones(plan.n_columns)
    found[list(plan.indicators)] = OF_INDICATORS
    found *= plan.n_columns / float(found.sum())
    return found


def shrunk(values: Floats, target: float, noise: float) -> Floats:
    """The James-Stein estimate of means that were measured with ``noise``, shrunk to a target."""
    distances = values - target
    square = float(np.sum(distances**2))
    kept = 1.0 - (len(values) - 2) * noise**2 / square if square > 0.0 else 0.0
    return target + min(max(kept, 0.0), 1.0) * distances


def _labels(released: Ints, plan: TablePlan, y_bound: float, off_centre: Floats) -> Labels:
    shares = released / (plan.n_rows * CELL)
    noise = plan.label_sigma / CELL / plan.n_rows
    if plan.pace.of_numbers:
        measured = MeasuredMean(y_bound, float(shares[0]), noise, off_centre)
        mean, square = likely_mean(min(max(float(shares[0]), -1.0), 1.0), noise), float(shares[1])
        spread = math.sqrt(max(square - mean**2, noise, LEAST_LABEL_SPREAD**2))
        sure = math.sqrt(min(max(square - mean**2 - SURE * noise, 0.0), 1.0))
        return Labels(
            np.array([mean * y_bound]),
            spread * y_bound,
            plan.pace.curvature,
            MOST_NOISE_OF_NUMBERS * sure * y_bound,
            MOST_NOISE_OF_NUMBERS * y_bound,  # no spread exceeds the bound
            measured,
        )
    most = MOST_NOISE * plan.pace.margin_noise
    if plan.outputs == 1:
        share = likely_share(float(shares[0]), noise, 1.0 / max(plan.n_rows, 2))
        constant = np.array([math.log(share / (1.0 - share))])
        return Labels(constant, 1.0, plan.pace.curvature, most, most)
    shares = np.maximum(shares, min(max(noise, 1.0 / plan.n_rows), 1.0 / plan.outputs))
    shares = shares / shares.sum()
    curvature = max(plan.pace.curvature, float(np.max(shares * (1.0 - shares))))
    constant = np.log(shares)
    return Labels(constant - constant.mean(), 1.0, curvature, most, most)


class Shape:
    """The released matrix of products: how rows spread, and how steps are preconditioned."""

    def __init__(self, matrix: Floats, noise: float, curvature: float) -> None:
        self._matrix, self._noise, self._curvature = matrix, noise, curvature

    @classmethod
    def of(cls, released: Ints | None, plan: TablePlan, curvature: float) -> "Shape":
        size = plan.n_columns + 1
        length = plan.row_length(plan.n_columns) ** 2 * plan.square_length / plan.unit**2
        if released is None:  # all rows may point in one direction, which has all their length
            return cls(np.eye(size) * length / size, length / math.sqrt(2.0 * size), curvature)
        upper = np.zeros((size, size))
        upper[np.triu_indices(size, 1)] = released[size:]
        unit = (plan.row_length(plan.n_columns) / plan.unit) ** 2 / plan.n_rows
        matrix = (upper + upper.T + np.diag(released[:size])) * unit
        return cls(matrix, plan.product_sigma * unit, curvature)

    def is_clear(self, weights: Floats, step: float, noises: Floats) -> bool:
        """Whether averaged weights surely are more than the noise of their steps.

        They are compared direction by direction, in units of their noise: so neither the spread of
        labels nor that of rows has to be known. The last column, the intercept, does not count.
        ``step`` is the length of a step, and ``noises`` are those of a gradient in each of them.
        """
        used = np.flatnonzero(weights[:-1])
        if not len(used):
            return False
        found, directions = np.linalg.eigh(self._matrix[np.ix_(used, used)])
        floored = self._floored(found, 0.0)
        # Steps forget noise in directions that have a curvature for certain.
        edge = self._noise * math.sqrt(2.0 * len(self._matrix))
        left = 1.0 - step * np.maximum(found - edge, 0.0) / floored
        first = int((1.0 - AVERAGED) * len(noises))
        variances, lasting = np.zeros(len(used)), np.zeros(len(used))
        for done in reversed(range(len(noises))):
            lasting = left * lasting + (done >= first) / (len(noises) - first)
            variances += (lasting * step * noises[done] / floored) ** 2
        square = float(np.sum((weights[used] @ directions) ** 2 / variances))
        return square > len(used) + SURE * math.sqrt(2.0 * len(used))

    def margin_length(self, weights: Floats) -> float:
        """Root mean square length of the margins of several classes, less their mean.

        The last column, the intercept, does not count.
        """
        apart = weights[:, :-1] - weights[:, :-1].mean(axis=0)
        return math.sqrt(max(float(np.sum((apart @ self._matrix[:-1, :-1]) * apart)), 0.0))

    def column_scales(self, shown: Floats) -> Floats:
        """Factors that give columns the ``shown`` shares of their variance, and rows their length.

        The intercept, the last column, keeps its own.
        """
        variances = np.maximum(np.diag(self._matrix), LEAST_VARIANCE)[:-1]
        longer = float(variances.sum() / (shown[:-1] * variances).sum())
        return np.append(np.sqrt(longer * shown[:-1]), 1.0)

    def rescaled(self, scales: Floats) -> "Shape":
        """The shape of rows whose columns are multiplied by ``scales``."""
        noise = self._noise * float(scales.max())
        return Shape(self._matrix * np.outer(scales, scales), noise, self._curvature)

    def preconditioner(self, kept: Flags, floor: float = 0.0) -> tuple[Floats, float]:
        """Inverse curvature in the kept directions, and the noise it leaves in a margin.

        Eigenvalues below the largest one of the noise, or below ``floor``, are raised to it. The
        second number is the standard deviation in a margin if gradients have noise of 1 in every
        direction.
        """
        part = self._matrix[np.ix_(kept, kept)]
        found, directions = np.linalg.eigh(part)
        floored = self._floored(found, floor)
        inverse = np.zeros_like(self._matrix)
        inverse[np.ix_(kept, kept)] = (directions / floored) @ directions.T
        return inverse, self._spread(found, floored)

    def floor_for(self, spread: float) -> float:
        """The smallest floor under which a margin has no more noise than ``spread``.

        It is at most the mean eigenvalue. ``spread`` is as in `preconditioner`.
        """
        found: Floats = np.linalg.eigvalsh(self._matrix).astype(np.float64)
        least, most = 0.0, self._total(found) / len(found)
        if self._spread(found, self._floored(found, least)) <= spread:
            return least
        for _ in range(HALVINGS):
            middle = 0.5 * (least + most)
            if self._spread(found, self._floored(found, middle)) <= spread:
                most = middle
            else:
                least = middle
        return most

    def _floored(self, found: Floats, floor: float) -> Floats:
        edge = self._noise * math.sqrt(2.0 * len(found))
        floored: Floats = self._curvature * np.maximum(found, max(edge, floor, LEAST_EIGENVALUE))
        return floored

    def _total(self, found: Floats) -> float:
        """The sum of eigenvalues. One within its noise is taken for it: rows are never empty."""
        return max(float(found.sum()), self._noise * math.sqrt(len(found)))

    def _spread(self, found: Floats, floored: Floats) -> float:
        seen = np.maximum(found, 1e-12)
        seen *= self._total(found) / float(seen.sum())
        return math.sqrt(float(np.sum(seen / floored**2)))


def _descent(
    plan: TablePlan, standard: Standard, labels: Labels, shape: Shape, hardly_vary: Flags
) -> Generator[Question, Ints, "Found"]:
    """Preconditioned steps along noisy gradients; the last half of the iterates is averaged.

    Weights are those of columns of variance 1. While steps are taken, columns are multiplied by
    ``scales``: those whose weights have shown nothing but noise get smaller ones, and the others
    a larger share of the length of a row. Steps are preconditioned in these scales.
    """
    size = plan.n_columns + 1
    kept = np.ones((plan.outputs, size), bool)
    scales, scaled, seen = np.ones(size), standard, shape
    cut = plan.cut * labels.unit
    gradient_noise = plan.step_sigma / plan.unit**2 * plan.row_length(plan.n_columns) / plan.n_rows
    noise_of_spread = gradient_noise / math.sqrt(plan.steps) * cut
    floor = 0.0
    if plan.outputs > 1 and noise_of_spread > 0.0:
        # Several classes: directions that vary little get shorter steps before all of them do.
        floor = shape.floor_for(plan.pace.margin_noise / (noise_of_spread * plan.longest))
    inverse, spread = seen.preconditioner(kept[0], floor)
    inverses = [inverse] * plan.outputs
    noise_of_one = noise_of_spread * spread
    length = _length(plan, noise_of_one, labels.unit)
    is_noise = noise_of_one * length > labels.most_noise
    is_certain = noise_of_one * length > labels.certain_noise
    weights, total = np.zeros((plan.outputs, size)), np.zeros((plan.outputs, size))
    if is_noise and labels.measured is None:  # of classes, steps would tell nothing that is used
        at = Position(standard, weights[:, :-1], labels.constant, cut)
        return Found(at, 0.0, noise_of_one * length, 0.0, True)
    variances = np.zeros((plan.outputs, size))  # of the noise in weights, in units of labels
    noises: list[float] = []  # of a gradient in each step
    constant, averaged = CONSTANT * plan.row_length(plan.n_columns), 0
    for done in range(plan.steps):
        if done in plan.reweighting_steps:
            scales = shape.column_scales(_shown(weights / labels.unit, variances))
            scaled = replace(standard, factors=standard.factors * scales[:-1])
            seen = shape.rescaled(scales)
            _, spread = seen.preconditioner(np.ones(size, bool))
            inverses = [seen.preconditioner(mine, floor)[0] for mine in kept]
            noise_of_one = gradient_noise / math.sqrt(plan.steps) * spread * cut
            length = _length(plan, noise_of_one, labels.unit)
        intercepts = constant * weights[:, -1] + labels.constant
        at = Position(scaled, (weights / scales)[:, :-1], intercepts, cut)
        if done in plan.scale_steps:
            mean_square = float((yield ResidualSize(at))[0]) / (plan.n_rows * CELL)
            noise = plan.scale_sigma / CELL / plan.n_rows
            if is_noise and not is_certain:
                half_way = (noise_of_one * length / cut) ** 2 / 2.0
                is_noise = half_way >= MOST_NOISE_SHARE * (mean_square - SURE * noise)
            cut = min(cut, CUT_OF_SIZE * cut * math.sqrt(max(mean_square, noise)))
            at = replace(at, cut=cut)
        answer = (yield GradientSums(at)).reshape(weights.shape)
        unit = cut * plan.row_length(plan.n_columns) / plan.unit**2 / plan.n_rows
        gradients = (answer + 0.5) * unit
        noises.append(gradient_noise * cut)
        if labels.measured is not None:
            mean = float(intercepts[0] - gradients[0, -1] / constant)
            labels.measured.add(mean, noises[-1] / constant, weights[0, :-1])
        step = length / plan.steps * scales
        moves = [inverses[k] @ gradients[k] for k in range(plan.outputs)]
        weights = (weights - step * np.array(moves)) * kept
        squares = np.array([np.sum(inverse**2, axis=1) for inverse in inverses])
        variances = variances + (step * gradient_noise * (cut / labels.unit)) ** 2 * squares
        left = plan.weights_left(done + 1)
        if left < np.count_nonzero(kept[:, :-1]):
            kept = _largest(weights, left)
            weights = weights * kept
            inverses = [seen.preconditioner(mine, floor)[0] for mine in kept]
        if done + 1 > (1.0 - AVERAGED) * plan.steps:
            total, averaged = total + weights, averaged + 1
    weights = total / averaged
    if is_noise and not is_certain:
        is_noise = not shape.is_clear(weights[0], length / plan.steps, np.array(noises))
    certain = _certain(weights / labels.unit, variances)
    weights[:, :-1] *= np.where(hardly_vary, certain[:, :-1], 1.0)
    intercepts = constant * weights[:, -1] + labels.constant
    at = Position(scaled, (weights / scales)[:, :-1], intercepts, cut)
    margin_length = shape.margin_length(weights) if plan.outputs > 1 else 0.0
    return Found(at, length, noise_of_one * length, margin_length, is_noise)


def _shown(weights: Floats, variances: Floats) -> Floats:
    """The share of a column's variance that its weights deserve: 1 if they are far above noise."""
    ratios = np.sum(weights**2, axis=0) / np.maximum(np.sum(variances, axis=0), 1e-300)
    ratios = np.minimum(ratios, MOST_RATIO)  # without privacy there is no noise
    signals = np.maximum(ratios - 1.0, 0.0)
    found: Floats = (LEAST_SHOWN + signals) / (1.0 + signals)
    return found


def _certain(weights: Floats, variances: Floats) -> Floats:
    """The share of each weight that its noise does not explain."""
    found: Floats = np.maximum(1.0 - variances / np.maximum(weights**2, 1e-300), 0.0)
    return found


def _length(plan: TablePlan, noise_of_one: float, unit: float) -> float:
    """The largest total length of steps whose noise in a margin is small enough."""
    if noise_of_one <= 0.0:
        return plan.pace.longest
    allowed = plan.pace.margin_noise * unit / noise_of_one
    if plan.pace.of_numbers:  # the longer the descent, the smaller is what is left to learn
        allowed = allowed ** (2.0 / 3.0)
    return min(max(allowed, LEAST_LENGTH), plan.pace.longest)


def _largest(weights: Floats, left: int) -> Flags:
    """Mark the ``left`` largest weights, which move margins most, and all intercepts."""
    kept = np.ones(weights.shape, bool)
    sizes = np.abs(weights[:, :-1])
    flat = np.zeros(sizes.size, bool)
    flat[np.argpartition(sizes.ravel(), sizes.size - left)[sizes.size - left :]] = True
    kept[:, :-1] = flat.reshape(sizes.shape)
    return kept
