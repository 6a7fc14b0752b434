"""With row weights, scores are weighted and every private rule still draws by their exact law."""

import numpy as np
import pytest
import scipy.sparse as sp

from dplasso.kernels.gradients import row_gradients
from dplasso.kernels.scores import scores_from, within_grain
from dplasso.mechanisms.selection import PRIVATE
from dplasso.mechanisms.selection.lazy import LazyDraw
from dplasso.mechanisms.selection.noisy_max import NoisyMax
from lazy_draws import draws_from, labels_for, mixed_matrix
from reference import (
    LOSSES,
    chi_square,
    dense,
    law,
    make_problem,
    make_walk,
    margins,
    outcome,
    seeded,
    solver,
)


def weighted(name, theta, *, ones=False, rows=300, columns=40, rounds=600, rule=LazyDraw):
    """A rule for rows with weights from 0 to 1."""
    rng, loss = seeded(3), LOSSES[name]
    X = mixed_matrix(rng, rows, columns, signed=name == "huber")
    X = (X != 0).astype(float) if ones else X
    weights = np.minimum(1.0, rng.choice([0.0, 0.01, 1 / 7, 0.5, 1.0, 1.0], rows))
    problem = make_problem(X, labels_for(loss, rng, rows), loss, theta=theta)
    problem = problem._replace(weights=within_grain(weights), curvature_low=0.0)
    return rule(problem, make_walk(problem, rounds), seeded(4), 2)


def scores(problem, walk, loss):
    """Every weighted score at the present margins, by numpy, in the order of the vertices."""
    gradient = loss.gradient(margins(problem, walk), problem.labels) * problem.weights[:, None]
    return (dense(problem).T @ gradient).ravel()


@pytest.mark.parametrize("theta", [3e-3, 0.2])
@pytest.mark.parametrize("name", LOSSES)
def test_law_of_a_lazy_round_with_weights(name, theta):
    rule = weighted(name, theta)
    for rounds in (0, 400):
        rule.advance(rounds)
        counts = draws_from(rule, 3000, seed=rounds)
        exact = law(scores(rule.problem, rule.walk, LOSSES[name]), theta)
        assert chi_square(counts, exact) > 1e-5, (name, theta, rounds)


@pytest.mark.parametrize("name", [name for name in PRIVATE if name != "lazy"])
def test_the_other_private_rules_have_the_law_of_weighted_scores(name):
    theta, counts = 0.05, np.zeros(80)
    problem = weighted("logistic", theta, rounds=1).problem
    for seed in range(2000):
        rule = PRIVATE[name](problem, make_walk(problem, 1), seeded(seed), 1)
        rule.advance(1)
        counts[outcome(rule.walk.vertices[0], rule.walk.signs[0])] += 1
    exact = law(scores(problem, make_walk(problem, 1), LOSSES["logistic"]), theta)
    assert chi_square(counts, exact) > 1e-5


def test_ones_with_weights_are_not_scored_by_cohorts():
    rule = weighted("logistic", 0.2, ones=True)
    assert rule.problem.values is None and not rule.alike.worth_it
    rule.advance(50)
    counts = draws_from(rule, 4000, seed=1)
    exact = law(scores(rule.problem, rule.walk, LOSSES["logistic"]), 0.2)
    assert chi_square(counts, exact) > 1e-5


@pytest.mark.parametrize("name", LOSSES)
def test_lazy_and_standard_rule_compute_the_same_weighted_scores(name):
    rule = weighted(name, 0.1)
    rule.advance(20)
    vertices = np.arange((len(rule.problem.indptr) - 1) * rule.problem.classes)
    one = np.array([rule._score(int(vertex)) for vertex in vertices])
    gradients = np.empty(len(rule.problem.labels) * rule.problem.classes)
    row_gradients(rule.problem, rule.walk, gradients, 0, len(rule.problem.labels))
    other = np.empty(len(vertices))
    scores_from(rule.problem, gradients, vertices, other)
    assert np.array_equal(one, other)
    wanted = scores(rule.problem, rule.walk, LOSSES[name])
    assert np.allclose(one, wanted, rtol=0.0, atol=1e-7)


@pytest.mark.parametrize("rule", [LazyDraw, NoisyMax])
def test_weights_of_one_leave_every_release_as_it_is(rule):
    rng, loss = seeded(3), LOSSES["logistic"]
    X, y = mixed_matrix(rng, 200, 30), rng.integers(0, 2, 200)
    problem = make_problem(X, y, loss, theta=0.3)
    found = []
    for weights in (np.empty(0), np.ones(200)):
        own = problem._replace(weights=weights)
        run = rule(own, make_walk(own, 300), seeded(9), 1)
        run.advance(300)
        found.append((run.walk.vertices.copy(), run.walk.signs.copy()))
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))


def test_a_search_without_privacy_finds_the_weighted_optimum():
    """Rows of weight 1/2 twice are rows of weight 1."""
    rng, loss = seeded(5), LOSSES["logistic"]
    X, y = sp.csc_array(rng.uniform(-1, 1, (60, 5))), rng.integers(0, 2, 60)
    twice, labels = sp.csc_array(sp.vstack([X, X])), np.append(y, y)
    found = []
    for rows, own, weights in ((X, y, np.empty(0)), (twice, labels, np.full(120, 0.5))):
        problem = make_problem(rows, own, loss, theta=np.inf, step=-1.0)._replace(weights=weights)
        walk = solver.empty_walk(problem, 50)
        solver.rule_for("argmax", np.inf)(problem, walk, seeded(0), 1).advance(50)
        found.append((walk.vertices, walk.steps))
    assert np.array_equal(found[0][0], found[1][0])
    assert np.allclose(found[0][1], found[1][1], rtol=1e-9)
