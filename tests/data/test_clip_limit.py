"""One public limit for every bound."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dplasso.data.clip_limit import clip_limit, clipped_in_place, held_single

bounds = st.floats(min_value=5e-324, allow_infinity=False, allow_nan=False)


@given(bounds)
@example(0.1)
@example(2.0**-126)
@example(float(np.nextafter(2.0**-126, 0)))
@example(float(np.finfo(np.float32).max))
@example(3.5e38)
def test_the_limit_is_the_largest_number_that_both_precisions_hold(x_bound):
    limit = clip_limit(x_bound)
    assert 0 < limit <= x_bound
    if not held_single(x_bound):
        assert limit == x_bound
        return
    single = np.float32(limit)
    assert float(single) == limit
    with np.errstate(over="ignore"):
        assert float(np.nextafter(single, np.float32(np.inf))) > x_bound


@given(bounds, st.sampled_from([np.float32, np.float64]))
def test_both_precisions_are_clipped_to_the_same_number(x_bound, kind):
    if kind is np.float32 and not held_single(x_bound):
        return
    largest = np.finfo(kind).max
    clipped = clipped_in_place(np.array([largest, -largest, 0.0], kind), x_bound)
    limit = min(clip_limit(x_bound), float(largest))
    assert clipped.astype(np.float64).tolist() == [limit, -limit, 0.0]


@pytest.mark.parametrize("x_bound", [0.1, 2.7, 1 / 3])
def test_a_limit_is_close_to_its_bound(x_bound):
    assert clip_limit(x_bound) == pytest.approx(x_bound, rel=2.0**-23)
