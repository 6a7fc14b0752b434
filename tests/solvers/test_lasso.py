"""The solver without privacy: its certificate, its zeros, and agreement with other solvers."""

import dataclasses
import importlib
import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.linear_model import Lasso

from dplasso.data import ColumnMatrix
from dplasso.losses import LogisticLoss, SquaredLoss
from dplasso.solvers.lasso import lasso, project
from reference import LOSSES, l1_logistic, seeded, small

# A package's attribute of this name may be the function.
module = importlib.import_module("dplasso.solvers.lasso")


def prepared(name, rows=60, columns=5):
    """Matrix dense and held, and encoded labels that a few columns explain in part."""
    loss, rng = LOSSES[name], seeded(3)
    X = rng.uniform(-1, 1, (rows, columns))
    signal = X[:, 0] - 0.7 * X[:, 1] + 0.3 * rng.normal(size=rows)
    if not isinstance(loss, SquaredLoss):
        signal = np.digitize(signal, np.linspace(-0.4, 0.4, max(loss.outputs, 2) - 1))
    return X, ColumnMatrix.of(X), loss.encode(signal), loss


def objective(X, labels, loss, weights):
    """Mean loss, on a dense matrix."""
    return loss.value(X @ weights.reshape(X.shape[1], loss.outputs), labels) / len(labels)


def brute_force_gap(X, labels, loss, weights, radius):
    """Slope towards each vertex of the ball, by differences; the steepest descent among them."""
    slopes, far = [], 1e-6
    for place in np.ndindex(weights.shape):
        for sign in (-1.0, 1.0):
            vertex = np.zeros_like(weights)
            vertex[place] = sign * radius
            ends = (weights + far * (vertex - weights), weights - far * (vertex - weights))
            values = [objective(X, labels, loss, end) for end in ends]
            slopes.append((values[1] - values[0]) / (2 * far))
    return max(slopes)


@pytest.mark.parametrize("most_steps", [1, 2, 5, 15])
@pytest.mark.parametrize("name", LOSSES)
def test_gap_is_that_of_brute_force(name, most_steps):
    X, matrix, labels, loss = prepared(name)
    found = lasso(matrix, labels, loss, 1.5, gap=1e-12, most_steps=most_steps)
    assert found.weights.shape == (5, loss.outputs)
    expected = brute_force_gap(X, labels, loss, found.weights, 1.5)
    assert found.gap == pytest.approx(expected, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("radius", [0.2, 1.5, 20.0])
@pytest.mark.parametrize("name", LOSSES)
def test_loss_is_within_the_gap_of_the_least(name, radius):
    X, matrix, labels, loss = prepared(name)
    least = objective(X, labels, loss, lasso(matrix, labels, loss, radius, gap=1e-10).weights)
    for gap in (0.05, 1e-3, 1e-6):
        found = lasso(matrix, labels, loss, radius, gap=gap)
        assert found.gap <= gap
        assert np.abs(found.weights).sum() <= radius * (1 + 1e-12)
        excess = objective(X, labels, loss, found.weights) - least
        assert -1e-10 <= excess <= found.gap + 1e-10


@pytest.mark.parametrize("name", LOSSES)
def test_agrees_with_a_general_solver(name):
    """Weights as differences of positive parts: a smooth problem under one linear constraint."""
    X, matrix, labels, loss = prepared(name)
    radius, size = 1.5, 5 * loss.outputs

    def split(parts):
        return parts[:size] - parts[size:]

    def slope(parts):
        margins = X @ split(parts).reshape(5, loss.outputs)
        gradient = (X.T @ loss.gradient(margins, labels)).ravel() / len(labels)
        return np.concatenate((gradient, -gradient))

    reference = minimize(
        lambda parts: objective(X, labels, loss, split(parts)),
        np.full(2 * size, radius / (4 * size)),
        jac=slope,
        bounds=[(0, None)] * (2 * size),
        constraints={"type": "ineq", "fun": lambda parts: radius - parts.sum()},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-13},
    )
    assert reference.success
    found = lasso(matrix, labels, loss, radius, gap=1e-9)
    assert found.gap <= 1e-9
    assert objective(X, labels, loss, found.weights) == pytest.approx(reference.fun, abs=1e-8)


@pytest.mark.parametrize("C", [0.3, 3.0, 30.0])
def test_agrees_with_scikit_learn_on_logistic_loss(C):
    X, matrix, labels, loss = prepared("logistic", rows=100, columns=30)
    theirs = l1_logistic(C=C, fit_intercept=False, tol=1e-10, max_iter=100_000).fit(X, labels)
    weights = theirs.coef_.T
    found = lasso(matrix, labels, loss, np.abs(weights).sum(), gap=1e-9)
    ours, other = (objective(X, labels, loss, w) for w in (found.weights, weights))
    assert found.gap <= 1e-9
    assert ours == pytest.approx(other, abs=1e-8)


@pytest.mark.parametrize("alpha", [0.003, 0.03])
def test_agrees_with_scikit_learn_on_squared_loss(alpha):
    X, loss, rng = small(LogisticLoss())[0], SquaredLoss(y_bound=100.0), seeded(4)
    X = X[:, [0, 1, 2, 3, 4, 6, 7]]  # without the pair of equal columns: one solution
    y = X @ rng.normal(size=7) + 0.1 * rng.normal(size=X.shape[0])
    theirs = Lasso(alpha=alpha, fit_intercept=False, tol=1e-14, max_iter=100_000).fit(X, y)
    radius = np.abs(theirs.coef_).sum()
    found = lasso(ColumnMatrix.of(X), y, loss, radius, gap=1e-11)
    assert found.gap <= 1e-11
    assert np.allclose(found.weights[:, 0], theirs.coef_, atol=1e-4)
    assert np.array_equal(found.weights[:, 0] != 0, theirs.coef_ != 0)
    values = [objective(X, y, loss, w) for w in (found.weights, theirs.coef_[:, None])]
    assert values[0] == pytest.approx(values[1], abs=1e-9)


@pytest.mark.parametrize("name", LOSSES)
def test_coefficients_off_the_support_are_exactly_zero(name):
    """At the least, only weights whose gradient is the largest may differ from zero."""
    X, matrix, labels, loss = prepared(name, rows=100, columns=30)
    found = lasso(matrix, labels, loss, 1.0, gap=1e-9)
    gradient = np.abs(X.T @ loss.gradient(X @ found.weights, labels))
    off = gradient < 0.99 * gradient.max()
    assert 0 < np.count_nonzero(found.weights) < off.sum()
    assert np.all(found.weights[off] == 0.0)


@pytest.mark.parametrize("radius", [50.0, 1e6])
def test_a_slack_radius_gives_least_squares(radius):
    X, matrix, _, _ = prepared("squared")
    y = X @ np.array([2.0, -1.0, 0.5, 0.0, 3.0]) + 0.1 * seeded(5).normal(size=len(X))
    found = lasso(matrix, y, SquaredLoss(y_bound=100.0), radius, gap=1e-7)
    assert found.gap <= 1e-7
    assert np.allclose(found.weights[:, 0], np.linalg.lstsq(X, y)[0], atol=1e-3)


@pytest.mark.parametrize("name", LOSSES)
def test_ones_without_values(name):
    loss = LOSSES[name]
    X, y = small(loss)
    held = ColumnMatrix.of(X != 0)
    assert held.values is None
    spelled = dataclasses.replace(held, values=np.ones(held.entries, np.float32))
    found, again = (lasso(matrix, loss.encode(y), loss, 3.0) for matrix in (held, spelled))
    assert found.gap <= 1e-4
    assert np.count_nonzero(found.weights) and np.array_equal(found.weights, again.weights)


@pytest.mark.parametrize("name", LOSSES)
def test_an_empty_column_keeps_weight_zero(name):
    loss = LOSSES[name]
    X, y = small(loss)
    found = lasso(ColumnMatrix.of(X), loss.encode(y), loss, 50.0)
    assert X[:, [3]].nnz == 0 and np.all(found.weights[3] == 0.0)
    assert found.gap <= 1e-4 and np.count_nonzero(found.weights)


def test_arrays_longer_than_their_entries():
    X, y = small(LogisticLoss())
    plain = ColumnMatrix.of(X)
    longer = dataclasses.replace(
        plain,
        indices=np.concatenate((plain.indices, np.full(7, 10**6, np.int32))),
        values=np.concatenate((plain.values, np.full(7, np.nan))),
    )
    labels, loss = y.astype(float), LogisticLoss()
    weights = [lasso(matrix, labels, loss, 3.0).weights for matrix in (plain, longer)]
    assert np.array_equal(*weights)


@pytest.mark.parametrize("size", [0.0, 1e-170])
def test_a_matrix_of_nothing_ends_at_once(size):
    matrix = ColumnMatrix.of(np.full((4, 3), size))
    found = lasso(matrix, np.array([0.0, 1.0, 1.0, 1.0]), LogisticLoss(), 5.0, most_steps=1)
    assert found.gap <= 1e-100 and not found.weights.any()


def test_running_out_of_steps_returns_the_best_met(monkeypatch):
    """The gap goes up and down on the way; what is returned never got worse."""
    _, matrix, labels, loss = prepared("logistic", rows=100, columns=30)
    met = []
    certified = module._MeanLoss.certified

    def recorded(*arguments):
        met.append(certified(*arguments))
        return met[-1]

    monkeypatch.setattr(module._MeanLoss, "certified", recorded)
    monkeypatch.setattr(module, "STEPS_PER_CHECK", 1)
    gaps = []
    for most_steps in range(1, 60):
        met.clear()
        gaps.append(lasso(matrix, labels, loss, 20.0, gap=1e-12, most_steps=most_steps).gap)
        assert gaps[-1] == min(found.gap for found in met)
        assert len(met) == most_steps + 1
    assert gaps[-1] < 0.01 * gaps[0]
    assert any(a.gap < b.gap for a, b in zip(met, met[1:], strict=False))


def test_the_last_step_counts():
    _, matrix, labels, loss = prepared("logistic")
    first, last = (lasso(matrix, labels, loss, 20.0, gap=1e-9, most_steps=n) for n in (1, 9))
    assert last.gap < 0.5 * first.gap


def test_momentum_and_its_restarts_pay():
    """Columns of many lengths: 290 steps, 1,400 without momentum, no end without restarts."""
    rng, lengths = seeded(6), np.logspace(-1, 0, 20)
    X = rng.uniform(-1, 1, (200, 20)) * lengths
    y = X @ (rng.normal(size=20) / lengths)
    found = lasso(ColumnMatrix.of(X), y, SquaredLoss(y_bound=1e3), 1e6, gap=1e-6, most_steps=500)
    assert found.gap <= 1e-6


def test_rounding_cannot_hold_up_a_step(monkeypatch):
    """Values that only ever rise are rounding at its worst: no step then seems short enough."""
    values = iter(range(1, 2000))
    monkeypatch.setattr(module._MeanLoss, "value", lambda *_: float(next(values)))
    _, matrix, labels, loss = prepared("logistic")
    found = lasso(matrix, labels, loss, 5.0, gap=1e-9, most_steps=20)
    assert np.all(np.isfinite(found.weights)) and next(values) < 500


def test_a_matrix_is_never_made_dense():
    """A hundred thousand columns by as many rows would not fit."""
    places = np.arange(100_000)
    X = sp.csc_array((np.ones(100_000), (places, places)))
    y = (places < 3).astype(float)
    found = lasso(ColumnMatrix.of(X), y, SquaredLoss(y_bound=1.0), 1.5, gap=1e-9)
    assert found.weights[:3, 0] == pytest.approx(0.5) and np.count_nonzero(found.weights) == 3


points = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=12).map(np.array)
radii = st.floats(1e-2, 1e3)


@settings(max_examples=300, deadline=None)
@given(points, radii)
def test_projection(point, radius):
    projected = project(point.copy(), radius)
    assert np.abs(projected).sum() <= radius * (1 + 1e-12)
    if np.abs(point).sum() <= radius:
        assert np.array_equal(projected, point)
        return
    assert np.abs(projected).sum() == pytest.approx(radius, rel=1e-9)
    # Nearest: no point of the ball lies further along the way from here to the point outside.
    way = point - projected
    furthest = radius * np.abs(way).max()
    assert np.dot(way, projected) == pytest.approx(furthest, rel=1e-9, abs=1e-7)
    assert np.array_equal(project(projected * (1 - 1e-12), radius), projected * (1 - 1e-12))


def test_projection_has_exact_zeros_and_keeps_shapes():
    point = np.array([[3.0, -2.0], [0.5, 0.0]])
    assert np.array_equal(project(point, 3.0), [[2.0, -1.0], [0.0, 0.0]])
    assert np.array_equal(project(np.array([1e20, -1e20, 1e19]), 1.0), [0.5, -0.5, 0.0])


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"radius": 0.0}, r"^radius must be a positive finite number"),
        ({"radius": math.nan}, r"^radius must be a positive finite number"),
        ({"radius": 1e200}, r"^radius times x_bound must lie between .*; scale the data"),
        ({"gap": 0.0}, r"^gap must be a positive finite number"),
        ({"most_steps": 0}, r"^most_steps must be a whole number of at least 1"),
        ({"labels": np.zeros(3)}, r"^matrix and labels differ .*; give one label per row"),
    ],
)
def test_what_is_refused(changes, match):
    _, matrix, labels, loss = prepared("logistic")
    given = {"matrix": matrix, "labels": labels, "loss": loss, "radius": 1.0} | changes
    with pytest.raises(ValueError, match=match):
        lasso(**given)


@pytest.mark.parametrize("entry, x_bound", [(1.0, 1.0), (1e-170, 1e-140)])
@pytest.mark.parametrize("name", LOSSES)
def test_extreme_numbers_stay_finite(name, entry, x_bound):
    """The largest ball there may be; squares of the smaller entries vanish."""
    X, _, labels, loss = prepared(name)
    matrix = ColumnMatrix.of(X * entry, x_bound)
    found = lasso(matrix, labels, loss, 1e100 / x_bound, most_steps=100)
    assert np.all(np.isfinite(found.weights)) and math.isfinite(found.gap)
