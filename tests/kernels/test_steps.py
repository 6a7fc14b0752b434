"""Steps on margins, their lengths, and the weights that released vertices add up to."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dplasso.kernels.problem import DECREASING, NORM2, PATH, SCALE, SEARCHED
from dplasso.kernels.steps import move, multiply_out, replay, step_size
from dplasso.kernels.weights import weights_of
from dplasso.losses import LogisticLoss, SoftmaxLoss
from reference import dense, make_problem, make_walk, margins, seeded, weights_by_recursion

LOSSES = {1: LogisticLoss(), 3: SoftmaxLoss(classes=(0, 1, 2))}
ROWS, COLUMNS = 40, 6
shapes = st.tuples(st.sampled_from([1, 3]), st.booleans())


def make(classes=1, ones=False, *, step=0.0, radius=5.0, seed=0):
    """A small problem, one of its columns empty and one full."""
    rng = seeded(seed)
    X = (rng.random((ROWS, COLUMNS)) < 0.3) * (1.0 if ones else rng.uniform(-1, 1, (ROWS, COLUMNS)))
    X[:, 0], X[:, 1] = 0.0, 1.0 if ones else rng.uniform(-1, 1, ROWS)
    y = rng.integers(0, max(classes, 2), ROWS)
    problem = make_problem(sp.csc_array(X), y, LOSSES[classes], step=step, radius=radius)
    assert (problem.values is None) == ones
    return problem


def moved(problem, walk, vertex, sign, eta):
    matrix = (problem.indptr, problem.indices, problem.values)
    arguments = (walk.margins, walk.scalars, vertex, sign, eta)
    return move(matrix, problem.classes, problem.radius, *arguments)


def exact_margins(problem, w):
    """Margins in extended precision, rows x classes, of weights in the order of the vertices."""
    return dense(problem).astype(np.longdouble) @ w.reshape(COLUMNS, problem.classes)


def stepped(problem, w, vertex, sign, eta):
    """The recursion itself, in extended precision."""
    w = w * (1 - np.longdouble(eta))
    w[vertex] -= np.longdouble(eta) * problem.radius * sign
    return w


@st.composite
def turns(draw):
    """Vertices, signs and steps; a step of None goes back to where the margins about cancel."""
    one = st.tuples(
        st.integers(0, 3 * COLUMNS - 1),
        st.sampled_from([-1, 1]),
        st.floats(1e-6, 0.999) | st.sampled_from([0.0, 2 / 3, 0.5, 1 - 1e-9]),
    )
    return draw(st.lists(one, min_size=1, max_size=30))


@settings(max_examples=80, deadline=None)
@given(shapes, turns(), st.sampled_from([0.3, 5.0, 4000.0]))
# Here the sum of the path, rounded down, once fell short by its last bit.
@example((1, False), [(1, -1, 0.625), (0, -1, 1 - 1e-9), (1, -1, 0.0078125)], 0.3)
def test_a_step_moves_the_margins_and_never_underestimates_lengths(shape, steps, radius):
    problem = make(*shape, radius=radius)
    walk = make_walk(problem, 1)
    w = np.zeros(COLUMNS * problem.classes, np.longdouble)
    places, paths = [exact_margins(problem, w)], [0.0]
    for vertex, sign, eta in steps:
        vertex %= len(w)
        added = moved(problem, walk, vertex, sign, eta)
        w = stepped(problem, w, vertex, sign, eta)
        true, length = exact_margins(problem, w), radius * math.sqrt(ROWS)
        assert np.allclose(margins(problem, walk), true.astype(float), rtol=0, atol=1e-13 * length)
        assert walk.scalars[NORM2] >= float(np.sum(true * true))
        assert walk.scalars[NORM2] <= float(np.sum(true * true)) + 1e-11 * length**2
        column = dense(problem)[:, vertex // problem.classes]
        whole = eta * radius * np.linalg.norm(column)
        assert whole <= added <= whole * (1 + 1e-8)
        for place, path in zip(places, paths, strict=True):
            assert walk.scalars[PATH] - path >= float(np.linalg.norm(true - place))
        leap = float(np.linalg.norm(true - places[-1]))
        assert walk.scalars[PATH] - paths[-1] <= leap * (1 + 1e-6) + 1e-5 * length
        places.append(true)
        paths.append(walk.scalars[PATH])


@pytest.mark.parametrize("ones", [False, True])
@pytest.mark.parametrize("classes", [1, 3])
@pytest.mark.parametrize("step", [DECREASING, 0.05])
def test_lengths_stay_sharp_over_many_steps(classes, ones, step):
    problem = make(classes, ones)
    walk, rng = make_walk(problem, 1), seeded(1)
    w, way = np.zeros(COLUMNS * classes, np.longdouble), 0.0
    before = exact_margins(problem, w)
    for t in range(1, 1001):
        vertex, sign = int(rng.integers(len(w))), int(rng.choice([-1, 1]))
        eta = step_size(step, t)
        moved(problem, walk, vertex, sign, eta)
        w = stepped(problem, w, vertex, sign, eta)
        true = exact_margins(problem, w)
        way += float(np.linalg.norm(true - before))
        before = true
        square = float(np.sum(true * true))
        assert square <= walk.scalars[NORM2] <= square * (1 + 1e-6)
    assert way <= walk.scalars[PATH] <= way * (1 + 1e-6)


def test_where_margins_cancel_their_length_is_not_below_zero():
    """Two steps along one column, there and back to almost nothing."""
    problem = make()
    for eta in (0.5, 2 / 3, 1e-3):
        walk = make_walk(problem, 1)
        moved(problem, walk, 1, 1, eta)
        moved(problem, walk, 1, -1, eta / (1 + eta))
        true = margins(problem, walk)
        assert np.abs(true).max() < 1e-13
        assert float(np.sum(true**2)) <= walk.scalars[NORM2] < 1e-10


def test_step_sizes():
    assert [step_size(DECREASING, t) for t in (1, 2, 8)] == [2 / 3, 0.5, 0.2]
    assert step_size(0.25, 1) == step_size(0.25, 1000) == 0.25


def test_multiplying_out_keeps_the_true_margins():
    problem = make()
    walk = make_walk(problem, 1)
    walk.margins[:] = np.arange(ROWS)
    walk.scalars[:] = 1e-101, 7.0, 8.0
    factor = multiply_out(walk)
    assert math.frexp(factor)[0] == 0.5  # a power of two: no margin is rounded
    assert np.array_equal(walk.margins, np.arange(ROWS) * factor)
    assert 0.5 <= walk.scalars[SCALE] < 1.0
    assert walk.scalars.tolist() == [1e-101 / factor, 7.0, 8.0]


def random_walk(problem, rounds, seed=0):
    """A walk of released vertices, with steps where the problem searches for them."""
    walk, rng = make_walk(problem, rounds), seeded(seed)
    walk.vertices[:] = rng.integers(0, COLUMNS * problem.classes, rounds)
    walk.signs[:] = rng.choice([-1, 1], rounds)
    walk.steps[:] = rng.uniform(0, 0.9, len(walk.steps))
    return walk


def direct(problem, walk, size):
    step = problem.step if problem.step > 0 else None
    steps = walk.steps if len(walk.steps) else None
    return weights_by_recursion(walk.vertices, walk.signs, problem.radius, size, step, steps)


@pytest.mark.parametrize("ones", [False, True])
@pytest.mark.parametrize("classes", [1, 3])
@pytest.mark.parametrize("step", [DECREASING, SEARCHED, 0.3])
@pytest.mark.parametrize("rounds", [1, 2, 500])
def test_replay_is_the_direct_recursion(step, classes, ones, rounds):
    problem = make(classes, ones, step=step)
    walk = random_walk(problem, rounds)
    found = np.zeros(ROWS * classes)
    replay(problem, walk, found)
    w = direct(problem, walk, COLUMNS * classes)
    plain = dense(problem) @ w.reshape(COLUMNS, classes)
    assert np.allclose(found.reshape(ROWS, classes), plain, rtol=1e-10, atol=1e-12)


def test_replay_of_constant_steps_neither_overflows_nor_underflows():
    problem = make(step=0.3)
    walk = random_walk(problem, 20_000)
    found = np.zeros(ROWS)
    replay(problem, walk, found)
    plain = dense(problem) @ direct(problem, walk, COLUMNS)
    assert np.allclose(found, plain, rtol=1e-10, atol=1e-12)
    assert np.abs(found).max() > 0.1


def released(problem, walk, distinct):
    """Weights by vertex, from a table as small as is allowed."""
    keys, sums = weights_of(problem, walk, (2 * distinct - 1).bit_length())
    assert len(keys) == len(set(keys.tolist())) == distinct
    return dict(zip(keys.tolist(), sums.tolist(), strict=True))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 5) | st.integers(0, 30).map(lambda k: k << 30) | st.integers(0, 2**45),
            st.sampled_from([-1, 1]),
        ),
        min_size=1,
        max_size=60,
    ),
    st.sampled_from([DECREASING, SEARCHED, 0.3, 1e-4, 0.9999]),
    st.sampled_from([0.1, 5000.0]),
)
def test_weights_are_the_plain_recursion(path, step, radius):
    problem = make(step=step, radius=radius)
    walk = random_walk(problem, len(path))
    names = sorted({vertex for vertex, _ in path})
    walk.vertices[:] = [vertex for vertex, _ in path]
    walk.signs[:] = [sign for _, sign in path]
    found = released(problem, walk, len(names))
    # The recursion over the names that occur.
    short = walk._replace(vertices=np.searchsorted(names, walk.vertices))
    plain = direct(problem, short, len(names))
    assert sorted(found) == names
    weights = [found[name] for name in names]
    assert np.allclose(weights, plain, rtol=1e-11, atol=1e-13 * radius)
    assert np.abs(weights).sum() <= radius * (1 + 1e-12)


def test_a_crowded_table_finds_everyone():
    """All pairs in tables of four places: some collide in the last place and go on at the first."""
    problem = make()
    walk = random_walk(problem, 2)
    for one in range(60):
        for other in range(one):
            walk.vertices[:] = one, other
            found = released(problem, walk, 2)
            plain = direct(problem, walk, 60)
            assert found == pytest.approx({one: plain[one], other: plain[other]}, rel=1e-12)


def test_weights_of_400_000_rounds_have_a_closed_form():
    rounds, columns = 400_000, 1000
    problem = make(radius=50.0)
    walk, rng = make_walk(problem, rounds), seeded(3)
    walk.vertices[:] = rng.integers(0, columns, rounds)
    walk.signs[:] = rng.choice([-1, 1], rounds)
    found = released(problem, walk, columns)
    share = 2.0 * (np.arange(1, rounds + 1) + 1.0) / ((rounds + 1.0) * (rounds + 2.0))
    plain = np.zeros(columns)
    np.add.at(plain, walk.vertices, -50.0 * share * walk.signs)
    assert np.allclose([found[j] for j in range(columns)], plain, rtol=1e-9, atol=1e-12)
    assert share.sum() == pytest.approx(1.0, rel=1e-4)


def test_constant_steps_for_20_000_rounds():
    problem = make(step=0.3)
    walk = random_walk(problem, 20_000)
    found = released(problem, walk, COLUMNS)
    plain = direct(problem, walk, COLUMNS)
    assert np.allclose([found[j] for j in range(COLUMNS)], plain, rtol=1e-11, atol=1e-15)


def test_margins_and_weights_tell_the_same_story():
    """Moves, replay and weights of one walk of constant steps, scale multiplied out on the way."""
    problem = make(step=0.3)
    walk = random_walk(problem, 2000)
    for vertex, sign in zip(walk.vertices.tolist(), walk.signs.tolist(), strict=True):
        moved(problem, walk, vertex, sign, 0.3)
        if walk.scalars[SCALE] < 1e-100:
            multiply_out(walk)
    again = np.zeros(ROWS)
    replay(problem, walk, again)
    found = released(problem, walk, COLUMNS)
    plain = dense(problem) @ [found[j] for j in range(COLUMNS)]
    assert np.allclose(margins(problem, walk)[:, 0], plain, rtol=1e-10, atol=1e-12)
    assert np.allclose(again, plain, rtol=1e-10, atol=1e-12)
