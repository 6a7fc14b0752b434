"""Bugs in how rows are read, clipped and scaled."""

import dataclasses

import numpy as np
import scipy.sparse as sp

from dplasso.data import columns, row_maps
from dplasso.data.columns import ColumnMatrix
from dplasso.data.unit_rows import UnitRows
from dplasso.estimators import base
from dplasso.fitting import frank_wolfe as fit_by_frank_wolfe
from planted.bug import of_any_size


def row_counted_twice(monkeypatch):
    """The last row is read twice, as if two blocks of a file overlapped by one row."""
    right = base.PrivateLasso._checked

    def checked(self, X, y):
        X, y = right(self, X, y)
        rows = np.append(np.arange(len(y)), len(y) - 1)
        return (sp.csr_array(X)[rows] if sp.issparse(X) else X[rows]), y[rows]

    monkeypatch.setattr(base.PrivateLasso, "_checked", checked)


def x_not_clipped(monkeypatch):
    """Entries beyond the bound are not noticed."""
    monkeypatch.setattr(columns, "kernels", _WithoutBound())


class _WithoutBound:
    """The kernels of the columns, whose report of an entry out of bound means nothing."""

    def __getattr__(self, name):
        return 0 if name == "OUT_OF_BOUND" else getattr(_column_kernels, name)


_column_kernels = columns.kernels


def constant_of_one(monkeypatch):
    """An intercept is a column of ones.

    With a bound on entries of 1/10 a row moves the intercept's score ten times as far as stated.
    """
    monkeypatch.setattr(ColumnMatrix, "constant", property(lambda self: 1.0))


def repeats_added_after_the_look(monkeypatch):
    """Entries are looked at once; adding up those that are repeated cannot make them worse.

    Two entries of 0.9 for one place are one of 1.8, beyond a bound of 1.
    """
    add, look, known = columns.add_up, columns._inspect, {}

    def add_up(found):
        known["sum"] = add(found)
        return known["sum"]

    def inspect(found, values, x_bound):
        if found is known.pop("sum", None):
            return known["bits"] & ~(columns.kernels.UNORDERED | columns.kernels.ZERO)
        known["bits"] = look(found, values, x_bound)
        return known["bits"]

    monkeypatch.setattr(columns, "add_up", add_up)
    monkeypatch.setattr(columns, "_inspect", inspect)


def units_in_single_precision(monkeypatch):
    """One number per row is kept in single precision, on the belief that half its digits are noise.

    Rows may be longer than 1, by one part in ten million.
    """
    right = UnitRows.of

    def of(X, scaling="presence"):
        rows = right(X, scaling)
        return dataclasses.replace(rows, units=rows.units.astype(np.float32).astype(np.float64))

    monkeypatch.setattr(UnitRows, "of", of)


def centred_by_the_mean(monkeypatch):
    """Columns are centred at the mean of the rows at hand, as a scaler of scikit-learn does it."""
    right = row_maps.centred_columns

    def centred_columns(X, bounds):
        found = right(X, bounds)
        return (found - found.mean(axis=0)) / 2.0

    monkeypatch.setattr(row_maps, "centred_columns", centred_columns)


def rows_not_scaled(monkeypatch):
    """Rows are not scaled to length 1."""
    right = UnitRows.of

    def of(X, scaling="presence"):
        rows = right(X, scaling)
        return dataclasses.replace(rows, units=np.where(rows.units > 0.0, 1.0 / rows.largest, 0.0))

    monkeypatch.setattr(UnitRows, "of", of)


@of_any_size
def clip_times(monkeypatch, size):
    """Entries are clipped to a little more than the bound."""

    class Lax:
        @staticmethod
        def of(X, x_bound):
            found = ColumnMatrix.of(X, size * x_bound)
            if found.values is None:
                return dataclasses.replace(found, x_bound=x_bound, trusted=True)
            values = np.clip(found.values.astype(np.float64), None, size * x_bound)
            beyond = np.abs(values) >= x_bound
            values[beyond] = np.sign(values[beyond]) * size * x_bound
            return dataclasses.replace(
                found, values=values, x_bound=x_bound, extended=None, trusted=True
            )

    monkeypatch.setattr(fit_by_frank_wolfe, "ColumnMatrix", Lax)


@of_any_size
def rows_times(monkeypatch, size):
    """Rows of a descent are a little longer than 1."""
    right = UnitRows.of

    def of(X, scaling="presence"):
        rows = right(X, scaling)
        return dataclasses.replace(rows, units=size * rows.units)

    monkeypatch.setattr(UnitRows, "of", of)
