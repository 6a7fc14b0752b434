"""Bugs in the correction of probabilities."""

import numpy as np
from scipy.special import expit

from dplasso.fitting.plan import Plan
from dplasso.kernels import calibration
from dplasso.kernels.calibration import UNIT
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.solvers.correction import solve
from dplasso.solvers.correction.plan import CorrectionPlan
from dplasso.solvers.correction.rows import MarginRows
from planted.bug import of_any_size


def margins_not_cut(monkeypatch):
    """Margins count as they are, however far they lie beyond the limit (two classes)."""

    def two_class_sums(margins, labels, weights, scale, shift, limit, first, last):
        t, y = margins[first:last] / limit, labels[first:last]
        r = expit(scale * limit * t + shift) - y
        terms = np.stack([r * t, r])
        return np.trunc(np.clip(terms * UNIT, -(2.0**50), 2.0**50)).astype(np.int64).sum(axis=1)

    monkeypatch.setattr(calibration, "two_class_sums", two_class_sums)


@of_any_size
def noise_asked_for_times(monkeypatch, size):
    """Less noise than is stated."""
    right = CorrectionPlan.step_sigma.fget
    monkeypatch.setattr(CorrectionPlan, "step_sigma", property(lambda plan: size * right(plan)))


@of_any_size
def counts_times(monkeypatch, size):
    """A row adds a little more than it is charged for to its count."""
    right = MarginRows.counts

    def counts(rows, unit):
        return np.rint(right(rows, unit) * size).astype(np.int64)

    monkeypatch.setattr(MarginRows, "counts", counts)


def not_charged(monkeypatch):
    """The releases after the solver are missing from the charge."""
    monkeypatch.setattr(Plan, "event", property(lambda plan: plan.numbers.event))


def counts_without_noise(monkeypatch):
    """Counts are released as they are: they are only a start."""
    right, add, exact = MarginRows.counts, GridGaussian.add_to, []

    def counts(self, unit):
        found = right(self, unit)
        exact.append(found)
        return found

    def add_to(self, values, *rest):
        if not any(np.shares_memory(values, found) for found in exact):
            add(self, values, *rest)

    monkeypatch.setattr(MarginRows, "counts", counts)
    monkeypatch.setattr(GridGaussian, "add_to", add_to)


def course_of_exact_counts(monkeypatch):
    """The walk starts from the counts before noise was added."""
    right, exact, course = MarginRows.counts, [], solve.course_of

    def counts(self, unit):
        found = right(self, unit)
        exact.append(found.copy())
        return found

    def course_of(plan, usual, _):
        return course(plan, usual, exact[-1])

    monkeypatch.setattr(MarginRows, "counts", counts)
    monkeypatch.setattr(solve, "course_of", course_of)


def counted_twice(monkeypatch):
    """A row is counted once for its margin and once more for its label."""
    right = MarginRows.counts
    monkeypatch.setattr(MarginRows, "counts", lambda rows, unit: 2 * right(rows, unit))
