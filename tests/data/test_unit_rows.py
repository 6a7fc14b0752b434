"""Rows of length 1: never longer, each a function of itself alone."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dplasso.data import ColumnMatrix
from dplasso.data.unit_rows import UnitRows

entries = st.just(0.0) | st.floats(-1e30, 1e30) | st.floats(-1.0, 1.0)
matrices = hnp.arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 6)), elements=entries)


def whole(rows: UnitRows) -> np.ndarray:
    """The whole numbers, dense, as Python integers."""
    values = np.ones(len(rows.indices), np.int64) if rows.values is None else rows.values
    matrix = sp.csc_array((values.astype(np.int64), rows.indices, rows.indptr), shape=rows.shape)
    return matrix.toarray().astype(object)


@settings(deadline=None)
@given(matrices, st.sampled_from(["presence", "unit"]))
def test_no_row_is_longer_than_one(X: np.ndarray, scaling: str) -> None:
    rows = UnitRows.of(sp.csr_array(X), scaling)
    for numbers, unit in zip(whole(rows), rows.units, strict=True):
        square = sum(int(number) ** 2 for number in numbers) * Fraction(unit) ** 2
        assert square <= 1
        assert square == 0 or square >= 1 - Fraction(1, 10**9)


@settings(deadline=None)
@given(matrices, st.sampled_from(["presence", "unit"]))
@example(np.array([[1.0], [0.5]]), "unit")
@example(np.array([[1.0, 0.0], [1.0, 0.5]]), "unit")
def test_a_row_is_the_same_whatever_the_others_are(X: np.ndarray, scaling: str) -> None:
    rows = UnitRows.of(X, scaling)
    for i in range(len(X)):
        alone = UnitRows.of(X[i : i + 1], scaling)
        assert alone.whole == rows.whole
        mine, among = (
            [Fraction(number, each.largest) for number in whole(each)[place]]
            for each, place in ((alone, 0), (rows, i))
        )
        assert mine == among
        assert alone.units[0] * alone.largest == rows.units[i] * rows.largest


def test_rows_whose_entries_are_alike_store_no_values() -> None:
    alike = np.array([[1.0, 1.0, 0.0], [0.0, 0.25, 0.0], [0.3, 0.3, 0.3]])
    assert UnitRows.of(alike, "unit").values is None
    assert UnitRows.of(np.vstack([alike, [[1.0, 0.5, 0.0]]]), "unit").values is not None
    assert UnitRows.of(-alike, "unit").values is not None


@settings(deadline=None)
@given(matrices)
def test_entries_stay_in_proportion(X: np.ndarray) -> None:
    rows = UnitRows.of(X, "unit")
    scaled = whole(rows).astype(float) * rows.units[:, None]
    largest = np.abs(X).max(axis=1, keepdims=True)
    kept = (largest > 1e-200)[:, 0]
    expected = X[kept] / largest[kept]
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert scaled[kept] == pytest.approx(expected, abs=2e-6)


def test_presence_ignores_stored_zeros_and_shares_arrays() -> None:
    X = sp.csc_array(([2.0, 0.0, -3.0], ([0, 1, 1], [0, 0, 1])), shape=(2, 2))
    rows = UnitRows.of(X)
    assert whole(rows).tolist() == [[1, 0], [0, 1]]
    assert rows.units == pytest.approx([1.0, 1.0])
    matrix = ColumnMatrix.of(np.array([[2.0, 0.0], [1.0, 3.0]]), 5.0)
    shared = UnitRows.of(matrix)
    assert shared.values is None
    assert shared.indices is matrix.indices


def test_presence_ignores_zeros_that_older_stores_hold() -> None:
    starts, places = np.array([0, 2], np.int32), np.array([0, 1], np.int32)
    values = np.array([2.0, 0.0], np.float32)
    rows = UnitRows.of(ColumnMatrix(starts, places, values, (2, 1), 2.0))
    assert whole(rows).tolist() == [[1], [0]] and rows.units[1] == 0.0


def test_unknown_scaling_is_named() -> None:
    with pytest.raises(ValueError, match="scaling must be 'presence' or 'unit', got 'max'"):
        UnitRows.of([[1.0]], "max")
