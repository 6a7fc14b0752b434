"""Slips that would break the privacy of gradient descent, each planted where one would make it."""

import dataclasses
import math

import numpy as np
from scipy.special import expit

from dplasso.data.unit_rows import UnitRows
from dplasso.estimators import base
from dplasso.kernels import descent as kernel
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.mechanisms.random_bits import RandomBits, random_bits
from dplasso.privacy.events import Gaussian, Repeated
from dplasso.solvers.gradient import plan as planning
from dplasso.solvers.gradient.conditioning import WHOLE, Conditioning, Mass
from dplasso.solvers.gradient.plan import GradientPlan
from dplasso.solvers.gradient.rows import PrivateRows


def residuals_not_cut(monkeypatch):
    """Rows that are wrong by more than the cut count by how wrong they are (two classes)."""

    def coefficients(loss, clip, margins, labels, row_weights, constant, first, last, out):
        residual = (expit(margins[0, first:last]) - labels[first:last]) / clip
        out[0, first:last] = (residual * row_weights[first:last]).astype(np.int64)
        return np.array([int(np.sum((residual * constant).astype(np.int64)))])

    monkeypatch.setattr(kernel, "coefficients", coefficients)


def mass_not_charged(monkeypatch):
    """The release that comes before the first step is forgotten in what is charged."""
    monkeypatch.setattr(
        planning, "_event", lambda bound, mass, step, steps: Repeated(Gaussian(step), steps)
    )


def mass_without_noise(monkeypatch):
    """Column masses are taken for public numbers."""
    monkeypatch.setattr(GradientPlan, "mass_sigma", 0.0)


def weights_from_exact_mass(monkeypatch):
    """Rows are weighed under the damping and centre of the masses as they are, before noise."""
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


def one_stream_for_all_fits(monkeypatch):
    """The key of the bits is read once, and every fit starts its stream anew."""
    monkeypatch.setattr(
        base.PrivateLasso,
        "_random_bits",
        lambda self: RandomBits(random_bits(5).generator, secure=True),
    )


def rows_not_scaled(monkeypatch):
    """Rows keep the length that they have."""
    right = UnitRows.of

    def of(X, scaling="presence"):
        rows = right(X, scaling)
        return dataclasses.replace(rows, units=np.where(rows.units > 0.0, 1.0 / rows.largest, 0.0))

    monkeypatch.setattr(UnitRows, "of", of)


def row_weights_forgotten(monkeypatch):
    """Damped and centred rows are taken to be no longer than unit rows are."""

    def weigh(self, conditioning):
        return np.full(self._rows.shape[0], self._plan.unit / WHOLE)

    monkeypatch.setattr(PrivateRows, "_weigh", weigh)


def noise_of_one_step(monkeypatch):
    """Steps have the noise that one step alone would need: short by the root of their number."""
    right = GradientPlan.step_sigma.fget
    monkeypatch.setattr(
        GradientPlan, "step_sigma", property(lambda plan: right(plan) / math.sqrt(plan.steps))
    )
