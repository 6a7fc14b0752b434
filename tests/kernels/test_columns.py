"""Long columns are found, all of them, wherever runs are cut."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.kernels.columns import RUN, long_columns


@settings(max_examples=100, deadline=None)
@given(
    lengths=st.lists(st.sampled_from([0, 1, 2, 9, 40]), min_size=1, max_size=5 * RUN),
    shortest=st.sampled_from([0, 1, 8, 9, 39, 40]),
    data=st.data(),
)
def test_long_columns(lengths, shortest, data):
    indptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    first = data.draw(st.integers(0, len(lengths)))
    last = data.draw(st.integers(first, len(lengths)))
    out = np.empty(len(lengths), np.int64)
    count = long_columns(indptr, shortest, first, last, out)
    expected = [k for k in range(first, last) if lengths[k] > shortest]
    assert out[:count].tolist() == expected
