"""The heap takes the largest of the scores that Algorithm 2 holds."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from dplasso.kernels.problem import SEARCHED
from dplasso.losses import LogisticLoss, SoftmaxLoss, SquaredLoss
from dplasso.mechanisms.selection.rivals.heap import Heap
from reference import dense, make_problem, make_walk, margins, seeded, weights_by_recursion

LOSSES = {
    "logistic": LogisticLoss(),
    "squared": SquaredLoss(y_bound=1.0),
    "huber": SquaredLoss(y_bound=1.0, residual_bound=0.5),
    "softmax": SoftmaxLoss(classes=(0, 1, 2)),
}


def started(loss, X, *, rounds=400, step=0.0, threads=2):
    rng = seeded(7)
    y = rng.integers(0, max(loss.outputs, 2), X.shape[0])
    problem = make_problem(sp.csc_array(X), y, loss, theta=math.inf, step=step)
    return Heap(problem, make_walk(problem, rounds), rng, threads)


def mixed(rows=80, columns=30):
    """Columns of every density, one empty, and two pairs of equal ones."""
    rng = seeded(8)
    X = rng.uniform(-1, 1, (rows, columns)) * (rng.random((rows, columns)) < 0.2)
    X[:, 2] = 0.0
    X[:, 20] = rng.uniform(0.5, 1.0, rows)
    X[:, 11] = X[:, 20]
    X[:, 7] = X[:, 6]
    return X


def plain_run(problem, loss, rounds):
    """Algorithm 2 with a plain search for the largest score; terms are rounded as the engine's."""
    X, classes, labels = dense(problem), problem.classes, problem.labels
    grains = 1.0 / (2.0**-36 * problem.x_bound * problem.gradient_bound)
    w_m, v = 1.0, np.zeros((len(X), classes))
    q = loss.gradient(v, labels) * grains
    alpha = np.rint(X[:, :, None] * q[:, None, :]).sum(axis=0)
    vertices, signs = [], []
    for t in range(1, rounds + 1):
        vertex = int(np.argmax(np.abs(alpha)))
        j, k = divmod(vertex, classes)
        sign = -1 if alpha[j, k] < 0 else 1
        eta = problem.step or 2.0 / (t + 2.0)
        w_m *= 1.0 - eta
        rows = np.flatnonzero(X[:, j])
        v[rows, k] -= sign * eta * problem.radius * X[rows, j] / w_m
        new = loss.gradient(w_m * v[rows], labels[rows]) * grains
        terms = [np.rint(X[rows][:, :, None] * gradient[:, None, :]) for gradient in (new, q[rows])]
        alpha += (terms[0] - terms[1]).sum(axis=0)
        q[rows] = new
        vertices.append(vertex)
        signs.append(sign)
    return vertices, signs


def assert_heap(rule):
    bounds, order, places = rule.heap
    assert np.array_equal(order[places], np.arange(len(order)))
    assert np.all(bounds >= np.abs(rule.held.scores))
    children = np.arange(1, len(order))
    above, below = order[(children - 1) // 2], order[children]
    equal = bounds[above] == bounds[below]
    assert np.all((bounds[above] > bounds[below]) | (equal & (above < below)))


@pytest.mark.parametrize("step", [0.0, 0.1])
@pytest.mark.parametrize("name", LOSSES)
def test_equals_a_plain_search(name, step):
    rule = started(LOSSES[name], mixed(), step=step)
    for until in (0, 1, 2, 399, 400):
        rule.advance(until)
        assert_heap(rule)
    vertices, signs = plain_run(rule.problem, LOSSES[name], 400)
    assert rule.walk.vertices.tolist() == vertices
    assert rule.walk.signs.tolist() == signs


def test_ties_go_to_the_smallest_vertex():
    """Equal columns always tie; a matrix of ones and halves ties everywhere."""
    rng = seeded(9)
    X = rng.choice([0.0, 0.5, -0.5, 1.0], (6, 50))
    rule = started(LOSSES["squared"], X)
    rule.advance(400)
    vertices, signs = plain_run(rule.problem, LOSSES["squared"], 400)
    assert rule.walk.vertices.tolist() == vertices
    assert rule.walk.signs.tolist() == signs


def test_a_score_of_zero_counts_as_positive():
    rule = started(LOSSES["logistic"], np.zeros((4, 5)), rounds=3)
    rule.advance(3)
    assert rule.walk.vertices.tolist() == [0, 0, 0]
    assert rule.walk.signs.tolist() == [1, 1, 1]


def test_threads_and_cuts_do_not_show():
    def run(threads, cuts):
        rule = started(LOSSES["logistic"], mixed(), threads=threads)
        for until in cuts:
            rule.advance(until)
        return rule.walk.vertices, rule.walk.signs, rule.walk.margins

    for other in (run(2, [400]), run(3, [1, 2, 300, 400])):
        for a, b in zip(run(1, [400]), other, strict=True):
            assert np.array_equal(a, b)


@pytest.mark.parametrize("step", [0.0, 0.5])
def test_margins_are_those_of_the_weights(step):
    rule = started(LOSSES["softmax"], mixed(), step=step, rounds=1000)
    rule.advance(1000)
    problem, walk = rule.problem, rule.walk
    w = weights_by_recursion(walk.vertices, walk.signs, problem.radius, 30 * 3, step)
    assert np.allclose(margins(problem, walk), dense(problem) @ w.reshape(-1, 3))


def test_searched_steps_are_refused():
    with pytest.raises(ValueError, match="step='search' needs selection='lazy' or 'argmax'"):
        started(LOSSES["logistic"], mixed(), step=SEARCHED)
