"""The standard rule draws from the exponential mechanism, exactly, on any number of threads."""

import numpy as np
import pytest
import scipy.sparse as sp

from dplasso.kernels import noisy_max as kernels
from dplasso.kernels.scores import GRAIN
from dplasso.mechanisms.selection import noisy_max as module
from dplasso.mechanisms.selection.noisy_max import NoisyMax
from reference import (
    LOSSES,
    chi_square,
    dense,
    law,
    make_problem,
    make_walk,
    margins,
    outcome,
    scores,
    seeded,
    small,
    weights_by_recursion,
)


def large(rows=5000, columns=1500):
    """More than one block, empty columns and a column too long for a block."""
    rng = seeded(2)
    X = sp.random_array((rows, columns), density=0.0015, rng=rng, format="lil")
    X[:, 700] = rng.uniform(-1, 1, rows)
    X[:, 900:950] = 0.0
    return sp.csc_array(X), rng.integers(0, 2, rows)


def started(loss, theta, data=None, *, rounds=1000, threads=2, step=0.0):
    X, y = small(loss) if data is None else data
    problem = make_problem(X, y, loss, theta=theta, step=step)
    return NoisyMax(problem, make_walk(problem, rounds), seeded(3), threads)


def next_rounds(rule, count, seed=4):
    """Counts of signed vertices over many repetitions of a rule's next round."""
    done, saved = rule.done, [np.copy(array) for array in rule.walk]
    rule.generator = seeded(seed)
    counts = np.zeros(2 * (len(rule.problem.indptr) - 1) * rule.problem.classes)
    for _ in range(count):
        rule.advance(done + 1)
        counts[outcome(rule.walk.vertices[done], rule.walk.signs[done])] += 1
        for array, old in zip(rule.walk, saved, strict=True):
            array[...] = old
        rule.done = done
    return counts


@pytest.mark.parametrize("theta", [1e-5, 1e-2, 0.3, 10.0])
@pytest.mark.parametrize("name", LOSSES)
def test_law_of_a_round(name, theta):
    loss = LOSSES[name]
    rule = started(loss, theta)
    for rounds in (0, 300):
        rule.advance(rounds)
        exact = law(scores(rule.problem, rule.walk, loss), theta)
        assert chi_square(next_rounds(rule, 3000, rounds), exact) > 1e-4, (name, theta, rounds)


@pytest.mark.parametrize("theta", [1e-3, 0.05, 10.0])
def test_law_over_many_blocks(theta):
    loss = LOSSES["logistic"]
    rule = started(loss, theta, large())
    assert len(rule.blocks.slots) > 3
    assert len(rule.blocks.empty) >= 50
    for rounds in (1, 40):
        rule.advance(rounds)
        exact = law(scores(rule.problem, rule.walk, loss), theta)
        state = (rule.problem, rule.walk, rule.blocks, rule.cells, rule.gradients, seeded(5))
        module.row_gradients(*rule._row_calls[0])
        kernels.count_blocks(*state[:1], *state[2:5], 0, len(rule.blocks.slots) - 1)
        counts = np.zeros(len(exact))
        for _ in range(20_000):
            counts[outcome(*kernels.draw(*state))] += 1
        assert chi_square(counts, exact) > 1e-4


@pytest.mark.parametrize("name", LOSSES)
def test_scores_are_those_of_the_iterate(name):
    loss = LOSSES[name]
    for data in (small(loss), large()):
        rule = started(loss, 0.01, data)
        rule.advance(50)
        problem, blocks, classes = rule.problem, rule.blocks, rule.problem.classes
        module.row_gradients(*rule._row_calls[0])
        found = np.zeros(((len(problem.indptr) - 1), classes))
        terms, out = np.empty(kernels.BLOCK_ENTRIES), np.empty(kernels.COLUMNS)
        matrix, rows = (problem.indices, problem.values), len(problem.labels)
        for block in range(len(blocks.slots) - 1):
            places = blocks.offsets[blocks.slots[block] : blocks.slots[block + 1]]
            starts = blocks.entries[block] + places.astype(np.int64)
            columns = np.searchsorted(problem.indptr, starts, side="right") - 1
            for k in range(classes):
                own = rule.gradients[k * rows : (k + 1) * rows]
                count = kernels.block_scores(matrix, blocks, own, block, terms, out)
                assert count == len(columns)
                found[columns, k] = out[:count]
        grain = GRAIN * problem.x_bound * problem.gradient_bound
        assert np.array_equal(found, np.rint(found))
        assert np.allclose(found.ravel() * grain, scores(problem, rule.walk, loss), atol=1e-6)


@pytest.mark.parametrize("name", ["logistic", "softmax"])
def test_threads_and_cuts_do_not_show(name, monkeypatch):
    loss = LOSSES[name]

    def run(threads, cuts):
        rule = started(loss, 0.05, large(), threads=threads, rounds=60)
        for until in cuts:
            rule.advance(until)
        assert rule.done == 60
        return rule.walk.vertices, rule.walk.signs, rule.walk.margins

    alone = run(1, [60])
    monkeypatch.setattr(module, "THREADED_ENTRIES", 0)
    monkeypatch.setattr(module, "THREADED_ROWS", 0)
    for other in (run(1, [60]), run(2, [1, 2, 33, 60]), run(3, [60])):
        for a, b in zip(alone, other, strict=True):
            assert np.array_equal(a, b)


@pytest.mark.parametrize("step", [0.0, 0.5])
@pytest.mark.parametrize("name", ["logistic", "softmax"])
def test_margins_are_those_of_the_weights(name, step):
    rule = started(LOSSES[name], 0.05, rounds=1000, step=step)
    rule.advance(1000)
    problem, walk = rule.problem, rule.walk
    vertices = (len(problem.indptr) - 1) * problem.classes
    w = weights_by_recursion(walk.vertices, walk.signs, problem.radius, vertices, step)
    assert np.allclose(margins(problem, walk), dense(problem) @ w.reshape(-1, problem.classes))


def test_a_matrix_of_ones_needs_no_values():
    loss = LOSSES["logistic"]
    X, y = small(loss)
    ones = sp.csc_array((X.toarray() != 0).astype(float))
    rule = started(loss, 0.3, (ones, y))
    assert rule.problem.values is None
    rule.advance(20)
    exact = law(scores(rule.problem, rule.walk, loss), 0.3)
    assert chi_square(next_rounds(rule, 3000), exact) > 1e-4


def test_a_matrix_without_entries_is_drawn_from_evenly():
    rule = started(LOSSES["logistic"], 0.3, (sp.csc_array((9, 4)), np.arange(9) % 2))
    assert chi_square(next_rounds(rule, 2000), np.full(8, 1 / 8)) > 1e-4


def test_counters():
    rule = started(LOSSES["softmax"], 0.01)
    rule.advance(10)
    proposals, evaluations, entries, refreshes, pushes = rule.walk.counters
    assert proposals >= 10
    assert evaluations == 10 * 12 * 3
    assert entries == 10 * 3 * rule.problem.indptr[-1]
    assert refreshes == pushes == 0
