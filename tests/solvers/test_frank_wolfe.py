"""The solver: what it refuses, what it releases, and what it recovers."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from dplasso.data import ColumnMatrix
from dplasso.kernels.line_search import LONGEST
from dplasso.losses import LogisticLoss, SoftmaxLoss, SquaredLoss
from dplasso.mechanisms.random_bits import random_bits
from dplasso.solvers import Counters, frank_wolfe
from reference import chi_square, law, outcome, seeded, weights_by_recursion

LOSSES = {
    "logistic": LogisticLoss(),
    "squared": SquaredLoss(y_bound=1.0),
    "huber": SquaredLoss(y_bound=1.0, residual_bound=0.5),
    "softmax": SoftmaxLoss(classes=(0, 1, 2)),
}


def sample(loss, *, rows=120, columns=30, seed=0):
    """Quarters, some of them beyond the bound of 1, and labels the loss understands."""
    rng = seeded(seed)
    X = rng.integers(-5, 6, (rows, columns)) / 4.0 * (rng.random((rows, columns)) < 0.3)
    signal = X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=rows)
    if isinstance(loss, SquaredLoss):
        return X, signal
    return X, np.digitize(signal, np.linspace(-0.5, 0.5, max(loss.outputs, 2) - 1))


def solve(X, y, loss=LOSSES["logistic"], **changes):  # noqa: B008
    options = {"radius": 4.0, "rounds": 200, "theta": 0.2, "generator": 7} | changes
    return frank_wolfe(X, y, loss=loss, **options)


def same(a, b):
    return (
        np.array_equal(a.columns, b.columns)
        and np.array_equal(a.classes, b.classes)
        and np.array_equal(a.signs, b.signs)
        and np.array_equal(a.weights.toarray(), b.weights.toarray())
    )


HUGE = pytest.param(10**400, id="huge")
X0, Y0 = sample(LOSSES["logistic"], rows=20, columns=6)


REFUSED_RANGE = "^(theta|radius|x_bound) .*; (take|rescale|give)"


def assert_refused(match, X=X0, y=Y0, **changes):
    """A ValueError that names the parameter, before any random bit is drawn."""
    generator = seeded(1)
    before = generator.bit_generator.state
    with pytest.raises(ValueError, match=match) as caught:
        solve(X, y, **({"generator": generator} | changes))
    assert generator.bit_generator.state == before
    return str(caught.value)


def test_a_good_call_draws_random_bits():
    """Otherwise the tests of refusals would prove nothing."""
    generator = seeded(1)
    before = generator.bit_generator.state
    solve(X0, Y0, generator=generator)
    assert generator.bit_generator.state != before


@pytest.mark.parametrize("radius", [0, 0.0, -1.0, math.nan, math.inf, "1", None, 1j, True, HUGE])
def test_bad_radius(radius):
    assert_refused("^radius must be a positive finite number, got", radius=radius)


@pytest.mark.parametrize("theta", [0, 0.0, -1.0, math.nan, -math.inf, "1", None, True, HUGE])
def test_bad_theta(theta):
    assert_refused("^theta must be a positive number, got", theta=theta)


@pytest.mark.parametrize("number", [0, -1, 2.0, math.nan, True, "3"])
@pytest.mark.parametrize("name", ["rounds", "n_threads"])
def test_bad_whole_numbers(name, number):
    assert_refused(f"^{name} must be a whole number of at least 1, got", **{name: number})


def test_rounds_can_not_be_left_open():
    assert_refused("^rounds must be a whole number", rounds=None)


@pytest.mark.parametrize(
    "step", [0.0, 1.0, -0.1, 1.5, math.nan, math.inf, "fast", None, True, "0.1"]
)
@pytest.mark.parametrize("theta", [0.1, math.inf])
def test_bad_step(step, theta):
    match = "^step must be 'decreasing', 'search' or a number between 0 and 1, got"
    assert_refused(match, step=step, theta=theta)


def test_a_searched_step_is_not_private():
    assert_refused("^step='search' .*not private; use 'decreasing'.*theta=math.inf", step="search")


@pytest.mark.parametrize("selection", ["best", "", "argmax", "heap", "LAZY", None, ["lazy"]])
def test_unknown_private_selection(selection):
    """Rules without privacy are unknown where privacy is asked for."""
    message = assert_refused("^selection must be one of .*finite, got", selection=selection)
    assert "'lazy'" in message
    assert "'argmax'" not in message.split("got")[0]


@pytest.mark.parametrize("selection", ["best", "noisy_max", "big_step_little_step", None])
def test_unknown_greedy_selection(selection):
    match = "^selection must be one of .*'argmax'.*infinite, got"
    assert_refused(match, selection=selection, theta=math.inf)


@pytest.mark.parametrize("loss", [None, "logistic", LogisticLoss])
def test_bad_loss(loss):
    assert_refused("^loss must be a Loss", loss=loss)


@pytest.mark.parametrize(
    "changes",
    [
        {"theta": 5e-324},
        {"theta": 1e-310},
        {"theta": 1e12},
        {"theta": 1e300},
        {"radius": 1e300},
        {"radius": 1e-300},
        {"x_bound": 1e-300},
        {"x_bound": 1e200},
        {"x_bound": 1e200, "radius": 1e200},
    ],
    ids=str,
)
def test_ranges_beyond_double_precision_are_refused(changes):
    """Each of them once hung, overflowed or drew from the wrong law."""
    assert_refused(REFUSED_RANGE, **changes)


@pytest.mark.parametrize("x_bound", [0.0, -1.0, math.nan, math.inf, "1", True])
def test_bad_x_bound(x_bound):
    assert_refused("^x_bound must be a finite number above 0, got", x_bound=x_bound)


def test_shapes_that_disagree():
    match = "^X and y differ in their number of rows; give one label per row$"
    assert_refused(match, y=Y0[:-1])
    assert_refused(match, X=X0[:-1])
    assert_refused("^y must be one-dimensional", y=Y0[:, None])
    assert_refused("^X must have two dimensions", X=X0[:, 0])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array])
def test_gaps_in_the_matrix(bad, form):
    X = X0.copy()
    X[3, 2] = bad
    assert_refused("^X holds NaN or infinity; impute or remove", X=form(X))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", LOSSES)
def test_gaps_in_the_labels(bad, name):
    y = Y0.astype(float)
    y[3] = bad
    assert_refused("^y holds NaN or infinity; remove or impute", y=y, loss=LOSSES[name])


@pytest.mark.parametrize("name", ["logistic", "softmax"])
def test_labels_outside_the_classes(name):
    y = Y0.copy()
    y[3] = 7391
    message = assert_refused("^y holds labels outside .*declare", y=y, loss=LOSSES[name])
    assert "7391" not in message


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_an_empty_matrix(shape):
    assert_refused("^X is empty; it needs", X=np.zeros(shape), y=np.zeros(shape[0]))


@pytest.mark.parametrize("generator", [-1, 1.5, "7", True])
def test_bad_generator(generator):
    with pytest.raises(ValueError, match="^generator must be"):
        solve(X0, Y0, generator=generator)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(
    ("theta", "step"), [(0.2, "decreasing"), (5.0, 0.3), (math.inf, "search"), (math.inf, 0.999)]
)
@pytest.mark.parametrize("rounds", [1, 7, 300])
def test_what_is_released(name, theta, step, rounds):
    loss = LOSSES[name]
    X, y = sample(loss)
    found = solve(X, y, loss, theta=theta, step=step, rounds=rounds)
    columns, outputs = X.shape[1], loss.outputs
    for array, kind in [
        (found.columns, np.int64),
        (found.classes, np.int64),
        (found.signs, np.int8),
    ]:
        assert array.shape == (rounds,) and array.dtype == kind
    assert np.all((found.columns >= 0) & (found.columns < columns))
    assert np.all((found.classes >= 0) & (found.classes < outputs))
    assert np.all(np.abs(found.signs) == 1)
    if step == "search":
        assert found.steps.shape == (rounds,) and found.steps.dtype == np.float64
        assert np.all((found.steps >= 0.0) & (found.steps <= LONGEST))
    else:
        assert found.steps is None
    assert isinstance(found.weights, sp.csr_array)
    assert found.weights.shape == (outputs, columns) and found.weights.dtype == np.float64
    assert found.weights.has_canonical_format
    assert found.weights.nnz <= min(rounds, columns * outputs)
    assert abs(found.weights).sum() <= 4.0 * (1 + 1e-12)
    # Once more by hand, round by round.
    constant = step if isinstance(step, float) else None
    vertices = found.columns * outputs + found.classes
    w = weights_by_recursion(
        vertices, found.signs, 4.0, columns * outputs, constant, found.steps
    ).reshape(columns, outputs)
    assert np.allclose(found.weights.toarray(), w.T, rtol=1e-11, atol=1e-14)
    assert found.counters is None


def test_columns_far_to_the_right():
    """Weights of a matrix with many more columns than rounds, the last one among them."""
    X = sp.csc_array((np.ones(50), (np.arange(50), np.full(50, 2_999_999))), shape=(50, 3_000_000))
    found = solve(X, np.ones(50), theta=math.inf, rounds=5)
    assert np.all(found.columns == 2_999_999) and np.all(found.signs == -1)
    assert found.weights.nnz == 1 and found.weights.shape == (1, 3_000_000)
    assert found.weights[0, 2_999_999] == pytest.approx(4.0 * (1 - 2 / 42), rel=1e-12)


@pytest.mark.parametrize("theta", [0.2, math.inf])
def test_counters_only_on_request(theta):
    X, y = sample(LOSSES["logistic"])
    counted = solve(X, y, theta=theta, count=True)
    assert isinstance(counted.counters, Counters)
    assert type(counted.counters.evaluations) is int
    assert counted.counters.evaluations > 0 and counted.counters.entries > 0
    plain = solve(X, y, theta=theta)
    assert plain.counters is None and same(plain, counted)


def test_proposals_are_no_fewer_than_rounds():
    X, y = sample(LOSSES["logistic"])
    assert solve(X, y, count=True).counters.proposals >= 200


@pytest.mark.parametrize("theta", [0.2, math.inf])
def test_progress(theta):
    X, y = sample(LOSSES["logistic"], rows=30, columns=5)
    seen = []
    watched = solve(X, y, theta=theta, rounds=12_000, progress=seen.append)
    assert len(seen) >= 2 and seen[-1] == 12_000
    assert all(a < b for a, b in zip([0, *seen[:-1]], seen, strict=True))
    assert all(type(done) is int for done in seen)
    assert same(watched, solve(X, y, theta=theta, rounds=12_000))


def test_a_person_can_interrupt():
    X, y = sample(LOSSES["logistic"], rows=30, columns=5)

    def stop(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(X, y, rounds=10_000_000, progress=stop)


@pytest.mark.parametrize("name", LOSSES)
def test_a_seed_decides_everything_and_threads_nothing(name):
    loss = LOSSES[name]
    X, y = sample(loss)
    found = solve(X, y, loss, n_threads=1)
    assert same(found, solve(X, y, loss, n_threads=1))
    assert same(found, solve(X, y, loss, n_threads=2))
    assert same(found, solve(X, y, loss, n_threads=5))
    assert same(found, solve(X, y, loss, generator=random_bits(7)))
    assert same(found, solve(X, y, loss, generator=random_bits(7).generator))
    assert not same(found, solve(X, y, loss, generator=8))
    assert not same(solve(X, y, loss, generator=None), solve(X, y, loss, generator=None))


@pytest.mark.parametrize("selection", ["lazy", "argmax"])
def test_without_noise_nothing_is_left_to_chance(selection):
    X, y = sample(LOSSES["logistic"])
    found = solve(X, y, theta=math.inf, generator=None, n_threads=1, selection=selection)
    assert same(found, solve(X, y, theta=math.inf, n_threads=2, selection="argmax"))


@pytest.mark.parametrize("theta", [0.2, math.inf])
def test_forms_of_one_matrix_give_one_answer(theta):
    X, y = sample(LOSSES["logistic"])
    wanted = solve(X, y, theta=theta)
    forms = [sp.csr_array(X), sp.csc_matrix(X), sp.coo_array(X), X.tolist(), np.asfortranarray(X)]
    for form in [*forms, ColumnMatrix.of(X)]:
        assert same(wanted, solve(form, y, theta=theta))


@pytest.mark.parametrize("theta", [0.2, math.inf])
def test_zeros_and_ones_of_any_kind_give_one_answer(theta):
    X, y = sample(LOSSES["logistic"])
    ones = X != 0
    wanted = solve(ones, y, theta=theta)
    for form in (sp.csr_array(ones), ones.astype(np.int8), sp.csc_array(ones.astype(np.float32))):
        assert same(wanted, solve(form, y, theta=theta))
    # A stored zero keeps the values, and changes nothing else.
    stored = sp.csc_array(np.where(ones, 1.0, 2.0))
    stored.data[stored.data == 2.0] = 0.0
    if math.isinf(theta):
        assert same(wanted, solve(stored, y, theta=theta))


def test_single_precision_gives_the_same_answer():
    X, y = sample(LOSSES["logistic"])
    assert same(solve(X, y), solve(sp.csc_array(X.astype(np.float32)), y))


def test_long_indices_give_the_same_answer():
    X, y = sample(LOSSES["logistic"])
    long = sp.csc_array(X)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    assert same(solve(X, y), solve(long, y))


def test_clipping_happens_before_anything_else():
    X, y = sample(LOSSES["logistic"])
    assert np.abs(X).max() > 1.0
    assert same(solve(X, y), solve(np.clip(X, -1.0, 1.0), y))
    assert not same(solve(X, y), solve(X, y, x_bound=2.0))


def test_what_was_given_is_not_written_to():
    X, y = sample(LOSSES["logistic"])
    for given in (X, sp.csc_array(X), sp.csc_array(np.clip(X, -1, 1))):
        kept, labels = given.copy(), y.copy()
        solve(given, y)
        solve(given, y, theta=math.inf)
        assert abs(given - kept).max() == 0.0 and np.array_equal(y, labels)


@pytest.mark.parametrize("power", [3, 40, -40, 120, -120, 160, -160, 300, -300])
def test_units_cancel(power):
    """Entries, bound, radius and theta in units of a power of two: the very same vertices.

    Units too large or too small for the engine are refused, never drawn from the wrong law.
    """
    X, y = sample(LOSSES["logistic"])
    unit = 2.0**power
    found = solve(X, y, x_bound=1.0)
    try:
        scaled = solve(X * unit, y, x_bound=unit, radius=4.0 / unit, theta=0.2 / unit)
    except ValueError as error:
        assert abs(power) > 100 and str(error).startswith(("x_bound", "radius")), error
        return
    assert np.array_equal(found.columns, scaled.columns)
    assert np.array_equal(found.signs, scaled.signs)
    assert np.allclose(found.weights.toarray(), scaled.weights.toarray() * unit, rtol=1e-12)


def planted(rows, columns, seed=3):
    """Labels that follow a few columns, and noise."""
    rng = seeded(seed)
    X = np.clip(rng.normal(size=(rows, columns)) / 2.0, -1, 1)
    signal = 3.0 * X[:, 0] - 2.0 * X[:, 1] + X[:, 2]
    return X, (rng.random(rows) < 1 / (1 + np.exp(-signal))).astype(int)


def gap(loss, X, y, w, radius):
    """Frank-Wolfe's own duality gap: no point of the ball is better by more than this."""
    gradient = X.T @ loss.gradient(X @ w.T, loss.encode(y))
    return float(np.sum(gradient * w.T) + radius * np.abs(gradient).max())


@pytest.mark.parametrize("selection", ["lazy", "argmax"])
@pytest.mark.parametrize("name", LOSSES)
def test_without_noise_it_reaches_the_optimum(name, selection):
    loss = LOSSES[name]
    X, y = planted(150, 12)
    found = solve(
        X, y, loss, theta=math.inf, step="search", radius=2.5, rounds=4000, selection=selection
    )
    w = found.weights.toarray()
    start = gap(loss, X, y, np.zeros_like(w), 2.5)
    assert 0.0 <= gap(loss, X, y, w, 2.5) <= 3e-3 * start


def test_the_lasso_is_sparse_and_right():
    """Weights on the sphere, no noise: the planted weights are the only optimum."""
    X, _ = planted(200, 40)
    true = np.zeros(40)
    true[[3, 17, 29]] = 0.5, -0.3, 0.2
    loss = SquaredLoss(y_bound=2.0)
    found = solve(
        X, X @ true, loss, theta=math.inf, step="search", radius=1.0, rounds=2000
    ).weights.toarray()[0]
    assert np.allclose(found, true, atol=0.02)


@pytest.mark.parametrize("name", ["logistic", "squared"])
def test_decreasing_steps_converge_as_they_should(name):
    """f(w_T) - f* <= 2 C / (T + 2), C the curvature over the ball, and the start's last share."""
    loss = LOSSES[name]
    X, y = planted(150, 12)
    labels = loss.encode(y)

    def value(found):
        return loss.value(X @ found.weights.toarray().T, labels)

    best = value(solve(X, y, loss, theta=math.inf, step="search", rounds=4000))
    curvature = loss.curvature[1] * len(X) * (2 * 4.0) ** 2
    start = loss.value(np.zeros((len(X), 1)), labels) - best
    for rounds in (10, 100, 1000):
        off = value(solve(X, y, loss, theta=math.inf, rounds=rounds)) - best
        share = 2.0 / ((rounds + 1) * (rounds + 2))
        assert -1e-3 * start <= off <= 2.0 * curvature / (rounds + 2) + share * start


def test_every_searched_round_improves():
    loss = LOSSES["logistic"]
    X, y = planted(150, 12)
    found = solve(X, y, loss, theta=math.inf, step="search", rounds=60)
    values, w = [loss.value(np.zeros((150, 1)), y)], np.zeros(12)
    for j, s, eta in zip(found.columns, found.signs, found.steps, strict=True):
        w *= 1 - eta
        w[j] -= eta * 4.0 * s
        values.append(loss.value((X @ w)[:, None], y))
    assert np.all(np.diff(values) <= 1e-9)


def test_the_first_vertex_is_the_steepest():
    for name, loss in LOSSES.items():
        X, y = sample(loss)
        X = np.clip(X, -1, 1)
        slope = X.T @ loss.gradient(np.zeros((len(X), loss.outputs)), loss.encode(y))
        found = solve(X, y, loss, theta=math.inf, rounds=1)
        j, k = np.unravel_index(np.abs(slope).argmax(), slope.shape)
        assert (found.columns[0], found.classes[0]) == (j, k), name
        assert found.signs[0] == np.sign(slope[j, k])
        assert np.sign(found.weights[k, j]) == -np.sign(slope[j, k])


def test_two_classes_of_softmax_are_logistic():
    """Class 0 has the score of class 1, sign reversed: without noise both walk the same way."""
    X, y = planted(150, 12)
    two = solve(X, y, SoftmaxLoss(classes=(0, 1)), theta=math.inf, rounds=300)
    one = solve(X, y, theta=math.inf, rounds=300)
    assert np.array_equal(two.columns, one.columns)
    assert np.array_equal(np.where(two.classes == 1, two.signs, -two.signs), one.signs)
    w = two.weights.toarray()
    assert np.allclose(w[1] - w[0], one.weights.toarray()[0], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("theta", [0.1, math.inf])
def test_softmax_tells_three_groups_apart(theta):
    rng = seeded(5)
    y = rng.integers(0, 3, 3000)
    X = np.clip(0.4 * rng.normal(size=(3000, 20)), -1, 1)
    X[np.arange(3000), y] += 0.7
    names = np.array(["ash", "birch", "cedar"])
    found = solve(X, names[y], SoftmaxLoss(classes=names), theta=theta, radius=30.0, rounds=300)
    margins = ColumnMatrix.of(X).product(found.weights.toarray().T)
    assert margins.shape == (3000, 3)
    assert np.mean(margins.argmax(axis=1) == y) > 0.8


def test_privacy_leaves_a_strong_signal_standing():
    """Of 300 columns one decides the label: with a generous theta it gets the largest weight."""
    rng = seeded(6)
    X = rng.random((4000, 300)) < 0.2
    y = np.where(rng.random(4000) < 0.9, X[:, 7], ~X[:, 7])
    for sign, labels in ((1, y), (-1, ~y)):
        found = solve(sp.csr_array(X), labels, theta=0.05, radius=10.0, rounds=100)
        w = found.weights.toarray()[0]
        assert np.abs(w).argmax() == 7 and np.sign(w[7]) == sign


@pytest.mark.parametrize("name", LOSSES)
def test_law_of_the_first_vertex(name):
    """From the arguments of a user to the exponential mechanism: nothing lost on the way."""
    loss, theta, generator = LOSSES[name], 0.06, seeded(8)
    X, y = sample(loss, columns=3)
    slope = np.clip(X, -1, 1).T @ loss.gradient(np.zeros((len(X), loss.outputs)), loss.encode(y))
    exact = law(slope.ravel(), theta)
    assert exact.max() > 1.5 * exact.min()
    counts = np.zeros(len(exact))
    for _ in range(4000):
        one = solve(X, y, loss, theta=theta, rounds=1, generator=generator, n_threads=1)
        vertex = one.columns[0] * loss.outputs + one.classes[0]
        counts[outcome(vertex, one.signs[0])] += 1
    assert chi_square(counts, exact) > 1e-5


def test_strong_privacy_hides_everything():
    """At theta near 0 all signed columns are equally likely."""
    X, y = planted(150, 12)
    found = solve(X, y, theta=1e-7, rounds=24_000)
    counts = np.bincount(2 * found.columns + (found.signs > 0), minlength=24)
    assert np.all(np.abs(counts - 1000) < 6 * math.sqrt(1000))
