"""The searched step is the best one on the segment."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from dplasso.kernels.line_search import LONGEST, search_step
from dplasso.kernels.problem import SCALE, SEARCHED
from dplasso.losses import LogisticLoss, SoftmaxLoss, SquaredLoss
from reference import dense, make_problem, make_walk, seeded

LOSSES = {
    "logistic": LogisticLoss(),
    "squared": SquaredLoss(y_bound=3.0),
    "huber": SquaredLoss(y_bound=3.0, residual_bound=0.5),
    "softmax": SoftmaxLoss(classes=(0, 1, 2)),
}


def at(X, y, loss, radius, w, scale=1.0):
    """Problem and walk at weights ``w`` (columns x outputs), margins kept with a common factor."""
    problem = make_problem(X, y, loss, radius=radius, step=SEARCHED, theta=np.inf)
    walk = make_walk(problem, 1)
    walk.margins[:] = (dense(problem) @ w).ravel() / scale
    walk.scalars[SCALE] = scale
    return problem, walk


def along(loss, problem, walk, vertex, sign):
    """The loss as a function of the step."""
    margins = (walk.margins * walk.scalars[SCALE]).reshape(-1, problem.classes)
    end = np.zeros_like(margins)
    column, k = divmod(vertex, problem.classes)
    end[:, k] = -sign * problem.radius * dense(problem)[:, column]
    return lambda eta: loss.value((1.0 - eta) * margins + eta * end, problem.labels)


def assert_best(loss, problem, walk, vertex, sign):
    """Returns the step found, after holding it against scipy's."""
    value = along(loss, problem, walk, vertex, sign)
    found = search_step(problem, walk, vertex, sign)
    assert 0.0 <= found <= LONGEST
    options = {"xatol": 1e-12, "maxiter": 1000}
    other = minimize_scalar(value, bounds=(0.0, LONGEST), method="bounded", options=options)
    best = min(other.fun, value(0.0), value(LONGEST))
    assert value(found) - best <= 1e-9 * value(0.0) + 1e-12
    return found


@st.composite
def cases(draw, names):
    name = draw(st.sampled_from(names))
    loss, rng = LOSSES[name], seeded(draw(st.integers(0, 10**6)))
    rows, columns = draw(st.integers(1, 30)), 4
    X = rng.uniform(-1, 1, (rows, columns)) * (rng.random((rows, columns)) < 0.6)
    if draw(st.booleans()):
        X = (X != 0).astype(float)
    if isinstance(loss, SquaredLoss):
        y = rng.normal(size=rows)
    else:
        y = rng.integers(0, max(loss.outputs, 2), rows)
    radius = draw(st.sampled_from([0.05, 1.0, 20.0, 3000.0]))
    vertices = columns * loss.outputs
    w = rng.dirichlet(np.full(vertices, 0.3)) * rng.choice([-1, 1], vertices)
    w *= radius * draw(st.sampled_from([0.0, 0.01, 0.5, 1.0]))
    vertex = int(rng.integers(vertices))
    scale = draw(st.sampled_from([1.0, 1e-3, 1e-90]))
    problem, walk = at(X, y, loss, radius, w.reshape(columns, -1), scale)
    return loss, problem, walk, vertex, draw(st.sampled_from([-1, 1]))


@settings(max_examples=200, deadline=None)
@given(cases(["logistic", "squared", "softmax"]))
def test_smooth_losses(case):
    assert_best(*case)


@settings(max_examples=200, deadline=None)
@given(cases(["huber"]))
def test_hubers_loss(case):
    assert_best(*case)


def test_a_minimum_between_two_flat_ends():
    """Huber's loss is linear at both ends of the segment: no curvature leads the way."""
    loss = LOSSES["huber"]
    problem, walk = at(np.ones((1, 1)), [1.0], loss, 10.0, np.zeros((1, 1)))
    assert assert_best(loss, problem, walk, 0, -1) == pytest.approx(0.1, abs=1e-9)


def test_saturated_sigmoids():
    """Both ends of the segment are far out where the sigmoid is 0 or 1 to the last bit."""
    loss, w = LOSSES["logistic"], np.array([[-1000.0]])
    problem, walk = at(np.ones((2, 1)), [0, 1], loss, 1000.0, w)
    assert assert_best(loss, problem, walk, 0, -1) == pytest.approx(0.5, abs=1e-9)


def test_squared_loss_in_closed_form():
    loss, rng = LOSSES["squared"], seeded(1)
    X, w = rng.uniform(-1, 1, (50, 3)), np.array([[0.2], [0.0], [-0.4]])
    y = np.clip(X @ [1.0, -0.5, 0.3] + 0.1 * rng.normal(size=50), -3, 3)
    problem, walk = at(X, y, loss, 2.0, w, scale=0.01)
    for vertex in range(3):
        for sign in (-1, 1):
            direction = -sign * 2.0 * X[:, vertex] - (X @ w)[:, 0]
            best = direction @ (y - (X @ w)[:, 0]) / (direction @ direction)
            found = assert_best(loss, problem, walk, vertex, sign)
            assert found == pytest.approx(min(max(best, 0.0), LONGEST), abs=1e-12)


@pytest.mark.parametrize("name", LOSSES)
def test_inside_the_segment(name):
    """A minimum far from both ends is met to many digits: the slope there is nearly 0."""
    loss, rng = LOSSES[name], seeded(2)
    X = rng.uniform(-1, 1, (80, 2))
    noisy = X @ [1.5, -1.0] + rng.normal(size=80)
    y = noisy if isinstance(loss, SquaredLoss) else (noisy > 0).astype(int)
    problem, walk = at(X, y, loss, 4.0, np.zeros((2, loss.outputs)))
    vertex = 0 if loss.outputs == 1 else 1
    found = assert_best(loss, problem, walk, vertex, -1)
    assert 0.05 < found < 0.95
    value, h = along(loss, problem, walk, vertex, -1), 1e-4
    slope = (value(found + h) - value(found - h)) / (2 * h)
    bend = (value(found + h) - 2 * value(found) + value(found - h)) / h**2
    assert abs(slope / bend) < 1e-5


@pytest.mark.parametrize("name", LOSSES)
def test_no_step_where_every_step_is_worse(name):
    loss = LOSSES[name]
    X = np.ones((5, 1))
    y = np.full(5, 3.0) if isinstance(loss, SquaredLoss) else np.ones(5, int)
    problem, walk = at(X, y, loss, 2.0, np.zeros((1, loss.outputs)))
    vertex = 1 if loss.outputs > 1 else 0
    assert assert_best(loss, problem, walk, vertex, 1) == 0.0  # away from the labels


@pytest.mark.parametrize("name", LOSSES)
def test_the_whole_step_where_every_step_helps(name):
    loss = LOSSES[name]
    X = np.ones((5, 1))
    y = np.full(5, 3.0) if isinstance(loss, SquaredLoss) else np.ones(5, int)
    problem, walk = at(X, y, loss, 2.0, np.zeros((1, loss.outputs)))
    vertex = 1 if loss.outputs > 1 else 0
    assert assert_best(loss, problem, walk, vertex, -1) == LONGEST


def test_a_column_of_nothing_from_nowhere():
    """The loss does not change along the segment: any step will do, NaN will not."""
    loss = LOSSES["logistic"]
    problem, walk = at(np.array([[0.0, 0.5]]), [1], loss, 2.0, np.zeros((2, 1)))
    assert_best(loss, problem, walk, 0, 1)
