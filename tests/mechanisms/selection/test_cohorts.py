"""Rows that are alike: scores by cohorts are the scores by rows, to the last bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.kernels import bends
from dplasso.kernels import cohorts as kernels
from dplasso.kernels.scores import grain_size, partial_score
from dplasso.kernels.steps import release
from dplasso.mechanisms.selection import cohorts
from reference import LOSSES, make_problem, make_walk, seeded

ROUNDS = 60


@pytest.fixture(autouse=True, scope="module")
def every_column_is_long():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cohorts, "LONG", 0.0)
        yield


def made(seed, *, rows=200, columns=12, density=0.5):
    rng = seeded(seed)
    X = rng.random((rows, columns)) < rng.uniform(0, 2 * density, columns)
    problem = make_problem(X, rng.random(rows) < rng.random(), LOSSES["logistic"])
    return rng, problem, make_walk(problem, ROUNDS)


def step(rng, problem, walk, done):
    vertex = int(rng.integers(len(problem.indptr) - 1))
    release(problem, walk, vertex, int(rng.choice([-1, 1])), 2.0 / (done + 3.0), done)


def by_rows(problem, walk, column):
    length = int(problem.indptr[column + 1] - problem.indptr[column])
    grains = partial_score(problem, walk.margins, walk.scalars[0], column, 0, length)
    return grains * grain_size(problem)


def assert_rows_of_a_cohort_are_alike(cohorts, problem, walk):
    rows, (count, strays) = len(problem.labels), cohorts.count.tolist()
    stray = cohorts.cohort == kernels.STRAY
    grouped = np.flatnonzero(~stray)
    assert np.array_equal(cohorts.rows[cohorts.place[grouped]], grouped)
    assert sorted(cohorts.strays[:strays].tolist()) == np.flatnonzero(stray).tolist()
    assert cohorts.size[:count].sum() + strays == rows
    assert not cohorts.split_off.any()
    for own in range(count):
        first = cohorts.first[own]
        members = cohorts.rows[first : first + cohorts.size[own]]
        assert np.all(cohorts.cohort[members] == own)
        assert len(np.unique(walk.margins[members])) <= 1
        assert len(np.unique(problem.labels[members])) <= 1


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(1, 200),
    density=st.sampled_from([0.02, 0.3, 0.5]),
    asked=st.sets(st.integers(0, ROUNDS), min_size=1, max_size=6),
    short=st.sampled_from([0.0, 0.2, 0.6]),
)
def test_scores_by_cohorts_are_scores_by_rows(seed, rows, density, asked, short):
    rng, problem, walk = made(seed, rows=rows, density=density)
    rule = cohorts.AlikeRows(problem, walk)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cohorts, "SHORT", short)  # rows of shorter columns become strays
        patch.setattr(cohorts, "MOST_SHARE", 2.0)  # a column counts rows that have strayed before
        for done in range(ROUNDS + 1):
            if done in asked:
                for column in rng.integers(0, 12, 4).tolist():
                    assert rule.score(column, done) == by_rows(problem, walk, column)
                assert_rows_of_a_cohort_are_alike(rule.cohorts, problem, walk)
            if done < ROUNDS:
                step(rng, problem, walk, done)


def test_too_many_strays_end_the_matter(monkeypatch):
    monkeypatch.setattr(cohorts, "SHORT", 1.0)
    rng, problem, walk = made(1)
    rule = cohorts.AlikeRows(problem, walk)
    answers = []
    for done in range(ROUNDS):
        answers.append(rule.score(3, done))
        assert answers[-1] in (None, by_rows(problem, walk, 3))
        step(rng, problem, walk, done)
    assert answers[0] is not None
    assert answers[-1] is None


@pytest.mark.parametrize("short", [0.0, 0.4])
def test_scores_and_bends_by_cohorts_are_those_by_rows(short, monkeypatch):
    """A bend is the sum of slopes over the rows that two columns share, strays among them."""
    monkeypatch.setattr(cohorts, "SHORT", short)
    monkeypatch.setattr(cohorts, "MOST_SHARE", 2.0)
    rng, problem, walk = made(5)
    rule = cohorts.AlikeRows(problem, walk)
    for done in range(ROUNDS):
        step(rng, problem, walk, done)
    has = np.zeros((len(problem.labels), 12), bool)
    for column in range(12):
        has[problem.indices[problem.indptr[column] : problem.indptr[column + 1]], column] = True
    bits = has @ (np.uint64(1) << np.arange(12, dtype=np.uint64))
    bits |= problem.labels.astype(np.uint64) << bends.LABEL
    margins = walk.margins * walk.scalars[0]
    slopes = 0.25 / np.cosh(margins / 2.0) ** 2
    place = problem, walk.margins, walk.scalars[0], bits
    for column in range(12):
        length = int(problem.indptr[column + 1] - problem.indptr[column])
        grains, found = bends.score_and_bends(*place, column, 0, length, 12)
        assert grains * grain_size(problem) == by_rows(problem, walk, column)
        np.testing.assert_allclose(
            found * bends.SLOPE_GRAIN, (has * has[:, [column]]).T @ slopes, atol=1e-7
        )
        again = bends.score_and_bends_of_rows(*place, *rule.rows_of(column, ROUNDS), 12)
        assert (rule.cohorts.count[1] > 0) == (short > 0.0)
        assert again[0] == grains
        assert np.array_equal(again[1], found)
        halves = [
            bends.score_and_bends(*place, column, a, b, 12)[1]
            for a, b in ((0, length // 3), (length // 3, length))
        ]
        assert np.array_equal(sum(halves), found)


def test_cohorts_are_no_more_than_rows_can_tell():
    """Splitting again by the same column makes no new cohorts."""
    rng, problem, walk = made(3)
    rule = cohorts.AlikeRows(problem, walk)
    for done in range(ROUNDS):
        step(rng, problem, walk, done)
        rule.score(0, done + 1)
    X = np.zeros((len(problem.labels), 12), bool)
    for column in range(12):
        X[problem.indices[problem.indptr[column] : problem.indptr[column + 1]], column] = True
    assert set(walk.vertices) == set(range(12))
    kinds = np.unique(np.column_stack((X, problem.labels)), axis=0)
    assert np.count_nonzero(rule.cohorts.size) == len(kinds)


@pytest.mark.parametrize("most", [2, 20, 100])
def test_too_many_cohorts_end_the_matter(most, monkeypatch):
    monkeypatch.setattr(cohorts, "MOST_COHORTS", most)
    monkeypatch.setattr(cohorts, "MOST_SHARE", 0.0)
    rng, problem, walk = made(1)
    rule = cohorts.AlikeRows(problem, walk)
    answers = []
    for done in range(ROUNDS):
        answers.append(rule.score(3, done))
        assert answers[-1] in (None, by_rows(problem, walk, 3))
        step(rng, problem, walk, done)
    ended = answers.index(None)
    assert (ended > 0) == (most > 2)
    assert set(answers[ended:]) == {None}


def test_more_columns_than_marks(monkeypatch):
    monkeypatch.setattr(cohorts.kernels, "MARKS", 2)
    _, problem, walk = made(2)
    rule = cohorts.AlikeRows(problem, walk)
    assert [rule.score(column, 0) is None for column in (0, 1, 2, 0)] == [False, False, True, False]


@pytest.mark.parametrize("name", ["squared", "softmax"])
def test_other_losses_are_left_alone(name):
    problem = make_problem(np.ones((9, 2)), np.arange(9) % 2, LOSSES[name])
    assert cohorts.AlikeRows(problem, make_walk(problem, 1)).score(0, 0) is None


def test_other_entries_are_left_alone():
    problem = make_problem(np.full((9, 2), 0.5), np.arange(9) % 2, LOSSES["logistic"])
    assert cohorts.AlikeRows(problem, make_walk(problem, 1)).score(0, 0) is None
