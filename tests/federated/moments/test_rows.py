"""Rows as whole numbers are never longer than their bound, and depend on themselves only."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.federated.moments import rows as module
from dplasso.federated.moments.plan import moment_plan
from dplasso.federated.moments.rows import RowMap, Units, labels_of, whole_rows
from moment_jobs import agreed

FLOATS = st.floats(-1.0, 1.0)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.lists(FLOATS, min_size=3, max_size=3), min_size=1, max_size=5),
    st.integers(1, 2**16),
    st.integers(0, 2**33),
)
def test_no_row_is_longer_than_its_limit(cells, entry, limit):
    rows = whole_rows(np.array(cells), entry, limit)
    for row, given_row in zip(rows.tolist(), cells, strict=True):
        assert sum(value * value for value in row) <= limit
        for value, cell in zip(row, given_row, strict=True):
            assert abs(value) <= abs(cell) * entry and value * cell >= 0
        alone = whole_rows(np.array([given_row]), entry, limit)
        assert alone[0].tolist() == row


def test_a_row_that_is_still_too_long_counts_as_zero(monkeypatch):
    monkeypatch.setattr(module, "_SHRUNK", 1.1)  # as if shortening were wrong
    cells = np.array([[1.0, 1.0], [0.1, 0.0]])
    assert whole_rows(cells, 2**16, 2**32).tolist() == [[0, 0], [6553, 0]]


def test_a_row_that_is_long_keeps_its_direction_and_most_of_its_length():
    rows = np.random.default_rng(0).uniform(-1, 1, (200, 7))
    short = whole_rows(rows, 2**16, 2**30)
    cosines = np.sum(rows * short, axis=1) / np.linalg.norm(rows, axis=1)
    assert np.all(cosines / np.linalg.norm(short, axis=1) > 1 - 1e-7)
    assert np.all(np.linalg.norm(short, axis=1) > 2**15 * 0.999)


def test_entries_are_in_units_of_their_bounds():
    X = [[3.0, -9.0], [1.0, 2.0]]
    assert Units(2.0, 2).of(X).tolist() == [[1.0, -1.0], [0.5, 1.0]]
    assert Units([4.0, 10.0], 2).of(X).tolist() == [[0.75, -0.9], [0.25, 0.2]]
    assert Units([(1, 3), (5, 5)], 2).of(X).tolist() == [[1.0, 0.0], [-1.0, 0.0]]


def test_rows_are_the_same_whatever_else_the_table_holds():
    terms = agreed((3, 1))
    X = np.random.default_rng(0).uniform(-2, 2, (40, 3))
    rows = RowMap(terms, "p0", 1.0)
    assert np.array_equal(rows.whole(X)[17:18], rows.whole(X[17:18]))


def test_rows_do_not_depend_on_how_a_table_is_stored():
    terms = agreed((3, 1))
    X = np.random.default_rng(0).choice([0.0, 0.25, -1.5, 3.0], (20, 3))
    twice = sp.coo_array(
        (np.tile(X.ravel() / 2, 2), np.tile(np.indices(X.shape).reshape(2, -1), 2))
    )
    forms = [X.tolist(), X.astype(np.float32), np.asfortranarray(X), sp.csr_array(X), twice]
    rows = [RowMap(terms, "p0", 1.0).whole(form) for form in forms]
    assert all(np.array_equal(one, rows[0]) for one in rows)
    assert np.array_equal(rows[0], RowMap(terms, "p0", 1.0).whole(X))


def test_labels_are_no_longer_than_an_entry():
    for classes, y in ((0, [9.0, -9.0, 0.3]), (2, [0, 1, 1]), (5, [4, 0, 2])):
        terms = agreed((1, 1), n_classes=classes, y_bound=2.0)
        entry = moment_plan(terms).entry
        labels = labels_of(y, terms, entry)
        assert labels.shape == (3, terms.n_targets)
        assert np.all(np.sum(labels**2, axis=1) <= entry**2)
    assert labels_of([4, 0, 2], terms, 1).tolist() == [
        [0, 0, 0, 0, 1], [1, 0, 0, 0, 0], [0, 0, 1, 0, 0],
    ]  # fmt: skip
