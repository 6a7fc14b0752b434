"""Scores: sums of whole numbers, which one row moves by at most the bound, exactly."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.data.clip_limit import clip_limit
from dplasso.kernels.gradients import row_gradients
from dplasso.kernels.problem import SCALE
from dplasso.kernels.scores import (
    BUFFER,
    GRAIN,
    LANE,
    grain_size,
    partial_score,
    score,
    scores_from,
)
from dplasso.losses import LogisticLoss, SoftmaxLoss, SquaredLoss
from reference import dense, make_problem, make_walk, seeded

LOSSES = {
    "logistic": LogisticLoss(),
    "squared": SquaredLoss(y_bound=1.0),
    "huber": SquaredLoss(y_bound=1.0, residual_bound=0.5),
    "softmax": SoftmaxLoss(classes=(0, 1, 2)),
}
names = st.sampled_from(sorted(LOSSES))


def labels_for(loss, rng, rows):
    if isinstance(loss, SquaredLoss):
        return rng.uniform(-1.5, 1.5, rows)
    return rng.integers(0, max(loss.outputs, 2), rows)


def weights_for(loss, rng, columns, radius, atoms=3):
    """Weights on the sphere of the L1 ball, columns x outputs."""
    w = np.zeros(columns * loss.outputs)
    chosen = rng.choice(len(w), min(atoms, len(w)), replace=False)
    w[chosen] = rng.choice([-1.0, 1.0], len(chosen)) * rng.dirichlet(np.ones(len(chosen)))
    return radius * w.reshape(columns, loss.outputs)


def make(name, *, rows=700, seed=0, ones=False, radius=5.0, x_bound=1.0, scale=0.25):
    """A problem with columns of every length around the loops' own, and margins inside the ball."""
    loss, rng = LOSSES[name], seeded(seed)
    lengths = [0, 1, LANE - 1, LANE, LANE + 1, 2 * LANE, rows, 17]
    X = np.zeros((rows, len(lengths)))
    for j, length in enumerate(lengths):
        chosen = rng.choice(rows, length, replace=False)
        X[chosen, j] = 1.0 if ones else x_bound * rng.uniform(-1, 1, length)
    problem = make_problem(
        sp.csc_array(X), labels_for(loss, rng, rows), loss, radius=radius, x_bound=x_bound
    )
    margins = X @ weights_for(loss, rng, X.shape[1], radius)
    return loss, problem, margins, margins.ravel() / scale


def all_grains(problem, margins, scale=1.0):
    """Score of every vertex, as a whole number."""
    vertices = (len(problem.indptr) - 1) * problem.classes
    lengths = np.repeat(np.diff(problem.indptr), problem.classes)
    return [partial_score(problem, margins, scale, v, 0, int(lengths[v])) for v in range(vertices)]


@pytest.mark.parametrize("ones", [False, True])
@pytest.mark.parametrize("name", LOSSES)
def test_score_is_the_gradient(name, ones):
    x_bound = 1.0 if ones else 0.7
    loss, problem, margins, kept = make(name, ones=ones, x_bound=x_bound)
    assert (problem.values is None) == ones
    X = dense(problem)
    exact = (X.T @ loss.gradient(margins, problem.labels)).ravel()
    bound = problem.x_bound * problem.gradient_bound
    assert grain_size(problem) == GRAIN * bound
    out = np.empty(len(exact))
    walk = make_walk(problem, 1)
    walk.margins[:], walk.scalars[SCALE] = kept, 0.25
    gradients = np.empty(len(walk.margins))
    row_gradients(problem, walk, gradients, 0, len(problem.labels))
    scores_from(problem, gradients, np.arange(len(exact)), out)
    terms = np.repeat(np.count_nonzero(X, axis=0), problem.classes)
    # Each term is rounded to the nearest grain, and to no less.
    assert np.all(np.abs(out - exact) <= (0.5 + 1e-3) * terms * GRAIN * bound)
    reach = np.repeat(np.abs(X).sum(axis=0), problem.classes) * problem.gradient_bound
    assert np.all(np.abs(out - exact) <= 1e-9 * reach)
    buffer = np.empty(BUFFER)
    for vertex in range(len(exact)):
        assert score(problem, kept, 0.25, vertex, buffer) == out[vertex]
    assert np.array_equal(np.array(all_grains(problem, kept, 0.25)) * grain_size(problem), out)


@settings(max_examples=60, deadline=None)
@given(names, st.integers(0, 3), st.lists(st.integers(0, 700), max_size=6), st.integers(0, 7))
def test_parts_of_a_column_add_up_exactly(name, seed, cuts, column):
    _, problem, _, kept = make(name, seed=seed)
    length = int(problem.indptr[column + 1] - problem.indptr[column])
    edges = [0, *sorted(min(cut, length) for cut in cuts), length]
    for k in range(problem.classes):
        vertex = column * problem.classes + k
        parts = [
            partial_score(problem, kept, 0.25, vertex, a, b)
            for a, b in zip(edges[:-1], edges[1:], strict=True)
        ]
        assert all(isinstance(part, int) for part in parts)
        assert sum(parts) == partial_score(problem, kept, 0.25, vertex, 0, length)


@pytest.mark.parametrize("name", LOSSES)
def test_the_order_of_rows_does_not_show(name):
    loss, problem, margins, _ = make(name)
    order = seeded(1).permutation(len(problem.labels))
    y = problem.labels[order]
    moved = make_problem(sp.csc_array(dense(problem)[order]), y, loss, radius=problem.radius)
    assert all_grains(problem, margins.ravel()) == all_grains(moved, margins[order].ravel())


@pytest.mark.parametrize("name", LOSSES)
def test_equal_columns_have_equal_scores_and_opposite_ones_opposite(name):
    loss, rng = LOSSES[name], seeded(2)
    column = rng.uniform(-1, 1, (500, 1)) * (rng.random((500, 1)) < 0.7)
    filler = rng.uniform(-1, 1, (500, 1)) * (rng.random((500, 1)) < 0.3)
    X = np.hstack([column, filler, column, -column])
    problem = make_problem(X, labels_for(loss, rng, 500), loss)
    margins = (X @ weights_for(loss, rng, 4, 5.0)).ravel()
    found = np.reshape(all_grains(problem, margins), (4, -1))
    assert np.array_equal(found[0], found[2])
    assert np.array_equal(found[0], -found[3])
    assert np.any(found[0])


@st.composite
def neighbours(draw):
    """A data set, one row more, and weights in the ball: everything likes to be extreme."""
    name = draw(names)
    loss = LOSSES[name]
    x_bound = draw(st.sampled_from([1.0, 0.1, 1 / 3, 40.0]))
    radius = draw(st.sampled_from([0.1, 1.0, 7.7, 300.0]))
    rows, columns = draw(st.integers(2, 5)), 3
    part = st.sampled_from([-1.0, 1.0]) | st.floats(-1, 1)
    cells = draw(st.lists(part, min_size=rows * columns, max_size=rows * columns))
    X = x_bound * np.reshape(cells, (rows, columns))
    if isinstance(loss, SquaredLoss):
        y = draw(st.lists(part, min_size=rows, max_size=rows))
    else:
        last = max(loss.outputs, 2) - 1
        y = draw(st.lists(st.integers(0, last), min_size=rows, max_size=rows))
    atoms = draw(st.sampled_from([1, 2, 9]))
    w = weights_for(loss, seeded(draw(st.integers(0, 999))), columns, radius, atoms)
    return loss, X, np.array(y), w, radius, x_bound


@settings(max_examples=400, deadline=None)
@given(neighbours(), st.sampled_from([1.0, 1e-3, 3.0]))
def test_one_row_moves_a_score_by_at_most_the_bound_exactly(made, scale):
    loss, X, y, w, radius, x_bound = made
    margins = X @ w / scale
    with_row = make_problem(X, y, loss, radius=radius, x_bound=x_bound)
    without = make_problem(X[:-1], y[:-1], loss, radius=radius, x_bound=x_bound)
    more = all_grains(with_row, margins.ravel(), scale)
    less = all_grains(without, margins[:-1].ravel(), scale)
    for a, b in zip(more, less, strict=True):
        assert abs(a - b) <= 2**36


@pytest.mark.parametrize("x_bound", [1.0, 0.1, 40.0])
@pytest.mark.parametrize("radius", [0.1, 1.0, 300.0])
@pytest.mark.parametrize("name", LOSSES)
def test_the_bound_is_reached_to_the_last_grain(name, radius, x_bound):
    """The worst row spends what was paid for: nothing less would do, nothing more is used.

    What its entries are clipped to is the bound, or the next smaller number in single precision.
    """
    loss, most = LOSSES[name], round(2**36 * clip_limit(x_bound) / x_bound)
    for sign in (-1, 1):
        x = np.array([[sign * x_bound]])
        w = np.zeros((1, loss.outputs))
        w[0, 0] = -radius if loss.outputs > 1 else radius
        y = [-1.0] if isinstance(loss, SquaredLoss) else [0]
        x, w = (x, w * sign)
        problem = make_problem(x, y, loss, radius=radius, x_bound=x_bound)
        found = all_grains(problem, (x @ w).ravel())
        assert max(abs(n) for n in found) == most


@pytest.mark.parametrize("beyond", [1e-12, 1e-9, 1e-6])
@pytest.mark.parametrize("name", LOSSES)
def test_margins_that_rounding_took_out_of_the_ball_count_no_more_than_the_bound(name, beyond):
    """A constant step of 1e-8 takes them out by 5e-9: 1 less the step is off by 5e-17."""
    loss, radius = LOSSES[name], 300.0
    problem = make_problem(np.ones((1, 1)), [0], loss, radius=radius)
    for side in (-1.0, 1.0):
        problem.labels[:] = -side if isinstance(loss, SquaredLoss) else problem.labels
        margins = np.full(loss.outputs, side * radius * (1.0 + beyond))
        assert max(abs(n) for n in all_grains(problem, margins)) <= 2**36
        walk = make_walk(problem, 1)
        walk.margins[:] = margins
        gradients = np.empty(len(margins))
        row_gradients(problem, walk, gradients, 0, 1)
        assert np.all(np.rint(np.abs(gradients)) <= 2**36)


def test_float32_and_long_indices_give_the_same_scores():
    """Quarters are exact in every precision."""
    loss, rng = LOSSES["logistic"], seeded(4)
    X = rng.integers(-4, 5, (600, 3)) / 4.0
    y = rng.integers(0, 2, 600)
    margins = X @ np.array([1.0, -2.0, 0.5])
    wanted = all_grains(make_problem(X, y, loss), margins)
    assert all_grains(make_problem(X.astype(np.float32), y, loss), margins) == wanted
    long = sp.csc_array(X)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    assert all_grains(make_problem(long, y, loss), margins) == wanted
    # Beyond 2^31 entries the column pointers alone are long.
    problem = make_problem(X, y, loss)
    problem = problem._replace(indptr=problem.indptr.astype(np.int64))
    assert all_grains(problem, margins) == wanted


@pytest.mark.parametrize("size", [800.0, 1e5])
def test_extreme_margins_of_softmax(size):
    """Probabilities of 0 and 1, and no overflow on the way."""
    loss = LOSSES["softmax"]
    problem = make_problem(np.array([[0.5]]), [1], loss, radius=4 * size)
    found = all_grains(problem, np.array([size, -size, 0.0]))
    half = 2**35  # an entry of half the bound, a gradient of 1
    assert found == [half, -half, 0]


def test_columns_add_without_overflow():
    """Two million rows at the bound: the sum is exact, far beyond what a float could hold."""
    rows = 2_000_000
    problem = make_problem(np.ones((rows, 1)), np.zeros(rows), LOSSES["logistic"], radius=1.0)
    found = partial_score(problem, np.full(rows, 1.0), 1.0, 0, 0, rows)
    assert found == rows * 2**36
    assert math.log2(found) > 56
