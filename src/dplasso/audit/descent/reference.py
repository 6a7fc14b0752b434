"""Gradient descent in plain numpy: its public numbers, sums, iterates and likelihood ratios.

Many runs are computed at once, each with its own releases: arrays are runs x outputs x columns, and
the intercept, if included, is last. The product's integers and rounding are left out, and so are
re-weighting and weights that are dropped or held back: this is for descents of few columns that
keep all of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dplasso.audit.reference import (
    Facts,
    Table,
    distinct_rows,
    held_labels,
    held_rows,
    loss_gradients,
    row_shares,
)
from dplasso.base.arrays import Floats

_AVERAGED = 0.25  # share of the iterates, the last ones
_CLEARLY_NEGATIVE = 6.0  # noise standard deviations: a mean below minus these has negative entries
CONSTANT = 0.3  # value of the intercept's column, for rows of length 1


@dataclass(frozen=True, kw_only=True)
class Course:
    """How a descent continues from its releases: public numbers on which no guarantee rests."""

    unit: float  # the integer that represents a length of 1
    steps: int
    step: float
    intercept_step: float
    clip: float  # bound to which residuals are clipped; sums are in units of it
    least_mass: float  # least mass of columns that are damped
    damped_from: float  # the same, in noise standard deviations
    centred_from: float  # least mass of columns that are centred, in noise standard deviations
    shared_from: float  # squared length of the mean row from which all columns are centred


@dataclass(frozen=True, kw_only=True)
class DescentFacts(Facts):
    """One configuration of gradient descent; ``n_rows`` is what all rows count as, as declared."""

    n_rows: int
    n_nonzero: int | None
    shown = (*Facts.shown, "n_rows", "n_nonzero", "mu")

    def sensitivity(self, release: int) -> float:
        """Sensitivity of a release, in lengths of 1: the first is the mass, others are steps."""
        length = 1.0 if release == 0 else math.hypot(1.0, CONSTANT)
        return self.rows_changed * self.rows_per_person * length


@dataclass(frozen=True)
class ReferenceRows:
    """Rows of length 1 and their labels, and as how many rows each counts."""

    units: Floats
    y: Floats
    copies: Floats

    @classmethod
    def of(cls, table: Table, facts: DescentFacts) -> "ReferenceRows":
        """Raw rows as a descent should hold them; equal rows, with equal gradients, are merged."""
        rows = held_rows(table.X, facts)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        units = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0.0)
        return cls(*distinct_rows(units, held_labels(table.y, facts), row_shares(table, facts)))

    def mass(self, course: Course) -> Floats:
        """The sum of the rows, in the product's integer unit."""
        return course.unit * (self.copies @ self.units)


class DescentState:
    """The state of descents after their releases so far; the first release is the mass."""

    def __init__(self, mass: Floats, noise: float, course: Course, facts: DescentFacts) -> None:
        self._course, self._facts = course, facts
        total = course.unit * facts.n_rows
        mean, sd = (mass + 0.5) / total, noise / total
        floor = max(course.least_mass, course.damped_from * sd)
        sizes = np.where(mean < -_CLEARLY_NEGATIVE * sd, -mean, mean)
        self.damping = np.sqrt(floor / np.maximum(sizes, floor))
        shared = np.sum(mean**2 - sd**2, axis=1, keepdims=True)
        average = np.mean(mean, axis=1, keepdims=True)
        apart = np.mean((mean - average) ** 2, axis=1, keepdims=True)
        unsure = np.divide(sd**2, apart, out=np.ones_like(apart), where=apart > sd**2)
        whole = average + (mean - average) * (1.0 - unsure)
        told = np.where(sizes > course.centred_from * sd, mean, 0.0)
        centre = np.where(shared > course.shared_from, whole, told)
        length = np.linalg.norm(centre, axis=1, keepdims=True)
        self.centre = centre / np.maximum(length, 1.0)
        self.weights = np.zeros((len(mass), facts.outputs, mass.shape[1]))
        self.intercepts = np.zeros((len(mass), facts.outputs))
        self._iterates: list[tuple[Floats, Floats]] = []

    def receive(self, released: Floats) -> None:
        """Take a step along released sums."""
        moved = (released + 0.5) * (self._course.clip / self._course.unit)
        self.weights = self.weights - self._course.step * self.damping[:, None, :] * moved[..., :-1]
        self.intercepts = self.intercepts - self._course.intercept_step * moved[..., -1]
        kept = int(np.ceil(_AVERAGED * self._course.steps))
        self._iterates = [*self._iterates[-kept + 1 :], (self.weights, self.intercepts)][-kept:]

    def vectors(self, rows: ReferenceRows) -> Floats:
        """Contribution of every row to the next sums: runs x rows x outputs x (columns + 1)."""
        apart = (rows.units - self.centre[:, None, :]) * self.damping[:, None, :]
        lengths = np.linalg.norm(apart, axis=2, keepdims=True)
        directions = np.divide(apart, lengths, out=np.zeros_like(apart), where=lengths > 1e-9)
        residuals = self._residuals(rows)
        columns = residuals[..., None] * directions[:, :, None, :]
        constants = CONSTANT * residuals[..., None]
        return self._course.unit * np.concatenate([columns, constants], axis=3)

    def sums(self, rows: ReferenceRows) -> Floats:
        """The next sums, without noise."""
        return np.einsum("n,rnkd->rkd", rows.copies, self.vectors(rows))

    def result(self) -> tuple[Floats, Floats]:
        """Mean weights and intercepts of the last iterates, converted to uncentred rows."""
        weights = np.mean([w for w, _ in self._iterates], axis=0)
        intercepts = np.mean([b for _, b in self._iterates], axis=0)
        return weights, intercepts - np.einsum("rkd,rd->rk", weights, self.centre)

    def margins(self, rows: ReferenceRows) -> Floats:
        """Margins by the result: runs x rows x outputs."""
        weights, intercepts = self.result()
        return np.einsum("rkd,nd->rnk", weights, rows.units) + intercepts[:, None, :]

    def _residuals(self, rows: ReferenceRows) -> Floats:
        """Clipped residuals of every row, in units of the clip: runs x rows x outputs."""
        margins = np.einsum("rkd,nd->rnk", self.weights, rows.units) + self.intercepts[:, None, :]
        margins -= np.einsum("rkd,rd->rk", self.weights, self.centre)[:, None, :]
        found = loss_gradients(margins, rows.y, self._facts)
        lengths = np.linalg.norm(found, axis=2, keepdims=True)
        return found / np.maximum(lengths, self._course.clip)


def log_ratio(
    released: Floats, there: Floats, not_there: Floats, sigma: float
) -> tuple[Floats, Floats]:
    """The log-likelihood ratio of releases under two normal laws, and the laws' squared distance.

    Releases are rounded down, and read as the middle of their cell.
    """
    places = tuple(range(1, released.ndim))
    apart = (there - not_there) / sigma
    middle = (released + 0.5 - 0.5 * (there + not_there)) / sigma
    square = np.broadcast_to(apart**2, released.shape).sum(axis=places)
    return np.sum(middle * apart, axis=places), square


class DescentRatios(NamedTuple):
    """Log-likelihood ratios of the mass and of all steps, and the squared distance of the laws."""

    mass: Floats
    steps: Floats
    squares: Floats
    state: DescentState  # after the last step


def log_ratios_of_descents(
    released: Sequence[Floats],
    rows: Sequence[ReferenceRows],
    sigmas: tuple[float, float],
    course: Course,
    facts: DescentFacts,
) -> DescentRatios:
    """Compare two tables by the releases of descents.

    ``released`` are the mass and the sums of steps, runs x numbers each; ``sigmas`` are the noise
    standard deviations of the mass and of a step. Given the releases before, a release is one of
    two known sums plus normal noise: its projection on their difference is the log-likelihood
    ratio, and these add up.
    """
    mass, square = log_ratio(released[0], rows[0].mass(course), rows[1].mass(course), sigmas[0])
    state, steps = DescentState(released[0], sigmas[0], course, facts), np.zeros(len(mass))
    for release in released[1:]:
        sums = release.reshape(len(mass), facts.outputs, -1)
        more, length = log_ratio(sums, state.sums(rows[0]), state.sums(rows[1]), sigmas[1])
        steps, square = steps + more, square + length
        state.receive(sums)
    return DescentRatios(mass, steps, square, state)
