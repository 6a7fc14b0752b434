"""Local linear oracles keep their two promises: as good as any point near, and not far."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial import ConvexHull

from dplasso.domains import L1Ball
from dplasso.domains.mixture import MixtureWalk
from small_domains import best_near, cases, nearest

CASES = cases()
CLOSED = ["box", "l1", "l2", "simplex"]
MIXED = ["birkhoff", "flow"]
numbers = st.floats(-3.0, 3.0)
radii = st.floats(1e-3, 3.0)


def promises(x, p, gradient, radius, reach, project):
    """By how much a promise is broken: value lost to the best near point, distance too far."""
    lost = gradient @ p - best_near(project, x, gradient, radius)
    return lost, np.linalg.norm(x - p) - reach * radius


@settings(max_examples=250, deadline=None)
@given(st.sampled_from(CLOSED), st.data(), radii)
def test_closed_forms(name, data, radius):
    domain, _ = CASES[name]
    draw = arrays(np.float64, domain.dimension, elements=numbers)
    x, gradient = domain.project(data.draw(draw)), data.draw(draw)
    p = domain.local_oracle(x, gradient, radius)
    lost, far = promises(x, p, gradient, radius, domain.reach, domain.project)
    assert domain.contains(p, 1e-9)
    assert lost <= 1e-7 and far <= 1e-7


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(MIXED), st.data(), radii)
def test_mixtures_of_vertices(name, data, radius):
    domain, vertices = CASES[name]
    weights = np.array(data.draw(st.lists(st.floats(0.0, 1.0), min_size=6, max_size=6)))
    weights = np.resize(weights, len(vertices)) + 1e-3
    gradient = data.draw(arrays(np.float64, domain.dimension, elements=numbers))
    weights /= weights.sum()
    walk = MixtureWalk(
        sp.csr_array(vertices), weights, domain.linear_oracle, domain.mass_per_length
    )
    x, gap = walk.x, walk.look(gradient)
    p = walk.aim(radius)
    assert gap == pytest.approx(gradient @ x - np.min(vertices @ gradient), abs=1e-9)
    lost, far = promises(x, p, gradient, radius, domain.reach, lambda z: nearest(vertices, z))
    assert domain.contains(p) and lost <= 1e-6 and far <= 1e-9
    walk.move(0.25)
    assert np.allclose(walk.x, 0.75 * x + 0.25 * p, rtol=0, atol=1e-12)


def hull(seed, dimension, points):
    """A random polytope about the origin, and Garber and Hazan's constant of it, by definition."""
    rng = np.random.default_rng(seed)
    cloud = rng.normal(size=(points, dimension))
    vertices = cloud / np.linalg.norm(cloud, axis=1, keepdims=True)
    facets = ConvexHull(vertices).equations
    slack = -(vertices @ facets[:, :-1].T + facets[:, -1])
    least = slack[slack > 1e-9].min()
    stretch = max(
        np.linalg.norm(facets[list(rows), :-1], 2)
        for rows in itertools.combinations(range(len(facets)), dimension)
    )
    return vertices, np.sqrt(dimension) * stretch / least


def worst_loss(vertices, mass_per_length, seed, tries):
    """Largest value lost to a near point over random mixtures, gradients and radii."""
    rng, worst = np.random.default_rng(seed), -np.inf
    for _ in range(tries):
        weights = rng.dirichlet(np.full(len(vertices), 0.3))
        walk = MixtureWalk(
            sp.csr_array(vertices),
            weights,
            lambda g: vertices[np.argmin(vertices @ g)],
            mass_per_length,
        )
        x, gradient = walk.x, rng.normal(size=vertices.shape[1])
        radius = float(np.exp(rng.uniform(-6.0, 0.0)))
        walk.look(gradient)
        p = walk.aim(radius)
        reach = 2.0 * mass_per_length
        lost, far = promises(x, p, gradient, radius, reach, lambda z: nearest(vertices, z))
        assert far <= 1e-9
        worst = max(worst, lost / radius)
    return worst


@pytest.mark.parametrize(("dimension", "points"), [(2, 4), (2, 7), (3, 6)])
def test_random_polytopes(dimension, points):
    for seed in range(6):
        vertices, constant = hull(seed, dimension, points)
        assert worst_loss(vertices, constant, seed, tries=12) <= 1e-4


def test_less_mass_would_break_the_promise():
    vertices, constant = hull(0, 2, 4)
    assert worst_loss(vertices, constant / 10.0, 0, tries=12) > 1e-2


@pytest.mark.parametrize("name", MIXED)
def test_walks_keep_few_vertices_and_stay_inside(name):
    domain, vertices = CASES[name]
    walk, rng = domain.begin(), np.random.default_rng(5)
    for _ in range(200):
        walk.look(rng.normal(size=domain.dimension))
        walk.aim(0.3)
        walk.move(1.0)
        assert domain.contains(walk.x)
    assert len(walk.state()["mixture"]) <= len(vertices)


def test_large_l1_ball_touches_its_nonzeros_and_one_more():
    ball = L1Ball(1_000_000, 1.0)
    x, gradient = np.zeros(ball.dimension), np.zeros(ball.dimension)
    x[[3, 500_000]] = 0.5, -0.5
    gradient[[3, 7]] = 1.0, -2.0
    p = ball.local_oracle(x, gradient, 0.1)
    # Two nonzeros and no slack: L1 distance 4/sqrt(2) * 0.1, half of it off entry 3.
    assert np.flatnonzero(p).tolist() == [3, 7, 500_000]
    assert p[7] == pytest.approx(0.1 * np.sqrt(2.0)) and p[3] == pytest.approx(0.5 - p[7])
