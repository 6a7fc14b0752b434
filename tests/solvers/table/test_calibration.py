"""The correction of a table's probabilities is defined for every release."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.kernels.calibration import TWO_CLASS_WEIGHT, UNIT
from dplasso.solvers.calibration import LEAST_SCALE, MOST_SCALE, STEPS, Calibration, terms_of


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([1, 3]),
    st.sampled_from([10**3, 10**6, 10**10]),
    st.floats(1e-3, 1e12),
    st.integers(0, 2**32 - 1),
)
def test_a_correction_survives_sums_of_every_size(outputs, rows, sigma, seed):
    """All rows may have one margin, and the curvature is then of rank 1 up to its noise."""
    rng = np.random.default_rng(seed)
    found = Calibration(rows, sigma, np.full(max(outputs, 2), 0.5), np.zeros(outputs))
    for _ in range(STEPS):
        sums = rng.normal(size=terms_of(outputs)) * sigma
        if outputs == 1:
            sums[2:] += rows * UNIT * TWO_CLASS_WEIGHT / 4.0
        found.receive(np.clip(sums, -(2.0**62), 2.0**62).astype(np.int64))
    scale, shifts = found.correction
    assert LEAST_SCALE <= scale <= MOST_SCALE and np.all(np.isfinite(shifts))
