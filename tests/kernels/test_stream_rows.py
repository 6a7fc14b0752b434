"""Rows of a stream: unsound ones are found, and products are plain ones."""

import numpy as np
import pytest
import scipy.sparse as sp

from dplasso.kernels import stream_rows


@pytest.mark.parametrize(
    ("columns", "values", "finding"),
    [
        ([0, 2], [1.0, -1.0], stream_rows.FINE),
        ([], [], stream_rows.FINE),
        ([1, 1], [1.0, 1.0], stream_rows.OUT_OF_ORDER),
        ([2, 1], [1.0, 1.0], stream_rows.OUT_OF_ORDER),
        ([1, 3], [1.0, 1.0], stream_rows.OUT_OF_RANGE),
        ([-1], [1.0], stream_rows.OUT_OF_RANGE),
        ([1], [np.nan], stream_rows.NOT_FINITE),
        ([1], [np.inf], stream_rows.NOT_FINITE),
    ],
)
def test_unsound_rows_are_found(columns, values, finding):
    starts = np.array([0, 0, len(columns)])
    row = (starts, np.array(columns, np.int32), np.array(values))
    assert stream_rows.finding(*row, 3) == finding


def test_margins_are_products_with_the_weights():
    X = sp.random_array((20, 7), density=0.4, rng=np.random.default_rng(0), format="csr")
    weights, margins = np.arange(7.0), np.empty(20)
    stream_rows.margins_of(weights, X.indptr, X.indices, X.data, margins)
    assert np.allclose(margins, X @ weights, rtol=1e-13)
