"""Rivals on tables: sensitivity, calibration, and that they learn when there is no noise."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from harness.tables import Table
from rivals.accounts import gaussian_mu
from rivals.descent import Column
from rivals.problem import Problem, Request
from rivals_tables.dense_descent import clipped_sums, descend
from rivals_tables.descents import DENSE, LOGISTIC, SPARSE_SOFTMAX
from rivals_tables.problem import PerSplit, TableProblem, longest, split
from rivals_tables.statistics import (
    ADASSP,
    NOISY_STATISTICS,
    bound,
    statistics,
    symmetric_noise,
)
from sklearn.linear_model import LinearRegression, LogisticRegression


def a_table(n: int = 600, n_classes: int = 0, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 10.0, (n, 4))
    y = X @ [1.0, -2.0, 0.5, 0.0] + 5.0 + 0.5 * rng.normal(size=n)
    if n_classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    return Table("made", X, y, [(0.0, 10.0)] * 4, n_classes=n_classes, y_bound=25.0)


@pytest.mark.parametrize("n_classes", [0, 3])
def test_clipped_sum_is_that_of_rows_clipped_one_by_one(n_classes):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(12, 5)).astype(np.float32)
    labels = rng.integers(0, 3, 12).astype(np.float32)
    W = rng.normal(size=(3, 5, max(n_classes, 1))).astype(np.float32)
    clip = np.array([0.05, 0.8, 50.0], dtype=np.float32)
    expected = np.zeros(W.shape)
    for row, label in zip(rows.astype(np.float64), labels, strict=True):
        for k, most in enumerate(clip):
            margins = row @ W[k]
            if n_classes:
                residual = np.exp(margins) / np.exp(margins).sum() - (np.arange(3) == label)
            else:
                residual = margins - label
            gradient = np.outer(row, residual)
            expected[k] += gradient * min(1.0, most / np.linalg.norm(gradient))
    found = clipped_sums(rows, labels, W, clip, n_classes)
    np.testing.assert_allclose(found, expected, atol=2e-4)
    less = clipped_sums(rows[1:], labels[1:], W, clip, n_classes)
    assert np.all(np.linalg.norm((found - less).reshape(3, -1), axis=1) <= clip * 1.0001 + 1e-5)


def test_squared_descent_without_noise_is_least_squares():
    problem = TableProblem(a_table(), 0)
    train, test = problem.rows("centred")
    run = Column(rate=1.5, clip=100.0, momentum=0.9, noise=0.0, seed=0)
    last, mean = descend(
        *(train, problem.labels, [run]), n_classes=0, bias=1.0, steps=600, sampling=1.0
    )
    best = LinearRegression().fit(train, problem.labels)
    for weights in (last[0], mean[0]):
        found = test @ weights[:-1] + weights[-1]
        np.testing.assert_allclose(found[:, 0], best.predict(test), atol=1e-3)


def test_softmax_descent_without_noise_is_logistic_regression():
    problem = TableProblem(a_table(n_classes=3), 0)
    train, test = problem.rows("centred")
    run = Column(rate=2.0, clip=100.0, momentum=0.9, noise=0.0, seed=0)
    last, _ = descend(
        *(train, problem.labels, [run]), n_classes=3, bias=1.0, steps=400, sampling=1.0
    )
    best = LogisticRegression(C=1e4, max_iter=1000).fit(train, problem.labels)
    agreed = (test @ last[0][:-1] + last[0][-1]).argmax(axis=1) == best.predict(test)
    assert agreed.mean() > 0.95


@pytest.mark.parametrize("sampling", [1.0, 0.3])
def test_sparse_rows_descend_as_dense_ones_do(sampling):
    problem = TableProblem(a_table(n_classes=3), 0)
    train = problem.rows("cells")[0]
    runs = [Column(rate=2.0, clip=clip, momentum=0.9, noise=1.0, seed=0) for clip in (0.1, 1.0)]
    settings = {"n_classes": 3, "bias": 0.3, "steps": 5, "sampling": sampling}
    dense = descend(train, problem.labels, runs, **settings)
    sparse = descend(sp.csr_array(train), problem.labels, runs, **settings)
    for one, other in zip(dense, sparse, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_softmax_of_sparse_rows_learns_at_a_large_epsilon():
    problem = TableProblem(a_table(2_000, n_classes=3), 0)
    train, test = (sp.csr_array(rows) for rows in problem.rows("centred"))
    truth = problem.table.y[problem.test]
    wide = Problem("wide", train, problem.labels, test, truth, n_classes=3, delta=1e-6)
    (rival,) = SPARSE_SOFTMAX
    few = [s for s in rival.coarse(wide, 8.0) if s["map"] == "as_is" and s["steps"] == 60]
    found = [value for _, value in rival.scores(wide, [Request(8.0, s, 0) for s in few])]
    assert max(value["accuracy"] for value in found) > 0.75


def test_noise_of_a_step_is_what_was_asked_for():
    columns = [Column(rate=1.0, clip=2.0, momentum=0.0, noise=3.0, seed=s) for s in range(400)]
    # With a constant of 0 and empty rows gradients are 0, and one step is the noise alone.
    X, labels = np.full((1, 3), 1e-20, np.float32), np.zeros(1, np.float32)
    last, _ = descend(X, labels, columns, n_classes=0, bias=1e-20, steps=1, sampling=1.0)
    assert np.std(last) == pytest.approx(6.0, rel=0.05)


@pytest.mark.parametrize("name", ["cells", "centred"])
def test_one_row_moves_statistics_by_no_more_than_their_bounds(name):
    table = a_table(40)
    problem = TableProblem(table, 0)
    less = TableProblem(table, 0)
    less.train, less.labels = problem.train[1:], problem.labels[1:]
    for length in (0.2, 0.5, 2.0):
        (A, b), (C, d) = (statistics(each, length, name, 0.3, 0.5) for each in (problem, less))
        assert np.linalg.norm(A - C) <= length**2 * (1 + 1e-6)
        assert np.linalg.norm(b - d) <= 0.5 * length * (1 + 1e-6)


def test_noise_of_a_symmetric_matrix_hides_every_direction_alike():
    """Along any symmetric matrix of Frobenius norm 1 the noise has standard deviation 1."""
    rng = np.random.default_rng(0)
    drawn = np.array([symmetric_noise(4, 1.0, rng) for _ in range(6_000)])
    assert np.array_equal(drawn, drawn.transpose(0, 2, 1))
    for row in (np.array([1.0, 0, 0, 0]), np.full(4, 0.5), np.array([0.6, 0.8, 0, 0])):
        along = np.einsum("kij,ij->k", drawn, np.outer(row, row))
        assert along.std() == pytest.approx(1.0, rel=0.04)


@pytest.mark.parametrize("rival", [ADASSP, NOISY_STATISTICS])
def test_statistics_with_a_large_budget_are_least_squares(rival):
    problem = TableProblem(a_table(), 0)
    settings = {"map": "centred", "clip": 2.0, "ridge": 0.03, "share": 0.5}
    settings |= {"bias": 0.3, "labels": 1.0}
    ((_, found),) = rival.scores(problem, [Request(1e6, settings, 0)])
    assert found["R2"] > 0.98
    ((_, private),) = rival.scores(problem, [Request(0.05, settings, 0)])
    assert private["R2"] < found["R2"]


@pytest.mark.parametrize("rival", [ADASSP, NOISY_STATISTICS])
def test_the_account_of_statistics_is_exact(rival):
    """The squared ratios of sensitivity and noise of all releases add up to mu^2."""
    settings = {"clip": 0.7, "bias": 0.3, "labels": 0.8, "share": 0.3}
    length = bound(settings)
    found = rival.noise(1.0, 1e-8, settings)
    moved = (length**2, 0.8 * length, length**2)[: len(found)]
    spent = math.fsum((a / b) ** 2 for a, b in zip(moved, found, strict=True))
    assert spent == pytest.approx(gaussian_mu(1.0, 1e-8) ** 2)


def test_rows_of_numbers_have_length_at_most_one_and_rows_of_classes_length_one():
    for name in ("cells", "centred"):
        numbers = TableProblem(a_table(), 0).rows(name)[0]
        assert np.linalg.norm(numbers, axis=1).max() <= 1.0 + 1e-6
        dense = TableProblem(a_table(n_classes=3), 0).rows(name)[0]
        np.testing.assert_allclose(np.linalg.norm(dense, axis=1), 1.0, rtol=1e-5)
        two = TableProblem(a_table(n_classes=2), 0).rows(name)[0]
        assert two.shape == (480, 4) and longest(a_table()) == 2.0


@pytest.mark.parametrize(("n_classes", "rivals"), [(0, DENSE), (2, LOGISTIC), (3, DENSE)])
def test_descents_learn_at_a_large_epsilon(n_classes, rivals):
    table = a_table(2_000, n_classes=n_classes)
    problem = split(table, 0)
    measure, least = ("R2", 0.8) if not n_classes else ("accuracy", 0.75)
    for rival in map(PerSplit, rivals):
        grid = rival.coarse(problem, 4.0)
        few = [settings for settings in grid if settings["steps"] <= 250]
        requests = [Request(4.0, settings, 0) for settings in few]
        found = {str(request): value for request, value in rival.scores(problem, requests)}
        assert len(found) == len(requests)
        assert max(value[measure] for value in found.values()) > least
        assert rival.nearby(problem, 4.0, few[0])


def test_every_seed_has_its_own_split():
    class Seen:
        name = "seen"

        def scores(self, problem, requests):
            for request in requests:
                yield request, {"seed": problem.seed}

    problem = split(a_table(), 0)
    requests = [Request(1.0, {}, seed) for seed in (3, 1000, 3, 7)]
    found = list(PerSplit(Seen()).scores(problem, requests))
    assert all(value["seed"] == request.seed for request, value in found) and len(found) == 4
    train, test = problem.at(3).train, problem.at(3).test
    assert len(train) == 480 and not set(train) & set(test)
    assert not np.array_equal(train, problem.at(1000).train)
