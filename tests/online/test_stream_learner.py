"""Compiled streams: the same weights as step by step, and rows that are never longer than told."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from dplasso.domains import Box, L1Ball, L2Ball, Simplex
from dplasso.kernels import stream_steps
from dplasso.losses import CLASS_LOSSES, LogisticLoss, SoftmaxLoss, SquaredLoss
from dplasso.online import OracleLeader, ProjectedLeader, StreamLearner
from dplasso.streams import running_sum

COLUMNS = 6
LOSSES = [SquaredLoss(1.0, 1.0), *(known.two_classes() for known in CLASS_LOSSES.values())]
DOMAINS = [
    L2Ball(COLUMNS, 2.0),
    L1Ball(COLUMNS, 2.0),
    Simplex(COLUMNS, 3.0),
    Box(COLUMNS, -0.5, np.linspace(0.1, 1.0, COLUMNS)),
]


def sums(dimension=COLUMNS, batch=1, **more):
    budget = {"window": 16, "epsilon": 5.0, "delta": 1e-5, "seed": 3, "sensitivity": 1.0, **more}
    return running_sum(dimension, batch=batch, **budget)


def stream(rows=60, seed=0):
    rng = np.random.default_rng(seed)
    X = sp.random_array((rows, COLUMNS), density=0.6, rng=rng, format="csr")
    X.data = rng.normal(size=X.nnz)
    return X, rng.integers(0, 2, rows).astype(float)


def parts(X):
    return X.indptr, X.indices, X.data


def learn_plainly(leader, loss, total, X, y, clip):
    """Margins before each row is learned from, with gradients of the loss's plain reference."""
    margins = np.empty(len(y))
    for t, row in enumerate(X.toarray()):
        margins[t] = row @ leader.weights
        gradient = loss.gradient(margins[t : t + 1, None], y[t : t + 1])[0, 0] * row
        length = np.linalg.norm(gradient)
        leader.follow(total.add(gradient * min(1.0, clip / max(length, 1e-300))), t + 1)
    return margins


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: type(domain).__name__)
@pytest.mark.parametrize("loss", LOSSES)
def test_compiled_steps_are_those_of_the_plain_learner(domain, loss):
    X, y = stream()
    compiled = StreamLearner(ProjectedLeader(domain, 0.1, 4.0), loss, sums(), clip=1.0)
    leader = ProjectedLeader(domain, 0.1, 4.0)
    margins = compiled.learn(parts(X), y)[:, 0]
    # A little less than the clip: the sum refuses rows that rounding makes longer.
    plain = learn_plainly(leader, loss, sums(), X, y, clip=1.0 - 1e-9)
    assert np.allclose(margins, plain, atol=1e-7)
    assert np.allclose(compiled.weights, leader.weights, atol=1e-7)
    assert compiled.rows == len(y)


@pytest.mark.parametrize("made", [ProjectedLeader, OracleLeader])
@pytest.mark.parametrize("batch", [1, 5])
def test_how_rows_are_cut_into_calls_does_not_matter(made, batch):
    X, y = stream()
    whole, pieces = (
        StreamLearner(made(DOMAINS[1], 0.1), LogisticLoss(), sums(batch=batch), clip=1.0)
        for _ in range(2)
    )
    once = whole.learn(parts(X), y, batch)
    cuts = [0, 5, 10, 40, 60]
    each = [
        pieces.learn(parts(X[a:b]), y[a:b], batch) for a, b in zip(cuts[:-1], cuts[1:], strict=True)
    ]
    assert np.array_equal(once, np.concatenate(each))
    assert np.array_equal(whole.weights, pieces.weights)


def test_several_outputs_are_one_against_the_rest():
    X, _ = stream()
    y = np.arange(60) % 3
    leader = ProjectedLeader(L2Ball(3 * COLUMNS, 50.0), 0.1)
    total = sums(3 * COLUMNS, epsilon=np.inf)
    learner = StreamLearner(leader, LogisticLoss(), total, clip=10.0, outputs=3)
    margins = learner.learn(parts(X), y.astype(float))
    for k in range(3):
        one = StreamLearner(
            ProjectedLeader(L2Ball(COLUMNS, 50.0), 0.1),
            LogisticLoss(),
            sums(epsilon=np.inf),
            clip=10.0,
        )
        assert np.allclose(margins[:, [k]], one.learn(parts(X), (y == k).astype(float)), atol=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("made", [ProjectedLeader, OracleLeader])
def test_regret_without_noise_is_logarithmic(loss, made):
    n, mu, radius = 1500, 0.1, 3.0
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, 3)) / np.sqrt(3.0)
    y = (rows @ rng.normal(size=3) > 0).astype(float)
    learner = StreamLearner(
        made(L2Ball(3, radius), mu), loss, sums(3, epsilon=np.inf, sensitivity=10.0), clip=10.0
    )
    suffered = 0.0
    for t, row in enumerate(rows):
        square = float(learner.weights @ learner.weights)
        margin = learner.learn(parts(sp.csr_array(row[None])), y[t : t + 1])
        suffered += loss.value(margin, y[t : t + 1]) + mu / 2.0 * square

    def objective(x):
        return loss.value((rows @ x)[:, None], y) / n + mu / 2.0 * x @ x

    inside = {"type": "ineq", "fun": lambda x: radius**2 - x @ x}
    best = minimize(objective, np.zeros(3), method="SLSQP", constraints=[inside], tol=1e-12)
    regret = suffered - n * best.fun
    longest = np.linalg.norm(rows, axis=1).max()
    steepest = longest * max(1.0, longest * radius + 1.0) + mu * radius
    # Hazan, Agarwal and Kale: L^2 / (2 mu) (1 + ln T) for the projection.
    assert -1e-3 * n <= regret <= steepest**2 / (2.0 * mu) * (1.0 + np.log(n))
    # And little compared with the cost of standing still.
    assert regret < 0.2 * n * (objective(np.zeros(3)) - best.fun)


numbers = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=300, deadline=None)
@given(
    row=arrays(np.float64, 4, elements=numbers),
    weights=arrays(np.float64, 12, elements=st.floats(-100, 100)),
    label=st.sampled_from([0.0, 1.0, 2.0]),
    loss=st.sampled_from(LOSSES),
    clip=st.floats(1e-3, 1e3),
    bits=st.sampled_from([1, 12, 30]),
)
def test_no_row_is_longer_than_the_sensitivity(row, weights, label, loss, clip, bits):
    """In whole numbers, over all outputs together, whatever the row, the weights and the loss."""
    total, margins = np.zeros(12, np.int64), np.empty((1, 3))
    rows = (np.array([0, 4]), np.arange(4, dtype=np.int32), row)
    told = (loss.compiled(), clip)
    with np.errstate(all="ignore"):
        stream_steps.add_rows(rows, np.array([label]), 0, 1, weights, told, bits, total, margins)
    assert sum(entry**2 for entry in total.tolist()) <= 4**bits


def test_losses_of_several_margins_are_refused_by_name():
    with pytest.raises(ValueError, match=r"stream does not take SoftmaxLoss.*one margin per row"):
        StreamLearner(
            ProjectedLeader(DOMAINS[0], 0.1), SoftmaxLoss((0, 1, 2)), sums(), clip=1.0, outputs=3
        )


def test_a_state_goes_on_to_the_last_bit():
    X, y = stream()
    whole = StreamLearner(OracleLeader(DOMAINS[0], 0.1), LogisticLoss(), sums(), clip=1.0)
    whole.learn(parts(X[:30]), y[:30])
    total = type(sums()).from_state(whole._total.state())
    resumed = StreamLearner(OracleLeader(DOMAINS[0], 0.1), LogisticLoss(), total, clip=1.0)
    resumed.resume(whole.state())
    assert np.array_equal(resumed.learn(parts(X[30:]), y[30:]), whole.learn(parts(X[30:]), y[30:]))
