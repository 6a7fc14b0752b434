"""Bugs by which the storage of rows affects a release."""

import dataclasses

import numpy as np
import scipy.sparse as sp

from dplasso.data import columns, merging, row_maps
from dplasso.data.columns import ColumnMatrix
from dplasso.data.unit_rows import UnitRows
from dplasso.estimators.online_rows import RowForm
from dplasso.federated import columns as federated_columns
from dplasso.fitting import frank_wolfe as fit_by_frank_wolfe
from dplasso.fitting import gradient, registry
from dplasso.storage.column_store import ColumnStore
from planted.bug import of_any_size


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
    right = registry.prepare

    def prepare(plan, X, *rest):
        if plan.request.row_map == "auto" and plan.maps_rows:
            sparse = sp.issparse(X) or isinstance(X, ColumnMatrix)
            plan = dataclasses.replace(plan, row_map="presence" if sparse else "as_is")
        return right(plan, X, *rest)

    monkeypatch.setattr(registry, "prepare", prepare)


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
        if rows.whole == 1 or not single or X.values.dtype != np.float32 or rows.values is None:
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
    rooted = gradient.rooted

    def rooted_alike(matrix):
        found = rooted(matrix)
        if matrix.values is None or matrix.values.dtype != np.float32:
            return found
        return dataclasses.replace(found, values=found.values.astype(np.float32), trusted=True)

    monkeypatch.setattr(gradient, "rooted", rooted_alike)


def rows_keep_their_precision(monkeypatch):
    """Rows in single precision are clipped and mapped in single precision, at half the memory.

    One entry that single precision does not hold makes all rows double, and every other row's
    roots are rounded elsewhere: n rows move a score by n parts in 10^8 more than stated.
    """

    def clipped(X, bound):
        found = row_maps._merged(X) if sp.issparse(X) else np.array(X)
        values = found.data if sp.issparse(X) else found
        kind = np.float32 if values.dtype == np.float32 else np.float64
        values = row_maps.clipped_in_place(values.astype(kind), bound)
        return row_maps._with_values(found, values) if sp.issparse(X) else values

    right = row_maps._of

    def of(values, rows, bound):
        if rows != "sqrt":
            return right(values, rows, bound)
        return np.sign(values) * np.sqrt(np.abs(values))

    monkeypatch.setattr(row_maps, "clipped", clipped)
    monkeypatch.setattr(row_maps, "_of", of)


def ones_stay_ones(monkeypatch):
    """Rows of ones alone have no values, and sums take a stored 1 for one of their usual numbers.

    One row with another entry makes all others' entries 2^20 in place of 1, in sums whose noise is
    for 2^20: where columns are chosen, that one row decides whether anything is chosen at all.
    """
    monkeypatch.setattr(UnitRows, "largest", property(lambda self: self.whole))


@of_any_size
def clip_by_storage(monkeypatch, size):
    """Entries that are held in double precision are clipped a little later than others."""
    right = columns.clipped_in_place

    def clipped_in_place(values, x_bound):
        found = right(values, x_bound)
        if values.dtype == np.float64:
            limit = columns.clip_limit(x_bound)
            found[np.abs(found) == limit] *= size
        return found

    monkeypatch.setattr(columns, "clipped_in_place", clipped_in_place)


@of_any_size
def units_by_storage(monkeypatch, size):
    """Rows that are held in double precision get a little more length than others."""
    right = UnitRows.of

    def of(X, scaling="presence"):
        rows = right(X, scaling)
        double = getattr(getattr(X, "values", None), "dtype", None) == np.float64
        return dataclasses.replace(rows, units=rows.units * size) if double else rows

    monkeypatch.setattr(UnitRows, "of", of)


@of_any_size
def rows_of_a_call_by_storage(monkeypatch, size):
    """Rows of a stream that are handed in as whole numbers get a little more length."""
    right = RowForm.of_matrix

    def of_matrix(self, X):
        starts, places, values = right(self, X)
        return starts, places, values * size if X.dtype.kind in "iub" else values

    monkeypatch.setattr(RowForm, "of_matrix", of_matrix)


@of_any_size
def entries_of_parties_by_storage(monkeypatch, size):
    """Entries of a party that are handed in as whole numbers are a little larger."""
    right = federated_columns.table_of

    def table(X):
        found, given = right(X), X if sp.issparse(X) else np.asarray(X)
        return found * size if given.dtype.kind in "iub" else found

    monkeypatch.setattr(federated_columns, "table_of", table)
