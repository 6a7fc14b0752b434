"""Bugs in gradient descent."""

import dataclasses
import math

import numpy as np
from scipy.special import expit, softmax

from dplasso.fitting.request import RowCount
from dplasso.kernels import descent
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.privacy import gaussian
from dplasso.privacy.events import Gaussian, Repeated
from dplasso.solvers.gradient import plan as planning
from dplasso.solvers.gradient import solve
from dplasso.solvers.gradient.conditioning import WHOLE, Conditioning, Mass
from dplasso.solvers.gradient.plan import ROW_LENGTH, GradientPlan
from dplasso.solvers.gradient.rows import PrivateRows
from planted.bug import of_any_size
from planted.coefficients import plant


def residuals_not_cut(monkeypatch):
    """Residuals larger than the clip are not clipped (two classes)."""

    def coefficients(loss, clip, margins, labels, row_weights, weights, constant, first, last, out):
        residual = (expit(margins[0, first:last]) - labels[first:last]) / clip
        out[0, first:last] = (residual * row_weights[first:last]).astype(np.int64)
        return np.array([int(np.sum((residual * constant).astype(np.int64)))])

    plant(monkeypatch, coefficients)


def mass_not_charged(monkeypatch):
    """The release before the first step is missing from the charge."""
    monkeypatch.setattr(
        planning, "_event", lambda bound, mass, step, steps: Repeated(Gaussian(step), steps)
    )


def mass_without_noise(monkeypatch):
    """Column masses are treated as public numbers."""
    monkeypatch.setattr(GradientPlan, "mass_sigma", 0.0)


def weights_from_exact_mass(monkeypatch):
    """Row weights use the damping and centre of the exact masses, before noise."""
    right = PrivateRows._weigh

    def weigh(self, conditioning):
        exact = Mass.of(self.mass(), self._plan)
        return right(self, Conditioning.of(exact.damping(), exact.centre()))

    monkeypatch.setattr(PrivateRows, "_weigh", weigh)


def noise_of_two_steps(monkeypatch):
    """Noise is drawn for two steps at a time, and added to both."""
    right, kept = GridGaussian.add_to, {}

    def add_to(self, values, *rest):
        if (key := (self.sigma, len(values))) not in kept:
            kept[key] = np.zeros_like(values)
            right(self, kept[key], *rest)
            values += kept[key]
        else:
            values += kept.pop(key)

    monkeypatch.setattr(GridGaussian, "add_to", add_to)


def row_weights_forgotten(monkeypatch):
    """Damped and centred rows are assumed to be no longer than unit rows."""

    def weigh(self, conditioning):
        return np.full(self._rows.shape[0], self._plan.unit / WHOLE)

    monkeypatch.setattr(PrivateRows, "_weigh", weigh)


def noise_of_one_step(monkeypatch):
    """Steps have the noise that one step alone would need: short by the root of their number."""
    right = GradientPlan.step_sigma.fget
    monkeypatch.setattr(
        GradientPlan, "step_sigma", property(lambda plan: right(plan) / math.sqrt(plan.steps))
    )


def row_weights_of_the_first_damping(monkeypatch):
    """Row weights are recomputed only when the centre changes.

    Dampings change too, after a third and two thirds of the steps and whenever weights are
    dropped: rows are then longer than stated.
    """
    right = PrivateRows.sums

    def sums(self, conditioning, weights, intercepts):
        known = self._conditioning
        if known is not None and np.array_equal(known.head_centre, conditioning.head_centre):
            self._conditioning = conditioning
        return right(self, conditioning, weights, intercepts)

    monkeypatch.setattr(PrivateRows, "sums", sums)


def residuals_cut_class_by_class(monkeypatch):
    """Residuals are clipped separately per class, as for two classes.

    All classes together can then exceed the clip, by up to the root of the number of classes.
    """
    right = descent.coefficients

    def coefficients(loss, clip, margins, labels, row_weights, *more):
        if len(margins) == 1:
            return right(loss, clip, margins, labels, row_weights, *more)
        _, constant, first, last, out = more
        own = np.arange(len(margins))[:, None] == labels[first:last]
        residual = softmax(margins[:, first:last], axis=0) - own
        residual = np.clip(residual, -clip, clip) / clip * (1.0 - 1e-12)
        out[:, first:last] = (residual * row_weights[first:last]).astype(np.int64)
        return (residual * constant).astype(np.int64).sum(axis=1)

    plant(monkeypatch, coefficients)


def intercept_without_noise(monkeypatch):
    """The intercept's sum gets no noise, on the belief that a sum over all rows hides each row.

    A row changes it by 0.3 of its length, without noise.
    """
    sums, add, kept = PrivateRows.sums, GridGaussian.add_to, {}

    def noted(self, *facts):
        found = sums(self, *facts)
        kept[found.size] = found[:, -1].copy()
        return found

    def add_to(self, values, *rest):
        exact = kept.pop(values.size, None)
        add(self, values, *rest)
        if exact is not None:
            values.reshape(len(exact), -1)[:, -1] = exact

    monkeypatch.setattr(PrivateRows, "sums", noted)
    monkeypatch.setattr(GridGaussian, "add_to", add_to)


def constant_not_counted(monkeypatch):
    """Rows have length 1.

    With the constant they have length 1.044: the noise of the steps is 4.2 % too small.
    """
    noise_asked_for_times(1.0 / ROW_LENGTH)(monkeypatch)


def two_rows_as_squares(monkeypatch):
    """For a replaced row, the squares of the old and the new row are added.

    They may have opposite directions: noise is too small by the root of 2.
    """
    monkeypatch.setattr(
        GradientPlan,
        "rows_changed",
        property(lambda plan: 1 if plan.neighboring == "add_remove" else math.sqrt(2.0)),
    )


def textbook_noise(monkeypatch):
    """Noise of sqrt(2 ln(1.25 / delta)) / epsilon is what everybody uses.

    It holds for epsilon below 1: at epsilon 10 and a delta of 1e-6, the delta is 1.9e-6.
    """
    monkeypatch.setattr(
        gaussian,
        "mu_of",
        lambda epsilon, delta: epsilon / math.sqrt(2.0 * math.log(1.25 / delta)),
    )


def rows_as_many_as_there_are(monkeypatch):
    """The true number of rows is used instead of the declared one.

    Under "add_remove" their number is private, and plan and statement reveal it.
    """
    right = RowCount.of
    monkeypatch.setattr(
        RowCount,
        "of",
        lambda declared, found, relation: right(declared, found, relation)._replace(value=found),
    )


@of_any_size
def noise_times(monkeypatch, size):
    """The noise of sums is smaller than its mechanism says."""
    right, made = GridGaussian.add_to, {}

    def add_to(self, values, *rest):
        if self.sigma not in made:
            made[self.sigma] = GridGaussian(size * self.sigma)
        right(made[self.sigma], values, *rest)

    monkeypatch.setattr(GridGaussian, "add_to", add_to)


@of_any_size
def noise_asked_for_times(monkeypatch, size):
    """A descent asks for less noise than its plan states."""
    right = GradientPlan.step_sigma.fget
    monkeypatch.setattr(GradientPlan, "step_sigma", property(lambda plan: size * right(plan)))


@of_any_size
def rows_in_the_intercepts(monkeypatch, size):
    """Intercepts hold a little of the exact sums of the rows."""
    right_mass, right, kept = PrivateRows.mass, solve._solution, {}

    def mass(self):
        found = right_mass(self)
        kept["sum"] = float(found.sum()) / self._plan.unit
        return found

    def solution(*parts):
        found = right(*parts)
        return dataclasses.replace(found, intercepts=found.intercepts + size * kept["sum"])

    monkeypatch.setattr(PrivateRows, "mass", mass)
    monkeypatch.setattr(solve, "_solution", solution)
