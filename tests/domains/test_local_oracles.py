"""Local linear oracles keep their two promises: as good as any point near, and not far."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dplasso.domains import L1Ball
from small_domains import best_near, cases, contains

CASES = cases()
numbers = st.floats(-3.0, 3.0)
radii = st.floats(1e-3, 3.0)


def promises(x, p, gradient, radius, reach, project):
    """By how much a promise is broken: value lost to the best near point, distance too far."""
    lost = gradient @ p - best_near(project, x, gradient, radius)
    return lost, np.linalg.norm(x - p) - reach * radius


@settings(max_examples=250, deadline=None)
@given(st.sampled_from(sorted(CASES)), st.data(), radii)
def test_closed_forms(name, data, radius):
    domain, _ = CASES[name]
    draw = arrays(np.float64, domain.dimension, elements=numbers)
    x, gradient = domain.project(data.draw(draw)), data.draw(draw)
    p = domain.local_oracle(x, gradient, radius, domain.linear_oracle(gradient))
    lost, far = promises(x, p, gradient, radius, domain.reach, domain.project)
    assert contains(domain, p)
    assert lost <= 1e-7 and far <= 1e-7


def test_large_l1_ball_touches_its_nonzeros_and_one_more():
    ball = L1Ball(1_000_000, 1.0)
    x, gradient = np.zeros(ball.dimension), np.zeros(ball.dimension)
    x[[3, 500_000]] = 0.5, -0.5
    gradient[[3, 7]] = 1.0, -2.0
    p = ball.local_oracle(x, gradient, 0.1, ball.linear_oracle(gradient))
    # Two nonzeros and no slack: L1 distance 4/sqrt(2) * 0.1, half of it off entry 3.
    assert np.flatnonzero(p).tolist() == [3, 7, 500_000]
    assert p[7] == pytest.approx(0.1 * np.sqrt(2.0)) and p[3] == pytest.approx(0.5 - p[7])
