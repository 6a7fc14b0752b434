"""Repeated entries are added by their values, whatever order or kind of matrix they came in."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.data import ColumnBounds, ColumnMatrix
from dplasso.data.merging import merged
from dplasso.data.row_maps import clipped, mapped
from dplasso.estimators.online_rows import RowForm
from dplasso.streams.whole_rows import WholeRows

numbers = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def entries(draw):
    """Coordinates with repeats, and the same in another order."""
    one = st.tuples(st.integers(0, 2), st.integers(0, 2), numbers)
    found = draw(st.lists(one, max_size=20))
    return found, draw(st.permutations(found))


def coo(found, kind=np.float64):
    rows, columns, values = (np.array(field) for field in zip(*found, strict=True))
    return sp.coo_array((values.astype(kind), (rows, columns)), shape=(3, 3))


def bits(matrix):
    return matrix.toarray().astype(np.float64).tobytes()


@settings(deadline=None)
@given(entries(), st.sampled_from(["csr", "csc"]))
def test_the_order_of_entries_does_not_show(pair, form):
    one, other = pair
    if not one:
        return
    wanted = merged(coo(one), form)
    assert np.isfinite(wanted.data).all() and np.all(wanted.data != 0)
    assert bits(merged(coo(other), form)) == bits(wanted)
    for given_as in ("csr", "csc"):
        unmerged = coo(other)
        unmerged.has_canonical_format = True  # keeps scipy from adding them up
        assert bits(merged(unmerged.asformat(given_as), form)) == bits(wanted)


@settings(deadline=None)
@given(entries())
def test_every_door_adds_them_alike(pair):
    one, other = pair
    if not one:
        return
    rows, again = coo(one), coo(other)
    bounds = ColumnBounds.of([1.1, 0.3, 2.7], 3)
    for door in (
        lambda X: ColumnMatrix.of(X, 1.1).sparse(),
        lambda X: clipped(X, 1.1),
        lambda X: mapped(X, "presence"),
        bounds.apply,
    ):
        assert bits(door(again)) == bits(door(rows))
    form = RowForm(3, unit=True, intercept=False)
    for ours, theirs in zip(form.of_matrix(rows), form.of_matrix(again), strict=True):
        assert ours.tobytes() == theirs.tobytes()
    for (_, ours), (_, theirs) in zip(
        WholeRows(3, 1.0, 30, 3, "clip").of(rows),
        WholeRows(3, 1.0, 30, 3, "clip").of(again),
        strict=True,
    ):
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize(
    "kind", [np.int8, np.uint8, np.int64, np.uint64, np.float32, np.longdouble]
)
def test_sums_of_any_kind_are_in_double_precision(kind):
    found = [(0, 1, 100), (0, 1, 100), (0, 1, 55)]
    assert merged(coo(found, kind), "csr").toarray()[0, 1] == 255.0
    assert ColumnMatrix.of(coo(found, kind), 300.0).values.tolist() == [255.0]
    large = [(0, 1, 2**24), (0, 1, 1)] if kind is np.float32 else [(0, 1, 127), (0, 1, 1)]
    assert merged(coo(large, kind), "csr").toarray()[0, 1] == sum(v for _, _, v in large)


def test_a_sum_beyond_the_largest_number_is_clipped_like_any_other():
    rows = coo([(0, 0, 1.7e308), (0, 0, 1.7e308), (1, 1, -1.7e308), (1, 1, -1.7e308)])
    assert merged(rows, "csc").toarray()[0, 0] == np.finfo(np.float64).max
    held = ColumnMatrix.of(rows, 2.5).sparse().toarray()
    assert held[0, 0] == 2.5 and held[1, 1] == -2.5


def test_truths_count_one_each():
    twice = coo([(0, 0, 1), (0, 0, 1), (1, 2, 1)], bool)
    assert merged(twice, "csr").toarray()[0, 0] == 2.0
    assert ColumnMatrix.of(twice, 5.0).values.tolist() == [2.0, 1.0]


def test_entries_that_cancel_are_not_there():
    assert merged(coo([(0, 0, 0.1), (0, 0, -0.1), (1, 2, 0.0)]), "csr").nnz == 0


def test_features_of_a_dict_that_share_a_bucket_are_added_in_any_order():
    form = RowForm(1, unit=False, intercept=False)
    row = {"a": 0.1, "b": 0.2, "c": 0.3, "d": -1e17, "e": 1e17}
    sums = {
        form.of_dicts([dict(items)])[2].tobytes()
        for items in (
            row.items(),
            sorted(row.items(), key=lambda item: item[1]),
            reversed(row.items()),
        )
    }
    assert len(sums) == 1
