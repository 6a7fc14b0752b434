"""The window paper's constants, as the regret benchmark has them."""

import numpy as np
import pytest
from rivals_online.theory import TheoryLeader, diameter_of, steadying_rows

from dplasso.domains import L1Ball, L2Ball, Simplex
from dplasso.online import OracleLeader, ProjectedLeader
from small_domains import cases


def test_constants_are_the_papers():
    leader = TheoryLeader(L1Ball(4, 1.0), 0.5, lipschitz=2.0, noise_factor=1.5)  # rho^2 = 4
    assert leader.share == pytest.approx(1.0 / 20.0)
    assert leader.objective.start_rows == pytest.approx(100.0**2)
    s, c1 = 0.5 * (7 + 100.0**2), 26.0 * 4.0 * 2.0 * 2.5
    eta = c1**2 / s
    assert leader.radius(7) ** 2 == pytest.approx(4.0 * eta / s + 2.0 * (2.0 / s) ** 2)


def test_they_hold_still_where_practical_ones_move():
    domain, total = Simplex(10), np.linspace(-0.1, 0.1, 10)
    theory = TheoryLeader(domain, 0.1, lipschitz=1.1)
    practical = OracleLeader(domain, 0.1)
    for rows in range(1, 200):
        theory.follow(rows * total, rows)
        practical.follow(rows * total, rows)
    best = ProjectedLeader(domain, 0.1)
    best.follow(199 * total, 199)
    apart = np.linalg.norm(best.weights - domain.start())
    assert np.linalg.norm(theory.weights - domain.start()) < 0.1 * apart
    assert np.linalg.norm(practical.weights - best.weights) < 0.02 * apart


def test_they_converge_where_the_start_weighs_little():
    ball, total = L2Ball(2, 1.0), np.array([-0.6, 0.3])  # rho = 1, C_0 = 625
    leader = TheoryLeader(ball, 0.01, lipschitz=1.01)
    rows = 100_000
    for _ in range(2000):
        leader.follow(rows * total, rows)
    least = ball.project(-rows * total / (0.01 * (rows + 625)))
    assert np.linalg.norm(leader.weights - least) < 1e-2


def test_steadying_rows_hold_noise_to_half_the_diameter():
    ball, mu, noise = L2Ball(50, 2.0), 0.1, 30.0
    rows = steadying_rows(ball, mu, noise)
    assert noise * np.sqrt(50) / (mu * rows) == pytest.approx(2.0)


@pytest.mark.parametrize("domain, vertices", cases().values(), ids=cases().keys())
def test_the_diameter_is_the_largest_distance_of_two_vertices(domain, vertices):
    ends = domain.radius * np.array([[1.0], [-1.0]]) if vertices is None else vertices
    apart = np.linalg.norm(ends[:, None] - ends[None], axis=2).max()
    assert diameter_of(domain) == pytest.approx(apart)
