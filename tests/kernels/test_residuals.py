"""One compiled residual per loss: the loss's plain gradient, in every kernel, for any new loss."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numba.core.errors import TypingError

import dplasso
from dplasso.data.unit_rows import UnitRows
from dplasso.domains import L2Ball
from dplasso.kernels import descent, residuals, stream_steps
from dplasso.kernels.gradients import row_gradients
from dplasso.kernels.line_search import _derivatives
from dplasso.kernels.problem import SCALE
from dplasso.kernels.scores import BUFFER, grain_size, score
from dplasso.losses import CLASS_LOSSES, SquaredLoss
from dplasso.mechanisms.random_bits import random_bits
from dplasso.online import ProjectedLeader, StreamLearner
from dplasso.solvers.few import ColumnScores, choose, plan_few
from dplasso.solvers.gradient import gradient_descent, plan_descent
from dplasso.streams import running_sum
from new_loss import LogCoshLoss, UncompiledLoss
from reference import make_problem, make_walk

LOSSES = {
    "squared": SquaredLoss(y_bound=1.0),
    "huber": SquaredLoss(y_bound=1.0, residual_bound=0.5),
    "new": LogCoshLoss(),
    **{name: known.two_classes() for name, known in CLASS_LOSSES.items()},
}
ROWS = 700  # more than two lanes


def plain_residuals(loss, margins, labels):
    return loss.gradient(margins[:, None], labels)[:, 0]


def plain_curvatures(loss, margins, labels, h=1e-6):
    ahead, behind = (plain_residuals(loss, margins + s * h, labels) for s in (1.0, -1.0))
    return (ahead - behind) / (2.0 * h)


@pytest.mark.parametrize("name", LOSSES)
@settings(max_examples=60, deadline=None)
@given(m=st.floats(-50.0, 50.0), label=st.sampled_from([0.0, 1.0]), scale=st.floats(0.01, 2.0))
def test_loops_are_the_plain_gradient(name, m, label, scale):
    """As plain Python, which is what numba compiles."""
    loss, margins, labels = LOSSES[name], np.array([m]), np.array([label])
    expected = plain_residuals(loss, margins * scale, labels)
    loss.loops.residuals(margins, labels, 1, scale, loss.shape)
    assert margins[0] == pytest.approx(expected[0], rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("name", LOSSES)
def test_every_kernel_has_the_plain_gradient(name):
    loss, rng = LOSSES[name], np.random.default_rng(0)
    X = sp.csc_array(rng.uniform(-1, 1, (ROWS, 3)) * (rng.random((ROWS, 3)) < 0.8))
    y = rng.integers(0, 2, ROWS)
    problem = make_problem(X, y, loss, theta=math.inf, radius=3.0)
    walk = make_walk(problem, 1)
    walk.margins[:], walk.scalars[SCALE] = rng.normal(size=ROWS) * 2.0, 0.7
    margins, labels = walk.margins * 0.7, loss.encode(y)
    plain = plain_residuals(loss, margins, labels)

    scores = [score(problem, walk.margins, 0.7, j, np.empty(BUFFER)) for j in range(3)]
    assert np.allclose(scores, X.T @ plain, atol=1e-6)
    gradients = np.empty(ROWS)
    row_gradients(problem, walk, gradients, 0, ROWS)
    assert np.allclose(gradients * grain_size(problem), plain, atol=1e-12)
    towards = rng.normal(size=ROWS)
    slope, bend = _derivatives(problem, walk, towards, 0.3)
    at = margins + 0.3 * towards
    assert slope == pytest.approx(plain_residuals(loss, at, labels) @ towards, rel=1e-9)
    assert bend == pytest.approx(plain_curvatures(loss, at, labels) @ towards**2, rel=1e-2)
    clip, out = 0.4, np.empty((1, ROWS), np.int64)
    weights = np.full(ROWS, 2.0**30)
    law = (loss.compiled(), clip, margins[None], labels, weights, None, 2.0**30, 0, ROWS, out)
    sums = descent.coefficients(*law)
    expected = np.clip(plain, -clip, clip) / clip
    assert np.allclose(out[0] / 2.0**30, expected, atol=1e-8)
    assert sums[0] / 2.0**30 == pytest.approx(expected.sum(), abs=1e-5)
    rows, total, found = X.tocsr(), np.zeros(3, np.int64), np.empty((ROWS, 1))
    parts = (rows.indptr, rows.indices, rows.data)
    stream_steps.add_rows(
        *(parts, labels, 0, ROWS, np.ones(3), (loss.compiled(), 100.0), 30, total, found)
    )
    at = X @ np.ones(3)
    exact = X.T @ plain_residuals(loss, at, labels)
    assert np.allclose(total / 2.0**30 * 100.0, exact, atol=1e-3)


@pytest.mark.parametrize("rule", ["lazy", "noisy_max", "big_step_little_step"])
def test_a_new_loss_works_in_every_private_rule(rule):
    rng = np.random.default_rng(1)
    X = sp.random_array((400, 30), density=0.3, rng=rng)
    y = np.clip(X @ rng.normal(size=30), -1, 1)
    fit = dplasso.frank_wolfe(
        X, y, loss=LogCoshLoss(), radius=20.0, rounds=600, theta=50.0, selection=rule, generator=0
    )
    margins = np.asarray(X @ fit.weights.toarray()[0])
    assert np.corrcoef(margins, y)[0, 1] > 0.8


def test_without_privacy_the_rules_agree_on_a_new_loss():
    rng = np.random.default_rng(1)
    X = sp.random_array((300, 20), density=0.4, rng=rng)
    y = np.clip(X @ rng.normal(size=20), -1, 1)
    facts = {"loss": LogCoshLoss(), "radius": 5.0, "rounds": 60, "theta": math.inf}
    found = [
        dplasso.frank_wolfe(X, y, **facts, selection=rule, step="search")
        for rule in ("lazy", "argmax")
    ]
    assert np.array_equal(found[0].columns, found[1].columns)
    assert np.array_equal(found[0].steps, found[1].steps)


def test_a_new_loss_works_in_descents_choices_and_streams():
    rng, loss = np.random.default_rng(2), LogCoshLoss()
    X = rng.choice([0.0, 1.0], (3000, 10), p=[0.7, 0.3])
    y = np.clip(X[:, 3] - X[:, 5], -1, 1)
    public = {"epsilon": 8.0, "delta": 1e-6, "n_rows": len(y)}
    plan = plan_descent(loss, **public, n_columns=10)
    solution = gradient_descent(X, y, loss=loss, plan=plan, generator=0)
    assert set(np.argsort(-np.abs(solution.weights[0]))[:2]) == {3, 5}
    few = plan_few(loss, **public, n_chosen=2)
    chosen = choose(ColumnScores.of(UnitRows.of(X), y, loss, few), few, random_bits(0))
    assert set(chosen.columns) == {3, 5}
    total = running_sum(10, sensitivity=1.0, window=100, epsilon=8.0, delta=1e-6, seed=0)
    learner = StreamLearner(ProjectedLeader(L2Ball(10, 5.0), 0.01, 100.0), loss, total, clip=1.0)
    rows = sp.csr_array(X)
    learner.learn((rows.indptr, rows.indices, rows.data), loss.encode(y))
    assert set(np.argsort(-np.abs(learner.weights))[:2]) == {3, 5}


X, Y = np.ones((4, 2)), [0, 1, 0, 1]
PUBLIC = {"epsilon": 1.0, "delta": 1e-6, "n_rows": 4}
DOORS = {
    "frank_wolfe": lambda loss: dplasso.frank_wolfe(
        X, Y, loss=loss, radius=1.0, rounds=1, theta=0.1
    ),
    "plan of a descent": lambda loss: plan_descent(loss, **PUBLIC, n_columns=2),
    "gradient descent": lambda loss: gradient_descent(
        X, Y, loss=loss, plan=plan_descent(dplasso.LogisticLoss(), **PUBLIC, n_columns=2)
    ),
    "choice of columns": lambda loss: plan_few(loss, **PUBLIC, n_chosen=1),
    "stream": lambda loss: StreamLearner(
        ProjectedLeader(L2Ball(2, 1.0), 0.1),
        loss,
        running_sum(2, sensitivity=1.0, rho=1.0),
        clip=1.0,
    ),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_loss_without_compiled_loops_is_refused_at_every_door(door):
    with pytest.raises(ValueError, match=r"does not take UncompiledLoss; pass a loss"):
        DOORS[door](UncompiledLoss())
    with pytest.raises(ValueError, match="loss must be a Loss"):
        DOORS[door]("logistic")


def test_kernels_refuse_arrays_that_a_loop_would_misread():
    loss = dplasso.LogisticLoss().compiled()
    good = np.zeros(4)
    for bad in (np.zeros(4, np.float32), np.zeros((2, 2)), np.zeros(8)[::2]):
        with pytest.raises(TypingError, match="a loop of a loss takes"):
            call(loss, bad, good)


@njit
def call(loss, margins, labels):
    residuals.to_residuals(loss, margins, labels, 4, 1.0)
