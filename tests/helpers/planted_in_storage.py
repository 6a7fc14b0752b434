"""Slips by which the storage of rows would reach a release, planted where one would make them."""

import dataclasses

import numpy as np
import scipy.sparse as sp

from dplasso.data import columns, merging
from dplasso.data.columns import ColumnMatrix
from dplasso.data.unit_rows import UnitRows
from dplasso.estimators.online_rows import RowForm
from dplasso.federated import columns as federated_columns
from dplasso.fitting import fitters, gradient
from dplasso.fitting import frank_wolfe as fit_by_frank_wolfe
from dplasso.storage.column_store import ColumnStore
from planted_bug import Bug


def clip_limit_by_precision(monkeypatch):
    """Entries are clipped to the bound as nearly as the precision of the matrix allows."""

    def clipped_in_place(values, x_bound):
        limit = _bound_as(values.dtype, x_bound)
        return np.clip(values, -limit, limit, out=values)

    monkeypatch.setattr(columns, "clipped_in_place", clipped_in_place)


def _bound_as(kind, x_bound):
    near = kind.type(x_bound)
    return np.nextafter(near, kind.type(0)) if float(near) > x_bound else near


def intercept_read_from_the_matrix(monkeypatch):
    """The bound by which a weight becomes an intercept has the precision of the matrix."""

    right = fit_by_frank_wolfe.split

    def split(task, weights):
        columns, intercepts = right(task, weights)
        if task.plan.request.fit_intercept and task.matrix.values is not None:
            constant = _bound_as(task.matrix.values.dtype, task.matrix.x_bound)
            intercepts = intercepts / task.matrix.constant * float(constant)
        return columns, intercepts

    monkeypatch.setattr(fit_by_frank_wolfe, "split", split)


def repeats_added_in_own_precision(monkeypatch):
    """Repeated entries are added up by scipy, in the precision of the matrix."""

    def add_up(found):
        merged = found.copy()
        merged.has_canonical_format = False
        merged.sum_duplicates()
        merged.eliminate_zeros()
        return merged

    for module in (columns, merging):
        monkeypatch.setattr(module, "add_up", add_up)


def dense_rows_as_they_are(monkeypatch):
    """Sparse rows are taken for words, of which presence counts, and dense ones for numbers."""
    right = fitters.prepare

    def prepare(plan, X, *rest):
        if plan.request.row_map == "auto" and plan.maps_rows:
            sparse = sp.issparse(X) or isinstance(X, ColumnMatrix)
            plan = dataclasses.replace(plan, row_map="presence" if sparse else "as_is")
        return right(plan, X, *rest)

    monkeypatch.setattr(fitters, "prepare", prepare)


def constant_of_a_store(monkeypatch):
    """No entry of a store is larger than its header says: nor need its constant column be."""
    right = ColumnStore._clipped_values

    def clipped_values(self, *given):
        values = right(self, *given)
        constant = values[self.entries :]
        constant[:] = np.minimum(constant, self.header["largest"])
        return values

    monkeypatch.setattr(ColumnStore, "_clipped_values", clipped_values)


def whole_numbers_by_precision(monkeypatch):
    """Entries of rows become whole numbers in the precision that the matrix has."""
    right = UnitRows.of

    def of(X, scaling="presence"):
        rows = right(X, scaling)
        single = isinstance(X, ColumnMatrix) and X.values is not None
        if scaling == "presence" or not single or X.values.dtype != np.float32:
            return rows
        return dataclasses.replace(rows, values=rows.values - rows.values % 2)

    monkeypatch.setattr(UnitRows, "of", of)


def rows_over_the_largest_of_a_call(monkeypatch):
    """Rows of a call are scaled by their largest entry, lest they overflow."""
    right = RowForm.of_matrix

    def of_matrix(self, X):
        matrix = sp.csr_array(X, dtype=np.float64)
        largest = max(float(np.abs(matrix.data).max(initial=0.0)), 1.0)
        return right(self, matrix / largest)

    monkeypatch.setattr(RowForm, "of_matrix", of_matrix)


def entries_of_parties_in_single_precision(monkeypatch):
    """A party keeps a table in single precision where it came so, and clips it there."""
    right_table, right_units = federated_columns.table_of, federated_columns._in_units

    def table(X):
        found, given = right_table(X), X if sp.issparse(X) else np.asarray(X)
        single = given.dtype.itemsize <= 4
        return found.astype(np.float32) if single else found

    monkeypatch.setattr(federated_columns, "table_of", table)
    monkeypatch.setattr(
        federated_columns,
        "_in_units",
        lambda values, bound: right_units(values, values.dtype.type(bound)),
    )


def all_ones_are_not_clipped(monkeypatch):
    """Rows of 0 and 1 have no values to clip, and keep their 1 under a smaller bound."""
    right = ColumnMatrix.of.__func__

    def of(cls, X, x_bound=1.0):
        found = right(cls, X, x_bound)
        plain = not isinstance(X, ColumnMatrix) and _all_ones(X)
        if not plain or found.values is None:
            return found
        return dataclasses.replace(
            found, values=np.ones_like(found.values), extended=None, trusted=True
        )

    monkeypatch.setattr(ColumnMatrix, "of", classmethod(of))


def _all_ones(X):
    values = X.data if sp.issparse(X) and hasattr(X, "data") else np.asarray(X)
    return values.dtype.kind in "iub" and bool(np.all((values == 1) | (values == 0)))


def roots_in_the_precision_of_the_entries(monkeypatch):
    """Roots of entries of single precision are kept in single precision."""
    right = fit_by_frank_wolfe.row_view

    def row_view(X, rows, bounds):
        seen, held = right(X, rows, bounds)
        single = rows == "sqrt" and X.dtype == np.float32
        return (seen.astype(np.float32) if single else seen), held

    for module in (fit_by_frank_wolfe, gradient):
        monkeypatch.setattr(module, "row_view", row_view)


def _slip(plant, solver="frank_wolfe", found_by="representation"):
    return Bug(plant, (found_by,), solver)


BUGS = {
    "clip limit by precision": _slip(clip_limit_by_precision),
    "intercept read from the matrix": _slip(intercept_read_from_the_matrix),
    "repeats added in own precision": _slip(repeats_added_in_own_precision),
    "all ones are not clipped": _slip(all_ones_are_not_clipped),
    "constant of a store": _slip(constant_of_a_store),
    "dense rows as they are": _slip(dense_rows_as_they_are, "gradient"),
    "whole numbers by precision": _slip(whole_numbers_by_precision, "gradient"),
    "roots in the precision of the entries": _slip(roots_in_the_precision_of_the_entries, "select"),
    "rows over the largest of a call": _slip(rows_over_the_largest_of_a_call, "online"),
    "a party's entries in single precision": _slip(
        entries_of_parties_in_single_precision, found_by="parties"
    ),
}
