"""Sums of 90 bits, kept as 64 bits and a size, are exact."""

import numpy as np
import pytest

from dplasso.kernels.band import add_weighted


@pytest.mark.parametrize("count", [1, 3, 4, 9, 300])
def test_sums_beyond_64_bits_are_exact(count: int) -> None:
    rng = np.random.default_rng(count)
    vectors = rng.integers(-(2**51), 2**51, (count, 2100))
    weights = rng.integers(0, 2**30, count)
    weights[count // 2] = 0
    low, high = np.zeros(2100, np.int64), np.zeros(2100)
    for first, last in ((0, 7), (7, 1500), (1500, 2100)):
        add_weighted(vectors, weights, first, last, low, high)
    beyond = np.rint((high - low) * 2.0**-64).astype(np.int64)
    for place in rng.integers(0, 2100, 50).tolist():
        exact = sum(int(w) * int(v) for w, v in zip(weights, vectors[:, place], strict=True))
        assert (int(beyond[place]) << 64) + int(low[place]) == exact
