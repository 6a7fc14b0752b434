"""Leaders minimise what they say: against the published objective, and numerically."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dplasso.domains import L1Ball, L2Ball
from dplasso.online import OracleLeader, ProjectedLeader
from dplasso.online.leaders import certified_radius
from dplasso.online.objective import LeaderObjective
from small_domains import cases, contains

CASES = cases()
numbers = st.floats(-2.0, 2.0)


def published(x, gradients, points, mu, start, start_rows):
    """<g, x> + mu/2 sum ||x - x_tau||^2 + C_0 mu/2 ||x - x_1||^2, g with those of the L2 term."""
    g = (gradients + mu * points).sum(axis=0)
    squares = np.sum((x - points) ** 2) + start_rows * np.sum((x - start) ** 2)
    return g @ x + mu / 2.0 * squares


@settings(max_examples=100, deadline=None)
@given(
    arrays(np.float64, (4, 3), elements=numbers),
    arrays(np.float64, (4, 3), elements=numbers),
    arrays(np.float64, (2, 3), elements=numbers),
    st.floats(0.01, 5.0),
    st.sampled_from([0.0, 2.5]),
)
def test_the_simple_objective_is_the_published_one_but_for_a_constant(
    gradients, points, at, mu, start_rows
):
    start = points[0]
    objective = LeaderObjective(mu, start, start_rows)
    total = gradients.sum(axis=0)
    x, y = at
    difference = published(x, gradients, points, mu, start, start_rows) - published(
        y, gradients, points, mu, start, start_rows
    )
    # A quadratic: its difference is the gradient in the middle times the way.
    middle = objective.gradient(total, 4, (x + y) / 2.0)
    assert middle @ (x - y) == pytest.approx(difference, rel=1e-9, abs=1e-9)
    least = objective.minimiser(total, 4)
    assert np.allclose(objective.gradient(total, 4, least), 0.0, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(CASES)), st.data(), st.floats(0.05, 2.0), st.sampled_from([0.0, 3.0]))
def test_projected_step_is_the_published_minimum_over_the_set(name, data, mu, start_rows):
    domain, _ = CASES[name]
    history = arrays(np.float64, (5, domain.dimension), elements=numbers)
    gradients, raw = data.draw(history), data.draw(history)
    points = np.array([domain.project(z) for z in raw])
    leader = ProjectedLeader(domain, mu, start_rows)
    start = domain.start()
    leader.follow(gradients.sum(axis=0), 5)
    ours = published(leader.weights, gradients, points, mu, start, start_rows)
    assert contains(domain, leader.weights)
    # Towards no vertex can it be lower, however short the way.
    for z in np.concatenate([raw, -3.0 * raw]):
        for share in (1.0, 0.1, 0.001):
            other = leader.weights + share * (domain.project(z) - leader.weights)
            assert ours <= published(other, gradients, points, mu, start, start_rows) + 1e-9


def test_the_published_step_without_its_division_is_not_the_minimum():
    ball, mu = L2Ball(2, 10.0), 1.0
    points, gradients = np.array([[1.0, 0.0], [0.5, 0.0]]), np.array([[1.0, 0.0], [0.0, 0.0]])
    g = (gradients + mu * points).sum(axis=0)
    leader = ProjectedLeader(ball, mu)
    leader.follow(gradients.sum(axis=0), 2)
    right = published(leader.weights, gradients, points, mu, ball.start(), 0.0)
    with_division = ball.project((points.sum(axis=0) - g / mu) / 2.0)
    without = ball.project(points.sum(axis=0) - g / mu)
    assert np.allclose(with_division, leader.weights)
    assert published(without, gradients, points, mu, ball.start(), 0.0) > right + 0.1


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("start_rows", [0.0, 7.0])
def test_local_steps_converge_to_the_leader(name, start_rows):
    domain, _ = CASES[name]
    rng, mu, rows = np.random.default_rng(3), 0.5, 10
    for size in (1.0, 10.0):
        total = size * rng.normal(size=domain.dimension)
        least = LeaderObjective(mu, domain.start(), start_rows).minimiser(total, rows)
        leader = OracleLeader(domain, mu, start_rows)
        for _ in range(3000):
            leader.follow(total, rows)
        best = domain.project(least)
        # As near to the minimiser over all vectors as the projection is.
        ours, theirs = (np.linalg.norm(x - least) for x in (leader.weights, best))
        assert contains(domain, leader.weights)
        assert ours == pytest.approx(theirs, abs=1e-3 if name == "l2" else 1e-4)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(sorted(CASES)), st.data(), st.floats(0.05, 2.0), st.integers(1, 50))
def test_the_minimiser_lies_within_the_certified_radius(name, data, mu, rows):
    domain, _ = CASES[name]
    draw = arrays(np.float64, domain.dimension, elements=st.floats(-20.0, 20.0))
    x, total = domain.project(data.draw(draw)), data.draw(draw)
    objective = LeaderObjective(mu, domain.start())
    gradient, curvature = objective.gradient(total, rows, x), objective.curvature(rows)
    gap = gradient @ (x - domain.linear_oracle(gradient))
    radius = certified_radius(np.linalg.norm(gradient), max(gap, 0.0), curvature)
    best = domain.project(objective.minimiser(total, rows))
    assert np.linalg.norm(best - x) <= radius + 1e-6


def test_every_practical_step_lowers_the_objective():
    domain, rng = L1Ball(20, 2.0), np.random.default_rng(0)
    leader, objective = OracleLeader(domain, 0.1), LeaderObjective(0.1, domain.start())
    total = rng.normal(size=20)
    least, last = objective.minimiser(total, 30), np.inf
    for _ in range(50):
        leader.follow(total, 30)
        now = float(np.sum((leader.weights - least) ** 2))
        assert now <= last + 1e-15
        last = now


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ProjectedLeader(L2Ball(2, 1.0), 0.0), "regularisation"),
        (lambda: ProjectedLeader(L2Ball(2, 1.0), 0.1, -1.0), "start_rows"),
        (lambda: ProjectedLeader(L2Ball(2, 1.0), 0.1, np.inf), "start_rows"),
    ],
)
def test_impossible_leaders_are_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()


@pytest.mark.parametrize("made", [ProjectedLeader, OracleLeader])
@pytest.mark.parametrize("x", [np.zeros(3), np.array([0.0, np.nan])])
def test_states_of_other_leaders_are_refused(made, x):
    with pytest.raises(ValueError, match="one finite weight per column"):
        made(L2Ball(2, 1.0), 0.1).resume({"x": x})
