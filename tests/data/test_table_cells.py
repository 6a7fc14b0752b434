"""Cells are whole shares of a public range, whatever the range and however rows are stored."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dplasso.data import ColumnBounds, ColumnMatrix
from dplasso.data.table_cells import CELL, table_cells
from storages import FORMS

ends = st.floats(-1e6, 1e6)
ranges = st.tuples(ends, ends).map(sorted).map(tuple)
entries = st.sampled_from([0.0, -1.0, 1.0, 1e300, -1e300, 5e-324]) | st.floats(
    allow_nan=True, allow_infinity=True
)


@settings(deadline=None)
@given(st.lists(ranges, min_size=3, max_size=3), hnp.arrays(np.float64, (4, 3), elements=entries))
def test_a_cell_lies_between_0_and_2_to_the_24_whatever_the_entry(pairs, X):
    if any(0.0 < high - low < 1e-290 for low, high in pairs):
        return
    sizes = [max(abs(low), abs(high)) or 1.0 for low, high in pairs]
    if max(sizes) / min(sizes) > 1e30:
        return
    cells = table_cells(X, ColumnBounds.of(pairs, 3))
    assert cells.dtype == np.int32 and cells.min() >= 0 and cells.max() <= CELL


@given(ranges.filter(lambda pair: pair[1] - pair[0] > 1e-3), st.floats(0.0, 1.0))
def test_a_cell_is_the_share_of_the_range(pair, share):
    low, high = pair
    x = min(max(low + share * (high - low), low), high)
    bounds = ColumnBounds.of([pair], 1)
    (found,) = table_cells(np.array([[x]]), bounds)[0]
    rounding = 8.0 * np.spacing(max(abs(low), abs(high))) / (high - low)
    assert found / CELL == pytest.approx((x - low) / (high - low), abs=2.0 / CELL + rounding)
    below, above = table_cells(np.array([[low - 1.0], [high + 1.0]]), bounds)[:, 0]
    assert below <= 1 and above >= CELL - 1 - CELL * rounding


@pytest.mark.parametrize("low", [-1e9, 1e9, 1.7e9, 2.0**40])
def test_a_narrow_range_far_from_0_keeps_its_entries_apart(low):
    """Entries are clipped in single precision, which holds no number between these ends."""
    bounds = ColumnBounds.of([(low, low + 1.0)], 1)
    X = low + np.array([[0.0], [0.25], [0.5], [1.0], [7.0], [-7.0]])
    cells = table_cells(X, bounds)[:, 0] / CELL
    assert cells == pytest.approx([0.0, 0.25, 0.5, 1.0, 1.0, 0.0], abs=1e-3)


@pytest.mark.parametrize("pair", [(5, 5), (0, 0), (-1e300, -1e300)])
def test_a_range_without_width_is_a_column_of_nothing(pair):
    X = np.array([[5.0], [-1e300], [0.0], [math.inf]])
    assert not table_cells(X, ColumnBounds.of([pair], 1)).any()


@pytest.mark.parametrize("pair", [(-1e300, 1e300), (-8e307, 8e307), (0.0, 1e-289)])
def test_ranges_of_extreme_size_work(pair):
    low, high = pair
    X = np.array([[low], [low / 2 + high / 2], [high]])
    cells = table_cells(X, ColumnBounds.of([pair], 1))[:, 0] / CELL
    assert cells == pytest.approx([0.0, 0.5, 1.0], abs=1e-6)


@pytest.mark.parametrize(
    "x_bound", [[(0, 5e-324)], [(0, 1e-305)], [(-1.7e308, 1.7e308)], 1e-305, 5e-324, 1e308]
)
def test_ranges_that_numbers_cannot_divide_by_are_refused(x_bound):
    with pytest.raises(ValueError, match="x_bound has a range that is .*; rescale X first"):
        table_cells(np.zeros((1, 1)), ColumnBounds.of(x_bound, 1))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int16])
@pytest.mark.parametrize(
    "x_bound", [3.0, [1.0, 2.0, 0.3], [(0, 120), 7.0, (-3, -1)], [(1, 2), (1, 2), (1, 2)]]
)
def test_cells_do_not_depend_on_storage(form, kind, x_bound):
    rng = np.random.default_rng(0)
    X = (rng.integers(-8, 9, (40, 3)) * (rng.random((40, 3)) < 0.7)).astype(kind)
    if kind is not np.int16:
        X = X / kind(8)
    bounds = ColumnBounds.of(x_bound, 3)
    plain = table_cells(X.astype(np.float64), bounds)
    assert np.array_equal(table_cells(FORMS[form](X), bounds), plain)


def test_cells_of_a_column_matrix_are_those_of_its_rows():
    X = np.array([[0.5, 0.0, -2.0], [1.0, 0.1, 0.0], [0.0, 9.0, 0.3]])
    bounds = ColumnBounds.of([1.0, 2.0, 0.3], 3)
    held = ColumnMatrix.of(bounds.apply(sp.csr_array(X)), bounds.largest)
    parts = (held.indptr, held.indices, held.values, held.shape, held.x_bound)
    stretched = ColumnMatrix(*parts, stretch=bounds.stretch)
    assert np.array_equal(table_cells(stretched, bounds), table_cells(X, bounds))


def test_a_cell_does_not_depend_on_other_rows():
    X = np.random.default_rng(0).normal(size=(50, 2))
    bounds = ColumnBounds.of([(-1, 2), (0, 1)], 2)
    whole = table_cells(X, bounds)
    for i in range(len(X)):
        assert np.array_equal(table_cells(X[i : i + 1], bounds), whole[i : i + 1])
