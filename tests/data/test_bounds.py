"""Bounds per column: what they mean, and what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from dplasso.data import ColumnBounds, ColumnMatrix
from dplasso.data.clip_limit import clip_limit
from dplasso.data.sparse_bounds import SparseBounds

BOUNDS = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=6)


@given(BOUNDS, st.integers(0, 2**32))
def test_stretching_is_clipping_every_column_to_its_own_bound(bounds, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(7, len(bounds))) * np.array(bounds) * 2
    found = ColumnBounds.of(bounds, len(bounds))
    held = ColumnMatrix.of(found.apply(X), found.largest)
    values = sp.csc_array((held.values, held.indices, held.indptr), shape=held.shape).toarray()
    stretch = 1.0 if found.stretch is None else found.stretch
    clipped = np.clip(X * stretch, -clip_limit(found.largest), clip_limit(found.largest))
    np.testing.assert_array_equal(values, clipped)
    np.testing.assert_allclose(
        values / stretch, np.clip(X, -np.array(bounds), bounds), rtol=2e-7, atol=1e-300
    )
    assert np.abs(values).max() <= max(bounds)


@given(BOUNDS, st.integers(0, 2**32))
def test_margins_are_the_same_on_stretched_columns_and_unstretched_weights(bounds, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.999, 0.999, size=(5, len(bounds))) * bounds
    w = sp.csr_array(rng.normal(size=(2, len(bounds))))
    found = ColumnBounds.of(bounds, len(bounds))
    np.testing.assert_allclose(
        X @ found.unstretched(w).T,
        sp.csc_array(found.apply(X)).toarray() @ w.T,
        rtol=1e-9,
        atol=1e-9,
    )


def test_equal_bounds_are_one_bound():
    assert ColumnBounds.of([2.0, 2.0], 2) == ColumnBounds.of(2.0, 2) == ColumnBounds(2.0, None)


def test_by_name():
    names = np.array(["age", "dose"], dtype=object)
    found = ColumnBounds.of({"dose": 5, "age": 120}, 2, names)
    assert found.largest == 120 and found.stretch.tolist() == [1.0, 24.0]


@pytest.mark.parametrize(
    "x_bound",
    [0, -1.0, np.inf, np.nan, True, "a", None, [], [[1.0]], [1.0], [1.0, -1.0, 1.0], [1, 1e40, 1]],
)
def test_what_is_no_bound_is_refused(x_bound):
    with pytest.raises(ValueError, match="x_bound"):
        ColumnBounds.of(x_bound, 3)


@pytest.mark.parametrize("x_bound", [{"a": 1.0}, {"a": 1.0, "b": 1.0, "c": 1.0}])
def test_names_must_match(x_bound):
    with pytest.raises(ValueError, match="x_bound must map every feature name"):
        ColumnBounds.of(x_bound, 2, np.array(["a", "b"], dtype=object))


def test_names_need_a_frame():
    said = r"x_bound maps feature names, but X has none.*set_output\(transform="
    with pytest.raises(ValueError, match=said):
        ColumnBounds.of({"a": 1.0}, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, bool])
@pytest.mark.parametrize("x_bound", [0.3, 1.0, 5.0])
def test_the_constant_column(dtype, x_bound):
    X = sp.csc_array(np.array([[1, 0], [0, 1], [1, 0]], dtype=dtype))
    held = ColumnMatrix.of(X, x_bound).with_constant()
    values = np.ones(held.entries) if held.values is None else held.values
    full = sp.csc_array((values, held.indices, held.indptr), shape=held.shape).toarray()
    assert full.shape == (3, 3) and np.all(full[:, 2] == held.constant)
    assert held.constant <= x_bound and held.constant == pytest.approx(x_bound)
    np.testing.assert_array_equal(full[:, :2], np.minimum(X.toarray(), full[0, 2]))
    if held.norm1 is not None:
        assert np.all(held.norm1 * x_bound >= np.abs(full).sum(axis=0))


def test_ranges_are_read_from_pairs_bounds_and_names():
    """A bound among pairs is the range from minus it to it."""
    names = np.array(["age", "dose"], dtype=object)
    listed = ColumnBounds.of([(18, 120), 5], 2)
    named = ColumnBounds.of({"dose": 5.0, "age": [18, 120]}, 2, names)
    array = ColumnBounds.of(np.array([[18, 120], [-5, 5]]), 2)
    for found in (listed, named, array):
        assert found.ranges.tolist() == [[18.0, 120.0], [-5.0, 5.0]]
        assert [end.tolist() for end in found.ends(2)] == [[18.0, -5.0], [120.0, 5.0]]
        assert found.largest == 120.0 and found.stretch.tolist() == [1.0, 24.0]
    among = ColumnBounds.of([(18, 120), 5], 2, among=np.array([1]))
    assert among.ranges.tolist() == [[-5.0, 5.0]] and among.stretch.tolist() == [24.0]


def test_indicators_are_columns_with_a_declared_range_from_0_to_1():
    listed = [(0, 1), 1.0, (0, 1.5), (-1, 1), (0.0, 1.0)]
    assert ColumnBounds.of(listed, 5).indicators.tolist() == [0, 4]
    assert ColumnBounds.of(np.array([[0, 1], [0, 2]]), 2).indicators.tolist() == [0]
    sparse = SparseBounds(6, {2: 1.0, 5: 9.0}, {2: (0.0, 1.0), 5: (0.0, 9.0)})
    assert ColumnBounds.of(sparse, 6).indicators.tolist() == [2]
    assert len(ColumnBounds.of(1.0, 4).indicators) == 0


def test_bounds_without_pairs_have_no_ranges():
    for x_bound in (2.0, [2.0, 3.0], np.array([2.0, 3.0])):
        assert ColumnBounds.of(x_bound, 2).ranges is None


@given(st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3)).map(sorted), min_size=1))
def test_other_solvers_clip_ranges_to_the_larger_end(pairs):
    """Never below an end: single precision, in which entries are clipped, is rounded up."""
    sizes = np.maximum(np.abs(pairs).max(axis=1), 1e-6)
    pairs = np.where(np.abs(pairs).max(axis=1, keepdims=True) < 1e-6, [[-1e-6, 1e-6]], pairs)
    found = ColumnBounds.of(pairs, len(pairs))
    own = found.largest / (1.0 if found.stretch is None else found.stretch)
    assert np.all(own >= sizes * (1.0 - 1e-12)) and np.all(own <= sizes * (1.0 + 2e-7))
    assert clip_limit(found.largest) == found.largest


@pytest.mark.parametrize(
    "x_bound",
    [
        [(1, 0), 1.0, 1.0],
        [(0, np.inf), 1.0, 1.0],
        [(0, np.nan), 1.0, 1.0],
        [(0, 1, 2), 1.0, 1.0],
        [(0,), 1.0, 1.0],
        [(0, 1), "a", 1.0],
        [(0, 1), None, 1.0],
        [(0, 1), True, 1.0],
        [(0, 1), 0.0, 1.0],
        [(0, 1), -1.0, 1.0],
        [(0, 1), np.nan, 1.0],
        [(0, 10**400), 1.0, 1.0],
        [[[0, 1], [0]], 1.0, 1.0],
        [(0, 1), (0, 1)],
        np.ones((3, 3)),
        1j,
        object(),
    ],
)
def test_what_is_no_range_is_refused(x_bound):
    with pytest.raises(ValueError, match="x_bound"):
        ColumnBounds.of(x_bound, 3)


def test_sparse_bounds_with_ranges_are_those_of_a_list():
    sparse = SparseBounds(5, {0: 90.0, 3: 4.0}, {0: (17.0, 90.0), 1: (0.0, 1.0)})
    listed = ColumnBounds.of([(17, 90), (0, 1), 1.0, 4.0, 1.0], 5)
    found = ColumnBounds.of(sparse, 5)
    assert np.array_equal(found.ranges, listed.ranges)
    assert found.paired.tolist() == listed.paired.tolist() == [0, 1]
    assert np.array_equal(found.stretch, listed.stretch) and found.largest == listed.largest
    among = ColumnBounds.of(sparse, 5, None, np.array([1, 3]))
    assert among.ranges.tolist() == [[0.0, 1.0], [-4.0, 4.0]]
    assert sparse != SparseBounds(5, {0: 90.0, 3: 4.0})
    assert ColumnBounds.of(SparseBounds(1, {}, {0: (0.0, 1.0)}), 1).paired is None
