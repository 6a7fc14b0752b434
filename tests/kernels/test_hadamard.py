"""The fast transform against the matrix, and sums at places and down columns against numpy."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import hadamard as matrix

from dplasso.kernels import hadamard


@pytest.mark.parametrize("bits", range(9))
def test_transform_is_the_matrix(bits):
    rng = np.random.default_rng(bits)
    whole = rng.integers(-(2**40), 2**40, 1 << bits)
    expected = matrix(1 << bits).astype(np.int64) @ whole
    hadamard.transform(whole)
    assert np.array_equal(whole, expected)
    real = rng.normal(size=1 << bits)
    expected = matrix(1 << bits) @ real
    hadamard.transform(real)
    assert np.allclose(real, expected, rtol=1e-13, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 7), st.sampled_from((-1, 1)), st.integers(-9, 9))))
def test_rows_that_share_a_place_add_up(rows):
    places, signs, values = np.array(rows, np.int64).reshape(-1, 3).T.copy()
    out = np.zeros(8, np.int64)
    hadamard.scatter(places, signs, values, out)
    expected = np.zeros(8, np.int64)
    np.add.at(expected, places, signs * values)
    assert np.array_equal(out, expected)


def test_column_scores_are_exact_where_doubles_are_not():
    rng = np.random.default_rng(0)
    X = sp.random_array((500, 30), density=0.3, rng=rng, format="csc")
    values = rng.integers(-(2**16), 2**16, X.nnz).astype(np.int32)
    weights = rng.integers(-(2**44), 2**44, 500)
    columns = np.array([29, 3, 3, 0, 17])
    out = np.empty(5, np.int64)
    hadamard.column_scores(X.indptr, X.indices, values, weights, columns, out)
    dense = sp.csc_array((values.astype(np.int64), X.indices, X.indptr), shape=X.shape).toarray()
    exact = [
        sum(int(a) * int(w) for a, w in zip(dense[:, c], weights, strict=True)) for c in columns
    ]
    assert out.tolist() == exact
    assert max(map(abs, exact)) > 2**53
