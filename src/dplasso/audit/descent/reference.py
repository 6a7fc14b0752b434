"""The sums and iterates of a descent in plain numpy, with which the product is compared.

Many runs are computed at once, each with its own releases: arrays are runs x outputs x columns, and
the intercept, if included, is last. The product's integers and rounding are left out, and so are
re-weighting and weights that are dropped or held back: this is for descents of few columns that
keep all of them.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, softmax

from dplasso.audit.descent.facts import CONSTANT, Course, DescentFacts
from dplasso.audit.facts import LOGISTIC, SOFTMAX
from dplasso.audit.reference_rows import held_labels, held_rows
from dplasso.base.arrays import Floats

_AVERAGED = 0.25  # share of the iterates, the last ones


@dataclass(frozen=True)
class Rows:
    """Rows of length 1 and their labels, and how often each occurs."""

    units: Floats
    y: Floats
    copies: Floats

    @classmethod
    def of(cls, X: Floats, y: Floats, facts: DescentFacts) -> "Rows":
        """Raw rows as a descent should hold them; equal rows, with equal gradients, are merged."""
        rows = held_rows(X, facts)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        units = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0.0)
        both = np.column_stack([units, held_labels(y, facts)])
        distinct, copies = np.unique(both, axis=0, return_counts=True)
        return cls(distinct[:, :-1], distinct[:, -1], copies.astype(np.float64))

    def mass(self, course: Course) -> Floats:
        """The sum of the rows, in the product's integer unit."""
        total: Floats = course.unit * (self.copies @ self.units)
        return total


class Walk:
    """The state of descents after their releases so far; the first release is the mass."""

    def __init__(self, mass: Floats, noise: float, course: Course, facts: DescentFacts) -> None:
        self._course, self._facts = course, facts
        total = course.unit * facts.n_rows
        mean, sd = (mass + 0.5) / total, noise / total
        floor = max(course.least_mass, course.damped_from * sd)
        self.damping = np.sqrt(floor / np.maximum(mean, floor))
        shared = np.sum(mean**2 - sd**2, axis=1, keepdims=True)
        average = np.mean(mean, axis=1, keepdims=True)
        apart = np.mean((mean - average) ** 2, axis=1, keepdims=True)
        unsure = np.divide(sd**2, apart, out=np.ones_like(apart), where=apart > sd**2)
        whole = average + (mean - average) * (1.0 - unsure)
        told = np.where(mean > course.centred_from * sd, mean, 0.0)
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

    def vectors(self, rows: Rows) -> Floats:
        """Contribution of every row to the next sums: runs x rows x outputs x (columns + 1)."""
        apart = (rows.units - self.centre[:, None, :]) * self.damping[:, None, :]
        lengths = np.linalg.norm(apart, axis=2, keepdims=True)
        directions = np.divide(apart, lengths, out=np.zeros_like(apart), where=lengths > 1e-9)
        residuals = self._residuals(rows)
        columns = residuals[..., None] * directions[:, :, None, :]
        constants = CONSTANT * residuals[..., None]
        found: Floats = self._course.unit * np.concatenate([columns, constants], axis=3)
        return found

    def sums(self, rows: Rows) -> Floats:
        """The next sums, without noise."""
        found: Floats = np.einsum("n,rnkd->rkd", rows.copies, self.vectors(rows))
        return found

    def result(self) -> tuple[Floats, Floats]:
        """Mean weights and intercepts of the last iterates, converted to uncentred rows."""
        weights = np.mean([w for w, _ in self._iterates], axis=0)
        intercepts = np.mean([b for _, b in self._iterates], axis=0)
        return weights, intercepts - np.einsum("rkd,rd->rk", weights, self.centre)

    def _residuals(self, rows: Rows) -> Floats:
        """Clipped residuals of every row, in units of the clip: runs x rows x outputs."""
        facts = self._facts
        margins = np.einsum("rkd,nd->rnk", self.weights, rows.units) + self.intercepts[:, None, :]
        margins -= np.einsum("rkd,rd->rk", self.weights, self.centre)[:, None, :]
        if facts.loss == SOFTMAX:
            found = softmax(margins, axis=2)
            found[:, np.arange(len(rows.y)), rows.y.astype(np.int64)] -= 1.0
        elif facts.slope is not None:
            found = facts.slope(margins, rows.y)
        else:
            guesses = expit(margins) if facts.loss == LOGISTIC else margins
            found = guesses - rows.y[:, None]
        lengths = np.linalg.norm(found, axis=2, keepdims=True)
        cut: Floats = found / np.maximum(lengths, self._course.clip)
        return cut
