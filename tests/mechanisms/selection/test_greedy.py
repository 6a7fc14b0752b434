"""Without privacy, the lazy search takes the vertices that brute force takes."""

import numpy as np
import pytest
import scipy.sparse as sp

from dplasso.kernels.problem import DECREASING, EVALUATIONS, SEARCHED
from dplasso.losses import SquaredLoss
from dplasso.mechanisms.selection.lazy_argmax import LazyArgmax
from dplasso.mechanisms.selection.rivals.argmax import Argmax
from reference import LOSSES, dense, make_problem, make_walk, margins, seeded


def random_problem(seed, loss, step):
    """Sparse, with an empty column, equal columns and coarse values: ties."""
    rng = seeded(seed)
    rows, columns = int(rng.integers(5, 120)), int(rng.integers(4, 150))
    X = rng.uniform(-1, 1, (rows, columns)) * (rng.random((rows, columns)) < 0.2)
    if seed % 2:
        X = np.round(2 * X) / 2
    if seed % 5 == 0:
        X = (X > 0).astype(float)
    X[:, 1] = 0.0
    X[:, 3] = -X[:, 2]
    X[:, 0] = X[:, -1]
    y = rng.normal(size=rows) if isinstance(loss, SquaredLoss) else rng.integers(0, 2, rows)
    radius = float(rng.choice([1.0, 10.0]))
    return make_problem(sp.csc_array(X), y, loss, radius=radius, theta=np.inf, step=step)


def run(rule, problem, rounds, cuts=()):
    walk = make_walk(problem, rounds)
    made = rule(problem, walk, seeded(0), 2)
    for until in (*cuts, rounds):
        made.advance(until)
    return walk


@pytest.mark.parametrize("name", LOSSES)
def test_same_vertices_as_brute_force(name):
    for seed in range(20):
        step = (DECREASING, DECREASING, 0.05, SEARCHED)[seed % 4]
        problem = random_problem(seed, LOSSES[name], step)
        lazy = run(LazyArgmax, problem, 2000, cuts=(1, 700))
        brute = run(Argmax, problem, 2000)
        assert np.array_equal(lazy.vertices, brute.vertices), seed
        assert np.array_equal(lazy.signs, brute.signs)
        assert np.array_equal(lazy.steps, brute.steps)
        assert np.array_equal(lazy.margins, brute.margins)


def test_brute_force_takes_the_largest_score_and_the_first_of_equals():
    loss = LOSSES["logistic"]
    problem = random_problem(1, loss, DECREASING)
    X = dense(problem)
    walk = make_walk(problem, 50)
    rule = Argmax(problem, walk, seeded(0), 2)
    for done in range(50):
        gradient = loss.gradient(margins(problem, walk), problem.labels)[:, 0]
        scores = np.round(X.T @ gradient, 9)
        rule.advance(done + 1)
        best = np.flatnonzero(np.abs(scores) == np.abs(scores).max())[0]
        assert walk.vertices[done] == best
        assert walk.signs[done] == (1 if scores[best] >= 0 else -1)


def test_few_columns_are_evaluated():
    rng = seeded(2)
    X = sp.random_array((500, 4000), density=0.02, rng=rng, format="csc")
    problem = make_problem(X, rng.integers(0, 2, 500), LOSSES["logistic"], theta=np.inf)
    walk = run(LazyArgmax, problem, 300)
    assert walk.counters[EVALUATIONS] < 0.2 * 300 * 4000
