"""Helpers for tests of column stores."""

import os

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from dplasso.data.row_chunks import RowChunk
from dplasso.storage.column_builder import build_store

MEMORY = 65 << 20
OURS = "x.dpc"


def chunks_of(X, y, size):
    for first in range(0, X.shape[0], size):
        part = X[first : first + size]
        indptr = part.indptr.astype(np.int64)
        yield RowChunk(y[first : first + size], indptr, part.indices, part.data.astype(np.float64))


def problem(rows=60, columns=11, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    X = sp.random_array((rows, columns), density=0.3, rng=rng, format="csr")
    X.data = np.round(scale * (2 * X.data - 1), 3)
    X.eliminate_zeros()
    return X, rng.integers(0, 2, rows).astype(np.float64)


def build(path, X, y, **options):
    return build_store(path, chunks_of(X, y, 13), X.shape[1], memory=MEMORY, **options)


def chunk(labels, rows, values=None):
    """Rows from lists of columns."""
    indices = np.array([column for row in rows for column in row], np.int32)
    indptr = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    values = np.ones(len(indices)) if values is None else np.array(values, np.float64)
    return RowChunk(np.array(labels, np.float64), indptr, indices, values)


def assert_same(found, wanted):
    """Equal arrays; precision of values may differ."""
    assert found.shape == wanted.shape and found.x_bound == wanted.x_bound
    assert np.array_equal(found.indptr, wanted.indptr)
    assert np.array_equal(found.indices, wanted.indices)
    for ours, theirs in ((found.values, wanted.values), (found.norm1, wanted.norm1)):
        assert (ours is None) == (theirs is None)
        assert ours is None or np.array_equal(ours, theirs)


def assert_nothing_beside(folder, *names):
    assert sorted(os.listdir(folder)) == sorted(names)


ROWS = st.lists(
    st.dictionaries(
        st.integers(0, 5),
        st.one_of(st.just(1.0), st.floats(-2, 2, width=32), st.floats(-2, 2)),
        max_size=6,
    ),
    min_size=1,
    max_size=30,
)
