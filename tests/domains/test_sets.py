"""Every convex set: projections, linear oracles, membership, against brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dplasso.domains import Box, L1Ball, L2Ball, Simplex
from small_domains import cases, contains

CASES = cases()
numbers = st.floats(-50.0, 50.0)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(CASES)), st.data())
def test_linear_oracle_finds_the_least_vertex(name, data):
    domain, vertices = CASES[name]
    gradient = data.draw(arrays(np.float64, domain.dimension, elements=numbers))
    found = domain.linear_oracle(gradient)
    assert contains(domain, found)
    if vertices is None:
        least = -domain.radius * np.linalg.norm(gradient)
        assert np.linalg.norm(found) == pytest.approx(domain.radius)
    else:
        least = np.min(vertices @ gradient)
        assert np.any(np.all(found == vertices, axis=1))
    assert gradient @ found == pytest.approx(least, rel=1e-9, abs=1e-9)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(CASES)), st.data())
def test_projection_is_the_nearest_point(name, data):
    domain, vertices = CASES[name]
    z = data.draw(arrays(np.float64, domain.dimension, elements=numbers))
    p = domain.project(z)
    assert contains(domain, p)
    # p is nearest exactly where no vertex lies on z's side of the plane through p.
    worst = domain.linear_oracle(p - z) if vertices is None else vertices
    assert np.max((worst - p) @ (z - p)) <= 1e-9 * (1.0 + np.abs(z).max())
    again = domain.project(p)
    assert np.allclose(again, p, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("scale", [1e-300, 1e-20, 1e20, 1e150])
def test_projection_at_extreme_scales(name, scale):
    domain, _ = CASES[name]
    z = scale * np.array([3.0, -2.0, 1.0, 0.5])[: domain.dimension]
    p = domain.project(z)
    assert np.all(np.isfinite(p)) and contains(domain, p)
    far = name in ("l1", "l2") and scale > 1.0  # then on the boundary, not merely inside
    assert not far or not contains(domain, 1.001 * p)


@pytest.mark.parametrize("name", CASES)
def test_start_is_inside(name):
    domain, _ = CASES[name]
    assert contains(domain, domain.start())
    assert not contains(domain, domain.start() + 10.0)


def test_large_l1_projection_is_sparse_and_exact():
    rng = np.random.default_rng(0)
    z = rng.normal(size=200_000) ** 3
    p = L1Ball(len(z), 5.0).project(z)
    level = np.abs(z[p != 0.0]) - np.abs(p[p != 0.0])
    assert np.abs(p).sum() == pytest.approx(5.0, rel=1e-12)
    assert np.ptp(level) < 1e-9 and np.all(np.abs(z[p == 0.0]) <= level[0] + 1e-9)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: L1Ball(0, 1.0), "dimension"),
        (lambda: L2Ball(3, -1.0), "radius"),
        (lambda: Simplex(3, float("nan")), "total"),
        (lambda: Box(2, 1.0, 0.0), "exchange"),
        (lambda: Box(2, [0.0, 0.0, 0.0], 1.0), "one per column"),
    ],
)
def test_impossible_sets_are_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()
