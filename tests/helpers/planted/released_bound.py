"""Bugs in the bound on entries that ``x_bound="private"`` releases."""

import dataclasses
from fractions import Fraction

import numpy as np

from dplasso.data.columns import ColumnMatrix
from dplasso.data.unit_rows import NO_BOUND
from dplasso.fitting import private_bound
from dplasso.fitting.frank_wolfe import FrankWolfePlan
from dplasso.mechanisms import private_quantile
from dplasso.privacy import plan as plans
from planted.bug import of_any_size


def entries_counted_for_rows(monkeypatch):
    """The quantile is taken over the entries instead of the rows.

    A row of k entries moves the losses k times as far as stated.
    """

    def sizes(task):
        found = np.abs(task.entries.data.astype(np.float64))
        return found[found > 0.0], None

    monkeypatch.setattr(private_bound.UnboundedTask, "_numbers", sizes)


def losses_as_if_a_row_came_or_went(monkeypatch):
    """A replaced row is assumed to change a quantile no more than an added or removed row.

    The range is 2, but 1.8 is used where rows are replaced: 11 % more than is stated.
    """
    monkeypatch.setattr(
        private_quantile,
        "range_of_losses",
        lambda share, neighboring: 2 * max(share, 1 - share),
    )


def entries_not_clipped_to_the_released_bound(monkeypatch):
    """The entries were checked before the bound was released, and are not checked again.

    They were checked against no bound: those above the released one are not clipped.
    """
    right = FrankWolfePlan.prepare

    def prepare(self, X, *rest):
        task = right(self, X, *rest)
        if not self.request.releases_bound:
            return task
        found, bound = ColumnMatrix.of(X, NO_BOUND), task.matrix.x_bound
        found = dataclasses.replace(found, x_bound=bound, extended=None, trusted=True)
        matrix = found.with_constant() if self.request.fit_intercept else found
        return dataclasses.replace(task, matrix=matrix)

    monkeypatch.setattr(FrankWolfePlan, "prepare", prepare)


def relation_forgotten_at_the_released_bound(monkeypatch):
    """Once the bound is known, theta is computed as if rows were never replaced.

    Selections are twice as sharp as stated where rows are replaced and the bound is released.
    """
    right = plans.SelectionPlan.at

    def at(self, x_bound, gradient_bound):
        made = right(dataclasses.replace(self, neighboring="add_remove"), x_bound, gradient_bound)
        return dataclasses.replace(made, neighboring=self.neighboring)

    monkeypatch.setattr(plans.SelectionPlan, "at", at)


@of_any_size
def range_of_losses_times(monkeypatch, size):
    """Losses of candidates are said to move by less than a row moves them."""
    right = private_quantile.range_of_losses
    monkeypatch.setattr(
        private_quantile, "range_of_losses", lambda *facts: Fraction(size) * right(*facts)
    )


@of_any_size
def bounds_drawn_times(monkeypatch, size):
    """Candidates are drawn with a larger theta than is charged."""
    right = private_quantile.bernoulli_exp
    monkeypatch.setattr(
        private_quantile,
        "bernoulli_exp",
        lambda exponent, generator: right(Fraction(size) * exponent, generator),
    )
