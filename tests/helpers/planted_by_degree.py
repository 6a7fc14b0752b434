"""Slips of any size, to find the smallest that an audit finds.

Each is a function of its size that gives a bug to plant. A size of 1 is the correct code where it
multiplies something.
"""

import dataclasses
from fractions import Fraction

import numpy as np

from dplasso.data import columns
from dplasso.data.columns import ColumnMatrix
from dplasso.data.unit_rows import UnitRows
from dplasso.estimators import base
from dplasso.fitting import frank_wolfe as fit_by_frank_wolfe
from dplasso.mechanisms import counting
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.mechanisms.random_bits import RandomBits
from dplasso.privacy import plan
from dplasso.solvers.few.plan import FewPlan
from dplasso.streams.buffered import BufferedNoise
from planted import solver


def theta_times(factor):
    """The engine draws with another theta than is stated."""

    def plant(monkeypatch):
        right = solver._problem
        monkeypatch.setattr(
            solver, "_problem", lambda *parts: (p := right(*parts))._replace(theta=factor * p.theta)
        )

    return plant


def stated_theta_times(factor):
    """The plan of a fit has another theta than its charge allows."""

    def plant(monkeypatch):
        right = plan.theta_for
        monkeypatch.setattr(plan, "theta_for", lambda *facts: factor * right(*facts))

    return plant


def theta_of_choices_times(factor):
    """Columns are chosen with another theta than is stated."""

    def plant(monkeypatch):
        right = FewPlan.theta
        wrong = lambda self, longest: Fraction(factor) * right(self, longest)  # noqa: E731
        monkeypatch.setattr(FewPlan, "theta", wrong)

    return plant


def noise_times(factor):
    """The noise of sums is smaller than its mechanism says."""

    def plant(monkeypatch):
        right, made = GridGaussian.add_to, {}

        def add_to(self, values, *rest):
            if self.sigma not in made:
                made[self.sigma] = GridGaussian(factor * self.sigma)
            right(made[self.sigma], values, *rest)

        monkeypatch.setattr(GridGaussian, "add_to", add_to)

    return plant


def noise_of_streams_times(factor):
    """The draws of a stream are smaller than its matrix says."""

    def plant(monkeypatch):
        right = BufferedNoise._drawn
        monkeypatch.setattr(
            BufferedNoise,
            "_drawn",
            lambda self, *steps: np.rint(factor * right(self, *steps)).astype(np.int64),
        )

    return plant


def noise_of_the_count_times(factor):
    """The count of the Sparsifier has less noise than is charged."""

    def plant(monkeypatch):
        right = counting.double_geometric
        monkeypatch.setattr(
            counting,
            "double_geometric",
            lambda gamma, generator: right(gamma / Fraction(factor), generator),
        )

    return plant


def clip_times(factor):
    """Entries are clipped to a little more than the bound."""

    def plant(monkeypatch):
        class Lax:
            @staticmethod
            def of(X, x_bound):
                found = ColumnMatrix.of(X, factor * x_bound)
                if found.values is None:
                    return dataclasses.replace(found, x_bound=x_bound)
                values = np.clip(found.values.astype(np.float64), None, factor * x_bound)
                beyond = np.abs(values) >= x_bound
                values[beyond] = np.sign(values[beyond]) * factor * x_bound
                return dataclasses.replace(found, values=values, x_bound=x_bound, extended=None)

        monkeypatch.setattr(fit_by_frank_wolfe, "ColumnMatrix", Lax)

    return plant


def rows_times(factor):
    """Rows of a descent are a little longer than 1."""

    def plant(monkeypatch):
        right = UnitRows.of

        def of(X, scaling="presence"):
            rows = right(X, scaling)
            return dataclasses.replace(rows, units=factor * rows.units)

        monkeypatch.setattr(UnitRows, "of", of)

    return plant


def coefficients_times(factor):
    """The released coefficients are not quite those of the vertices."""

    def plant(monkeypatch):
        right = fit_by_frank_wolfe.split

        def split(task, weights):
            columns, intercepts = right(task, weights)
            return columns * factor, intercepts

        monkeypatch.setattr(fit_by_frank_wolfe, "split", split)

    return plant


def bytes_biased(share):
    """The lowest bit of this share of the bytes is 1."""

    def plant(monkeypatch):
        right = base.PrivateLasso._random_bits

        class Biased:
            def __init__(self, generator):
                self._generator = generator

            def bytes(self, size):
                drawn = np.frombuffer(self._generator.bytes(size), np.uint8).copy()
                drawn[np.random.default_rng().random(size) < share] |= 1
                return drawn.tobytes()

            def __getattr__(self, name):
                return getattr(self._generator, name)

        def random_bits(self):
            bits = right(self)
            return RandomBits(Biased(bits.generator), secure=bits.secure)

        monkeypatch.setattr(base.PrivateLasso, "_random_bits", random_bits)

    return plant


def clip_by_storage(factor):
    """Entries that are held in double precision are clipped a little later than others."""

    def plant(monkeypatch):
        right = columns.clipped_in_place

        def clipped_in_place(values, x_bound):
            found = right(values, x_bound)
            if values.dtype == np.float64:
                limit = columns.clip_limit(x_bound)
                found[np.abs(found) == limit] *= factor
            return found

        monkeypatch.setattr(columns, "clipped_in_place", clipped_in_place)

    return plant
