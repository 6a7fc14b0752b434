"""Rows become whole numbers that are never too long, whatever they were."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dplasso.streams.whole_rows import WholeRows

floats = st.floats(allow_nan=False, allow_infinity=False)
near_one = st.floats(0.999999, 1.000001)


def one(values: np.ndarray, sensitivity: float, bits: int, too_long: str = "clip") -> np.ndarray:
    ((where, whole),) = WholeRows(len(values), sensitivity, bits, 1, too_long).of(values)
    assert where == slice(None) and whole.dtype == np.int64
    return whole


def square(whole: np.ndarray) -> int:
    return sum(int(value) ** 2 for value in whole)


@settings(max_examples=300)
@given(
    values=arrays(np.float64, st.integers(1, 30), elements=floats),
    sensitivity=st.floats(1e-100, 1e100),
    bits=st.integers(1, 30),
)
def test_no_row_is_longer_than_it_may_be(values, sensitivity, bits) -> None:
    assert square(one(values, sensitivity, bits)) <= 4**bits


@settings(max_examples=300)
@given(
    direction=arrays(np.float64, st.integers(1, 30), elements=st.floats(-1.0, 1.0)),
    stretch=near_one,
    sensitivity=st.floats(0.1, 10.0),
    bits=st.sampled_from([20, 25, 30]),
)
def test_rows_about_as_long_as_the_bound(direction, stretch, sensitivity, bits) -> None:
    """Where rounding could lengthen them; and they lose next to nothing."""
    length = np.linalg.norm(direction)
    if length < 1e-3:
        return
    values = direction / length * sensitivity * stretch
    whole = one(values, sensitivity, bits)
    assert square(whole) <= 4**bits
    kept = values * min(1.0, sensitivity / np.linalg.norm(values))
    unit = sensitivity / 2**bits
    assert np.all(np.abs(whole * unit - kept) <= unit * (1 + 1e-3) + 1e-9 * sensitivity * 2**-10)
    assert np.all(np.abs(whole * unit) <= np.abs(kept) * (1 + 1e-9))  # cut towards 0


def test_rows_on_the_grid_are_exact_up_to_the_bound() -> None:
    assert one(np.array([3.0, 4.0]), 5.0, 30).tolist() == [3 * 2**30 // 5, 4 * 2**30 // 5]
    assert one(np.array([1.0, 0.0]), 1.0, 30).tolist() == [2**30, 0]
    assert one(np.array([-0.5, 0.25]), 1.0, 4).tolist() == [-8, 4]


def test_a_row_too_long_by_less_than_floating_point_can_tell() -> None:
    """Its length is 1 to the last digit of a double, and more than 1."""
    assert square(one(np.array([1.0, 2.0**-30]), 1.0, 30)) <= 4**30


def test_long_rows_keep_their_direction() -> None:
    whole = one(np.array([3e200, -4e200]), 1.0, 30)
    assert whole / 2**30 == pytest.approx([0.6, -0.8], abs=1e-8)
    huge = one(np.array([1.7e308, 1.7e308]), 1.0, 30)
    assert huge / 2**30 == pytest.approx([0.5**0.5] * 2, abs=1e-8)


def total(rows: object, dimension: int, batch: int) -> np.ndarray:
    out = np.zeros(dimension, np.int64)
    for where, values in WholeRows(dimension, 1.0, 25, batch, "clip").of(rows):
        out[where] += values
    return out


@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_sparse_rows_are_dense_rows(seed: int, batch: int) -> None:
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(batch, 12)) * (rng.random((batch, 12)) < 0.4)
    wanted = total(dense, 12, batch)
    for kind in (sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix):
        assert np.array_equal(total(kind(dense), 12, batch), wanted)
    if batch == 1:
        held = np.flatnonzero(dense[0])
        assert np.array_equal(total((held, dense[0, held]), 12, 1), wanted)
        assert np.array_equal(total(dense[0], 12, 1), wanted)
        assert np.array_equal(total(sp.coo_array(dense[0]), 12, 1), wanted)


def test_entries_that_stand_twice_are_added_up_before_they_are_clipped() -> None:
    twice = sp.csr_array((np.array([0.9, 0.9]), np.array([1, 1]), np.array([0, 2])), shape=(1, 3))
    assert total(twice, 3, 1).tolist() == pytest.approx([0, 2**25, 0], abs=1)
    assert twice.nnz == 2  # the caller's matrix is left alone


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.zeros(4), "rows must have 3 columns"),
        (np.zeros((1, 1, 3)), "rows must have 3 columns"),
        (sp.csr_array((1, 4)), "rows must have 3 columns"),
        (np.zeros((2, 3)), "rows of one step must be 1, got 2"),
        (np.zeros((0, 3)), "rows of one step must be 1, got 0"),
        (np.array([1.0, np.nan, 0.0]), "rows must be finite numbers"),
        (([0, 1], [1.0, np.inf]), "rows must be finite numbers"),
        (([0, 0], [1.0, 1.0]), "different indices from 0 to 2"),
        (([0, 3], [1.0, 1.0]), "different indices from 0 to 2"),
        (([-1], [1.0]), "different indices from 0 to 2"),
        (([0.5], [1.0]), "whole indices and as many values"),
        (([0, 1], [1.0]), "whole indices and as many values"),
        (([0], [1.0], [2.0]), "rows must have 3 columns, got a tuple of 3"),
        ("abc", "rows must be numbers, got str"),
    ],
)
def test_what_is_no_row_is_refused(rows, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WholeRows(3, 1.0, 25, 1, "clip").of(rows)


def test_an_empty_pair_is_a_row_of_zeros() -> None:
    assert not total(([], []), 3, 1).any()


def test_long_rows_are_refused_where_told_so() -> None:
    with pytest.raises(ValueError, match="rows must not be longer than sensitivity"):
        one(np.array([1.0, 0.1]), 1.0, 25, "refuse")
    assert square(one(np.array([1.0 + 1e-12, 0.0]), 1.0, 25, "refuse")) <= 4**25


def test_numpy_set_to_raise_has_nothing_to_say_of_rows():
    """Entries next to nothing underflow beside large ones, and no error may tell of them."""
    rows = WholeRows(2, 1.0, 30, 1, "clip")
    with np.errstate(all="raise"):
        for row in ([1e308, 1e-300], [1.0, 5e-324], [5e-324, 0.0]):
            rows.of(np.array(row))
