"""Bugs in the table solver."""

import dataclasses
import math

import numpy as np

from dplasso.fitting import table as fitting
from dplasso.kernels import table as kernels
from dplasso.kernels import wide_table
from dplasso.losses import SquaredLoss
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.solvers.table import plan as planning
from dplasso.solvers.table import walk as walking
from dplasso.solvers.table.plan import CELL, TablePlan
from dplasso.solvers.table.questions import (
    LabelSums,
    MeanSums,
    PresenceSums,
    Products,
    Standard,
)
from dplasso.solvers.table.rows import PrivateTable
from planted.bug import of_any_size


def rows_not_cut(monkeypatch):
    """The means are sums of whole rows, however long."""

    def mean_sums(cells, weights, centre, length, first, last):
        return np.sum(cells[first:last].astype(np.int64) - centre, axis=0)

    monkeypatch.setattr(kernels, "mean_sums", mean_sums)


def rows_cut_in_single_precision(monkeypatch):
    """Rows are shortened in single precision, and nobody looks at the length that they then have.

    It may be larger than stated by one part in ten million.
    """

    def mean_sums(cells, weights, centre, length, first, last):
        rows = (cells[first:last] - np.int32(centre)).astype(np.float32)
        squares = np.maximum(np.sum(rows * rows, axis=1, keepdims=True), np.float32(1.0))
        factors = np.minimum(np.float32(length) / np.sqrt(squares), np.float32(1.0))
        return np.rint(rows * factors).astype(np.int64).sum(axis=0)

    monkeypatch.setattr(kernels, "mean_sums", mean_sums)


def means_without_noise(monkeypatch):
    """The means of the columns are treated as public numbers."""
    monkeypatch.setattr(MeanSums, "noise", lambda question, plan: [(plan.n_columns, 0.0)])


def labels_not_clipped(monkeypatch):
    """Labels are expected within their bound, and clipped nowhere."""
    right = PrivateTable._label_sums

    def label_sums(self):
        if not self._plan.pace.of_numbers:
            return right(self)
        whole = np.trunc(self._labels / self._loss.y_bound * CELL).astype(np.int64)
        return np.array([whole.sum(), ((whole * whole) >> kernels.CELL_BITS).sum()])

    monkeypatch.setattr(SquaredLoss, "encode", lambda loss, y: np.asarray(y, np.float64))
    monkeypatch.setattr(PrivateTable, "_label_sums", label_sums)


def labels_without_noise(monkeypatch):
    """The share of a class is read from the data: it is only the start of a descent."""
    right, add, exact = PrivateTable.answer, GridGaussian.add_to, []

    def answer(self, question):
        found = right(self, question)
        if isinstance(question, LabelSums):
            exact.append(found)
        return found

    def add_to(self, values, *rest):
        if not any(np.shares_memory(values, found) for found in exact):
            add(self, values, *rest)

    monkeypatch.setattr(PrivateTable, "answer", answer)
    monkeypatch.setattr(GridGaussian, "add_to", add_to)


def products_as_if_a_row_came_or_went(monkeypatch):
    """The noise of the products lacks the root of 2 for a replaced row."""
    monkeypatch.setattr(
        TablePlan,
        "product_sigma",
        property(lambda plan: plan.product_multiplier * plan.square_length),
    )


def products_counted_half(monkeypatch):
    """A product of two columns stands for two places: it gets half of the noise.

    Half of the variance would be right.
    """
    right = Products.noise

    def noise(self, plan):
        squares, (count, _) = right(self, plan)
        return [squares, (count, squares[1] / 2.0)]

    monkeypatch.setattr(Products, "noise", noise)


def spreads_not_charged(monkeypatch):
    """The third release is missing from the charge."""
    right = planning._event

    def event(bound, multipliers, counts):
        return right(bound, [*multipliers[:2], *multipliers[3:]], (*counts[:2], *counts[3:]))

    monkeypatch.setattr(planning, "_event", event)


def rows_over_exact_spreads(monkeypatch):
    """Rows are standardised by the spreads of the data, not by the released ones."""
    right, known = PrivateTable._scale, {}

    def scale(self, standard):
        if standard not in known:
            spreads = np.maximum(self._cells.std(axis=0), 1.0)
            known[standard] = Standard(standard.centres, 1.0 / spreads)
        right(self, known[standard])

    monkeypatch.setattr(PrivateTable, "_scale", scale)


def margins_in_single_precision(monkeypatch):
    """Margins are products of single precision, whose rounding depends on the block of rows."""

    def margins(self, rows, whole, begin, end):
        found = (rows.astype(np.float32) @ whole.weights.T.astype(np.float32)).T
        with np.errstate(all="ignore"):
            return found * self._ratios[begin:end] * whole.unit + whole.intercepts[:, None]

    monkeypatch.setattr(PrivateTable, "_margins", margins)


def cells_in_the_precision_of_the_entries(monkeypatch):
    """Cells of entries in single precision are computed in single precision."""
    right = fitting.table_cells

    def table_cells(X, bounds, columns):
        if not isinstance(X, np.ndarray) or X.dtype != np.float32:
            return right(X, bounds, columns)
        low, high = (end.astype(np.float32) for end in bounds.ends(X.shape[1]))
        shares = (np.clip(X, low, high) - low) / (high - low)
        return np.floor(shares * np.float32(CELL)).astype(np.int32)[:, columns]

    monkeypatch.setattr(fitting, "table_cells", table_cells)


def noise_of_one_step(monkeypatch):
    """Steps have the noise that one step alone would need: short by the root of their number."""
    right = TablePlan.step_sigma.fget
    monkeypatch.setattr(
        TablePlan, "step_sigma", property(lambda plan: right(plan) / math.sqrt(plan.steps))
    )


def presences_not_cut(monkeypatch):
    """A row adds as much to every wide column in it, however many there are."""

    def presence_lengths(rows, n_rows, weights):
        return np.where(np.bincount(rows, minlength=n_rows) > 0, CELL, 0)

    monkeypatch.setattr(wide_table, "presence_lengths", presence_lengths)


def presences_as_if_a_row_came_or_went(monkeypatch):
    """The noise of the presences lacks the root of 2 for a replaced row."""
    monkeypatch.setattr(
        TablePlan, "presence_sigma", property(lambda plan: plan.presence_multiplier * CELL)
    )


def wide_columns_taken_by_exact_counts(monkeypatch):
    """The wide columns of the table are the most frequent ones, not those that seem so."""
    answer, right, exact = PrivateTable.answer, walking._standing_out, []

    def noted(self, question):
        found = answer(self, question)
        if isinstance(question, PresenceSums):
            exact[:] = [found.copy()]
        return found

    monkeypatch.setattr(PrivateTable, "answer", noted)
    monkeypatch.setattr(walking, "_standing_out", lambda released, plan: right(exact[0], plan))


def presences_not_charged(monkeypatch):
    """Whether a word occurs often is no secret: it is missing from the charge."""
    right = planning._event

    def event(bound, multipliers, counts):
        return right(bound, [*multipliers[:7], *multipliers[8:]], (*counts[:7], *counts[8:]))

    monkeypatch.setattr(planning, "_event", event)


@of_any_size
def noise_asked_for_times(monkeypatch, size):
    """A fit asks for less noise in its steps than its plan states."""
    right = TablePlan.step_sigma.fget
    monkeypatch.setattr(TablePlan, "step_sigma", property(lambda plan: size * right(plan)))


@of_any_size
def length_of_rows_times(monkeypatch, size):
    """Rows are cut for the means of the columns at a length a little larger than stated."""
    right = kernels.mean_sums

    def mean_sums(cells, weights, centre, length, first, last):
        return right(cells, weights, centre, int(size * length), first, last)

    monkeypatch.setattr(kernels, "mean_sums", mean_sums)


@of_any_size
def rows_in_the_intercepts(monkeypatch, size):
    """Intercepts hold a little of the exact sum of the cells."""
    right = fitting.fit_table

    def fit_table(cells, *labels, **settings):
        found = right(cells, *labels, **settings)
        total = size * float(cells.sum(dtype=np.int64)) / CELL
        return dataclasses.replace(found, intercepts=found.intercepts + total)

    monkeypatch.setattr(fitting, "fit_table", fit_table)


@of_any_size
def cells_by_storage(monkeypatch, size):
    """Cells of entries in single precision are a little larger than others."""
    right = fitting.table_cells

    def table_cells(X, bounds, columns):
        cells = right(X, bounds, columns)
        single = isinstance(X, np.ndarray) and X.dtype == np.float32
        return np.minimum(np.rint(cells * size), CELL).astype(np.int32) if single else cells

    monkeypatch.setattr(fitting, "table_cells", table_cells)
