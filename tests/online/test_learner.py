"""The online learner: what it depends on, what it predicts, how it resumes, what it regrets."""

import copy
import io

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from dplasso.domains import FlowPolytope, L1Ball, L2Ball, ProjectableDomain
from dplasso.losses import LogisticLoss, SmoothedHingeLoss, SoftmaxLoss, SquaredLoss
from dplasso.online import OnlineLearner, OracleLeader, ProjectedLeader
from running_sums import ExactSum, NoisySum, ScriptedSum
from small_domains import cases

LEADERS = {"projected": ProjectedLeader, "oracle": OracleLeader}


def stream(n, d, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d)) / np.sqrt(d)
    return rows, (rows @ rng.normal(size=d) > 0).astype(float)


def learner_of(leader, total, clip=1.0):
    return OnlineLearner(leader, LogisticLoss(), total, clip=clip)


@pytest.mark.parametrize("kind", LEADERS)
def test_margins_are_those_before_learning(kind):
    rows, labels = stream(20, 4)
    learner = learner_of(LEADERS[kind](L1Ball(4, 3.0), 0.1), ExactSum(4))
    each = learner_of(LEADERS[kind](L1Ball(4, 3.0), 0.1), ExactSum(4)).learn_each(rows, labels)
    for row, label, margin in zip(rows, labels, each, strict=True):
        before = row @ learner.weights
        assert learner.margins(row)[0] == pytest.approx(before, abs=1e-15)
        assert learner.learn(row, [label])[0] == pytest.approx(before, abs=1e-15)
        assert margin == pytest.approx(before, abs=1e-12)
    assert learner.rows == 20 and np.any(learner.weights)


@pytest.mark.parametrize("kind", LEADERS)
def test_weights_are_a_function_of_the_releases_alone(kind):
    releases = np.random.default_rng(1).normal(size=(30, 5))
    found = []
    for seed in (0, 1):
        rows, labels = stream(30, 5, seed)
        learner = learner_of(LEADERS[kind](L2Ball(5, 2.0), 0.2), ScriptedSum(releases))
        learner.learn_each(rows, labels)
        found.append(learner.weights)
    assert np.array_equal(*found)


@pytest.mark.parametrize("kind", LEADERS)
@pytest.mark.parametrize("batch", [1, 7])
def test_sparse_rows_teach_what_dense_ones_do(kind, batch):
    rows, labels = stream(70, 6)
    rows[np.random.default_rng(2).random(rows.shape) < 0.5] = 0.0
    found = []
    for form in (rows, sp.csr_array(rows)):
        learner = learner_of(LEADERS[kind](L1Ball(6, 3.0), 0.1), ExactSum(6))
        for first in range(0, 70, batch):
            learner.learn(form[first : first + batch], labels[first : first + batch])
        found.append(learner.weights)
    assert np.allclose(*found, rtol=0, atol=1e-9)


def test_a_batch_counts_its_rows():
    rows, labels = stream(10, 3)
    total = ExactSum(3)
    learner = learner_of(ProjectedLeader(L2Ball(3, 100.0), 0.5), total)
    learner.learn(rows, labels)
    # Ten rows at weights 0, one release: -G / (10 mu).
    expected = -((0.5 - labels)[:, None] * rows).sum(axis=0) / 5.0
    assert len(total.vectors) == 1 and np.allclose(learner.weights, expected)
    assert learner.learn(rows[:0], labels[:0]).shape == (0,) and len(total.vectors) == 1


POSSIBLE = [
    (name, kind)
    for name, (domain, _) in cases().items()
    for kind in LEADERS
    if kind == "oracle" or isinstance(domain, ProjectableDomain)
]


@pytest.mark.parametrize(("name", "kind"), POSSIBLE)
def test_a_run_resumes_bit_for_bit(name, kind):
    domain, _ = cases()[name]
    rows, labels = stream(60, domain.dimension)
    learner = learner_of(LEADERS[kind](domain, 0.1), NoisySum(domain.dimension, 5))
    learner.learn_each(rows[:30], labels[:30])
    file, total = io.BytesIO(), copy.deepcopy(learner._total)
    np.savez(file, **learner.state())
    file.seek(0)
    with np.load(file) as saved:
        state = {key: saved[key] if saved[key].ndim else saved[key].item() for key in saved}
    again = OnlineLearner.from_state(
        state, LEADERS[kind](cases()[name][0], 0.1), LogisticLoss(), total, clip=1.0
    )
    assert np.array_equal(again.weights, learner.weights) and again.rows == 30
    for one in (learner, again):
        one.learn_each(rows[30:], labels[30:])
    assert np.array_equal(again.weights, learner.weights)
    assert domain.contains(again.weights)


@pytest.mark.parametrize(
    "loss", [LogisticLoss(), SquaredLoss(y_bound=1.0), SmoothedHingeLoss(smoothing=0.5)]
)
@pytest.mark.parametrize("kind", LEADERS)
def test_regret_against_the_exact_leader_is_logarithmic(loss, kind):
    n, mu, radius = 1500, 0.1, 3.0
    rows, labels = stream(n, 3)
    learner = OnlineLearner(LEADERS[kind](L2Ball(3, radius), mu), loss, ExactSum(3), clip=10.0)
    suffered = 0.0
    for row, label in zip(rows, labels, strict=True):
        square = float(learner.weights @ learner.weights)
        margin = learner.learn(row, [label])
        suffered += loss.value(margin[:, None], np.array([label])) + mu / 2.0 * square

    def objective(x):
        return loss.value((rows @ x)[:, None], labels) / n + mu / 2.0 * x @ x

    inside = {"type": "ineq", "fun": lambda x: radius**2 - x @ x}
    best = minimize(objective, np.zeros(3), method="SLSQP", constraints=[inside], tol=1e-12)
    regret = suffered - n * best.fun
    longest = np.linalg.norm(rows, axis=1).max()
    steepest = longest * max(1.0, longest * radius + 1.0) + mu * radius
    # Hazan, Agarwal and Kale: L^2 / (2 mu) (1 + ln T) for the projection.
    assert -1e-3 * n <= regret <= steepest**2 / (2.0 * mu) * (1.0 + np.log(n))
    # And little beside what standing still would have cost.
    assert regret < 0.2 * n * (objective(np.zeros(3)) - best.fun)


def test_learning_through_noise_still_finds_the_direction():
    rows, labels = stream(4000, 5)
    for leader in (ProjectedLeader(L1Ball(5, 5.0), 0.05), OracleLeader(L1Ball(5, 5.0), 0.05)):
        learner = learner_of(leader, NoisySum(5, 0, scale=15.0))
        margins = learner.learn_each(rows, labels)
        assert np.mean((margins[3000:] > 0) == labels[3000:]) > 0.9


def test_paths_can_be_learned():
    """Each row prices the edges of a graph; the label is the price wanted of a path, 0."""
    edges = [(0, 1), (0, 2), (1, 3), (2, 3), (1, 2)]
    domain = FlowPolytope(edges, 0, 3)
    rng = np.random.default_rng(0)
    rows = rng.uniform(0.0, 0.2, size=(800, 5)) + np.array([0.5, 0.0, 0.5, 0.0, 0.0])
    learner = OnlineLearner(
        OracleLeader(domain, 0.02), SquaredLoss(y_bound=1.0), ExactSum(5), clip=2.0
    )
    margins = learner.learn_each(rows, np.zeros(800))
    assert domain.contains(learner.weights)
    assert margins[:5].mean() > 0.3 and margins[-100:].mean() < 0.25
    assert learner.weights[[1, 3]].min() > 0.9


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda le: OnlineLearner(le, SoftmaxLoss((0, 1, 2)), ExactSum(2), clip=1.0), "Softmax"),
        (lambda le: OnlineLearner(le, "hinge", ExactSum(2), clip=1.0), "loss"),
        (lambda le: learner_of(le, ExactSum(2), clip=0.0), "clip"),
        (lambda le: learner_of(le, ExactSum(2)).learn([[1.0, 2.0]], [1.0, 0.0]), "one label"),
        (lambda le: learner_of(le, ExactSum(2)).learn([[1.0, 2.0]], [np.nan]), "labels"),
    ],
)
def test_impossible_learning_is_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make(ProjectedLeader(L2Ball(2, 1.0), 0.1))


def test_a_release_that_was_not_followed_can_be():
    rows, labels = stream(2, 3)
    done, stopped = (learner_of(ProjectedLeader(L2Ball(3, 1.0), 0.1), ExactSum(3)) for _ in "ab")
    for learner in (done, stopped):
        learner.learn(rows[0], labels[:1])
    done.learn(rows[1], labels[1:])
    stopped.follow(done._total._sum, 1)
    assert np.array_equal(done.weights, stopped.weights) and stopped.rows == 2


def test_nothing_is_learned_from_a_refused_batch():
    total = ExactSum(2)
    learner = learner_of(ProjectedLeader(L2Ball(2, 1.0), 0.1), total)
    with pytest.raises(ValueError, match="NaN"):
        learner.learn_each([[1.0, 0.0], [np.nan, 0.0]], [1.0, 1.0])
    assert learner.rows == 0 and total.vectors == []
