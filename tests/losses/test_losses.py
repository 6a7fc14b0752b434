"""Losses: gradients, and the bounds that privacy and the lazy rules are paid with."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dplasso.losses import LogisticLoss, SoftmaxLoss, SquaredLoss
from dplasso.losses.labels import positions

LOSSES = {
    "logistic": LogisticLoss(),
    "squared": SquaredLoss(y_bound=2.0),
    "huber": SquaredLoss(y_bound=2.0, residual_bound=0.75),
    "softmax 2": SoftmaxLoss(classes=(0, 1)),
    "softmax 5": SoftmaxLoss(classes=range(5)),
}

names = st.sampled_from(sorted(LOSSES))


CLASSES = {
    "large": [2047, 2048, 2049, 2**53 - 1, 2**53, 2**53 + 1],
    "fractions": [0.1, 0.2, float(np.float32(0.1))],
    "small": [0, 1, 2.5],
}
KINDS = [np.int8, np.int64, np.uint64, np.float16, np.float32, np.float64, np.longdouble, object]


def exact(number):
    return Fraction(*number.as_integer_ratio()) if np.isfinite(number) else None


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("kind", KINDS)
def test_labels_match_classes_by_value_in_any_precision(name, kind):
    classes = CLASSES[name]
    for place, label in enumerate(classes):
        with np.errstate(all="ignore"):
            y = np.array([label]).astype(kind)
        if exact(y.tolist()[0]) == exact(label):
            assert positions(y, classes).tolist() == [place]
            others = [other for other in classes if other != label]
            with pytest.raises(ValueError, match="outside the declared classes"):
                positions(y, others)


@pytest.mark.parametrize("y", [np.array([0.1], np.float32), np.array([np.float32(0.1)], object)])
def test_a_label_of_single_precision_is_not_the_class_it_was_rounded_from(y):
    with pytest.raises(ValueError, match="outside the declared classes"):
        positions(y, [0.1, 0.2])
    assert positions(y, [0.1, np.float32(0.1)]).tolist() == [1]


def test_labels_of_other_kinds_match_no_class():
    for y, classes in (
        ([1, 2], ["1", "2"]),
        (["1", "2"], [1, 2]),
        ([True], [2, 3]),
        ([2.0], [10**400, 3]),
        (np.array([1.0], np.float16), [70000, 3]),
    ):
        with pytest.raises(ValueError, match="outside the declared classes"):
            positions(y, classes)
    assert positions([True, False], [0, 1]).tolist() == [1, 0]


numbers = st.floats(-30.0, 30.0)


def encoded(loss, number):
    """Any whole number as an encoded label of the loss."""
    if isinstance(loss, SquaredLoss):
        return np.array([(number % 9 - 4) / 2.0])
    return np.array([float(number % max(loss.outputs, 2))])


def row(loss, m):
    """Margins of one row."""
    return np.array(m[: loss.outputs])[None, :]


margins = st.lists(numbers, min_size=5, max_size=5)


@settings(max_examples=200, deadline=None)
@given(names, margins, st.integers(0, 100))
def test_gradient_is_the_derivative_of_the_value(name, m, label):
    loss = LOSSES[name]
    at, y, h = row(loss, m), encoded(loss, label), 1e-5
    gradient = loss.gradient(at, y)
    assert gradient.shape == (1, loss.outputs)
    for k in range(loss.outputs):
        move = np.zeros_like(at)
        move[0, k] = h
        slope = (loss.value(at + move, y) - loss.value(at - move, y)) / (2 * h)
        # Huber's gradient has kinks; a difference across one is off by up to h.
        assert slope == pytest.approx(gradient[0, k], rel=1e-6, abs=2e-5)


@pytest.mark.parametrize("name", LOSSES)
def test_rows_add_up(name):
    loss, rng = LOSSES[name], np.random.default_rng(1)
    at = rng.normal(size=(7, loss.outputs))
    y = np.concatenate([encoded(loss, k) for k in range(7)])
    rows = [loss.value(at[i : i + 1], y[i : i + 1]) for i in range(7)]
    assert loss.value(at, y) == pytest.approx(sum(rows), rel=1e-13)
    stacked = np.concatenate([loss.gradient(at[i : i + 1], y[i : i + 1]) for i in range(7)])
    assert np.array_equal(loss.gradient(at, y), stacked)


@pytest.mark.parametrize("name", LOSSES)
def test_values_stay_finite_at_large_margins(name):
    loss = LOSSES[name]
    for size in (-1e4, 1e4):
        at = np.zeros((1, loss.outputs))
        at[0, 0] = size
        for label in range(3):
            y = encoded(loss, label)
            assert math.isfinite(loss.value(at, y)) and loss.value(at, y) >= 0.0
            assert np.all(np.isfinite(loss.gradient(at, y)))


@st.composite
def weights_in_ball(draw, outputs, columns):
    """Any shape of weights in the unit L1 ball, its vertices and faces among them."""
    size = outputs * columns
    w = np.array(draw(st.lists(st.floats(-1, 1), min_size=size, max_size=size)))
    keep = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    w[~np.array(keep)] = 0.0
    total = np.abs(w).sum()
    return (w / total if total > 1e-6 else w * 0.0).reshape(outputs, columns)


@settings(max_examples=300, deadline=None)
@given(st.data(), names, st.sampled_from([0.1, 1.0, 8.0, 500.0]), st.sampled_from([0.2, 1.0, 3.0]))
def test_gradient_keeps_its_bound_inside_the_ball(data, name, radius, x_bound):
    loss, columns = LOSSES[name], 3
    w = radius * data.draw(weights_in_ball(loss.outputs, columns))
    ends = st.sampled_from([-1.0, 0.0, 1.0]) | st.floats(-1, 1)
    x = x_bound * np.array(data.draw(st.lists(ends, min_size=columns, max_size=columns)))
    y = encoded(loss, data.draw(st.integers(0, 20)))
    bound = loss.gradient_bound(radius, x_bound)
    assert np.abs(loss.gradient((w @ x)[None, :], y)).max() <= bound * (1 + 1e-12)


@pytest.mark.parametrize("radius", [0.3, 2.0, 6.0])
@pytest.mark.parametrize("name", LOSSES)
def test_the_bound_on_the_gradient_is_reached(name, radius):
    """A looser one would waste budget."""
    loss, x_bound = LOSSES[name], 0.5
    largest = 0.0
    for k in range(loss.outputs):
        for m in (-radius * x_bound, radius * x_bound):
            at = np.zeros((1, loss.outputs))
            at[0, k] = m
            for label in range(9):
                largest = max(largest, np.abs(loss.gradient(at, encoded(loss, label))).max())
    assert largest == pytest.approx(loss.gradient_bound(radius, x_bound), rel=1e-12)


def test_bounds_of_huge_balls():
    assert LogisticLoss().gradient_bound(1e6, 1.0) == 1.0
    assert SoftmaxLoss(range(3)).gradient_bound(1e6, 1.0) == 1.0
    assert SquaredLoss(1.0).gradient_bound(1e6, 2.0) == 2e6 + 1.0
    assert SquaredLoss(1.0, residual_bound=3.0).gradient_bound(1e6, 2.0) == 3.0
    assert SquaredLoss(1.0, residual_bound=30.0).gradient_bound(2.0, 2.0) == 5.0


@settings(max_examples=300, deadline=None)
@given(names, margins, st.integers(0, 4), numbers | st.floats(-0.1, 0.1), st.integers(0, 100))
def test_slope_stays_in_the_interval_of_curvature(name, m, k, change, label):
    loss = LOSSES[name]
    at, y, k = row(loss, m), encoded(loss, label), k % loss.outputs
    after = at.copy()
    after[0, k] += change
    move = after[0, k] - at[0, k]
    moved = loss.gradient(after, y)[0, k] - loss.gradient(at, y)[0, k]
    low, high = sorted((loss.curvature[0] * move, loss.curvature[1] * move))
    assert low - 1e-13 * (1 + abs(low)) <= moved <= high + 1e-13 * (1 + abs(high))


@settings(max_examples=500, deadline=None)
@given(names, margins, margins, st.sampled_from([1.0, 0.1, 1e-3]))
def test_gradients_move_no_faster_than_lipschitz(name, m, change, part):
    loss = LOSSES[name]
    at = row(loss, m)
    after = at + part * row(loss, change)
    y = encoded(loss, 0)
    moved = np.abs(loss.gradient(after, y) - loss.gradient(at, y)).max()
    assert moved <= loss.lipschitz * np.linalg.norm(after - at) + 1e-14 * (1 + np.abs(at).max())


@pytest.mark.parametrize(
    ("name", "at", "move"),
    [
        ("logistic", [0.0], [1e-4]),
        ("squared", [0.3], [1.0]),
        ("huber", [0.0], [0.1]),
        ("softmax 2", [0.0, 0.0], [1e-4, -1e-4]),
    ],
)
def test_lipschitz_and_curvature_are_reached(name, at, move):
    loss, y = LOSSES[name], np.zeros(1)
    before, after = np.array([at]), np.array([at]) + [move]
    moved = np.abs(loss.gradient(after, y) - loss.gradient(before, y)).max()
    assert moved == pytest.approx(loss.lipschitz * np.linalg.norm(move), rel=1e-6)
    if loss.outputs == 1:
        assert moved == pytest.approx(loss.curvature[1] * abs(move[0]), rel=1e-6)


def test_squared_loss_has_one_slope():
    assert LOSSES["squared"].curvature == (1.0, 1.0)
    assert LOSSES["huber"].curvature == (0.0, 1.0)
    assert LOSSES["squared"].clip == math.inf and LOSSES["huber"].clip == 0.75


def test_pieces_of_hubers_loss():
    loss, y = SquaredLoss(y_bound=5.0, residual_bound=2.0), np.array([1.0])
    for m, value, gradient in [
        (1.0, 0.0, 0.0),
        (2.0, 0.5, 1.0),
        (3.0, 2.0, 2.0),
        (5.0, 6.0, 2.0),
        (-1.0, 2.0, -2.0),
        (-9.0, 18.0, -2.0),
    ]:
        at = np.array([[m]])
        assert loss.value(at, y) == value
        assert loss.gradient(at, y).tolist() == [[gradient]]


def test_values_of_logistic_and_softmax():
    at = np.array([[0.3], [-2.0]])
    plain = math.log1p(math.exp(0.3)) - 0.3 + math.log1p(math.exp(-2.0))
    assert LogisticLoss().value(at, np.array([1.0, 0.0])) == pytest.approx(plain, rel=1e-14)
    three = SoftmaxLoss("abc")
    at = np.array([[0.3, -1.0, 2.0]])
    weights = np.exp(at[0])
    for k in range(3):
        value = three.value(at, np.array([float(k)]))
        assert value == pytest.approx(-math.log(weights[k] / weights.sum()), rel=1e-13)


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1), st.floats(1e-3, 1e3))
def test_labels_are_clipped_to_their_bound(y, y_bound):
    given_y = np.array(y)
    found = SquaredLoss(y_bound).encode(given_y)
    assert found.dtype == np.float64
    assert np.array_equal(found, np.minimum(np.maximum(y, -y_bound), y_bound))
    assert np.array_equal(given_y, y) and not np.shares_memory(found, given_y)


FINITE = st.floats(allow_nan=False, allow_infinity=False)


@settings(deadline=None)
@given(st.lists(FINITE, min_size=1), FINITE, st.floats(1e-3, 1e300))
def test_labels_of_a_range_are_at_most_half_of_it_from_its_middle(y, low, width):
    high = low + width
    assume(low < high < math.inf)
    loss = SquaredLoss((low, high))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning would depend on the labels
        found = loss.encode(np.array(y))
    assert np.all(np.abs(found) <= loss.y_bound)
    assert loss.y_bound == pytest.approx(float((Fraction(high) - Fraction(low)) / 2), rel=1e-15)
    ends = loss.encode(np.array([low, high]))
    assert np.all(found >= ends[0]) and np.all(found <= ends[1])


@pytest.mark.parametrize("kind", [int, np.int8, bool, np.float32])
def test_squared_loss_takes_every_kind_of_number(kind):
    found = SquaredLoss(0.5).encode(np.array([0, 1], kind))
    assert found.dtype == np.float64 and found.tolist() == [0.0, 0.5]


@pytest.mark.parametrize(
    ("classes", "y", "places"),
    [
        ((0, 1), [1, 0, 1], [1, 0, 1]),
        ((1, 0), [1, 0, 1], [0, 1, 0]),
        ((-1, 1), np.array([1.0, -1.0]), [1, 0]),
        ((0, 1), np.array([True, False]), [1, 0]),
        (("no", "yes"), ["yes", "no"], [1, 0]),
        (np.array([3, 8]), np.array([8, 8, 3], np.int8), [1, 1, 0]),
        (("no", 1), np.array(["no", 1], object), [0, 1]),
    ],
)
def test_labels_become_places_among_the_classes(classes, y, places):
    for loss in (LogisticLoss(classes), SoftmaxLoss(classes)):
        found = loss.encode(y)
        assert found.dtype == np.float64 and found.tolist() == places


def test_classes_that_do_not_occur_count():
    loss = SoftmaxLoss(classes=("a", "b", "c", "d"))
    assert loss.outputs == 4 and loss.encode(["d", "a"]).tolist() == [3, 0]


@pytest.mark.parametrize("loss", [LogisticLoss(("no", "yes")), SoftmaxLoss(("no", "yes", "so"))])
@pytest.mark.parametrize("y", [["yes", "tumour"], [1, 0], [None, "yes"], ["", "no"]])
def test_labels_outside_the_classes(loss, y):
    y = np.array(y, object) if None in y else y
    with pytest.raises(ValueError, match="^y holds labels outside .*classes; declare") as caught:
        loss.encode(y)
    assert "tumour" not in str(caught.value)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", LOSSES)
def test_labels_with_gaps(name, bad):
    with pytest.raises(ValueError, match="^y holds NaN or infinity; remove or impute"):
        LOSSES[name].encode([0.0, bad])


@pytest.mark.parametrize("y", [[[0.0], [1.0]], 1.0, [[[0.0]]]])
@pytest.mark.parametrize("name", LOSSES)
def test_labels_of_the_wrong_shape(name, y):
    with pytest.raises(ValueError, match="^y must be one-dimensional, .*one label per row"):
        LOSSES[name].encode(y)


@pytest.mark.parametrize("y", [["1.5", "2"], np.array([1.0, None], object), np.array([1j])])
def test_squared_loss_needs_real_labels(y):
    with pytest.raises(ValueError, match="^y must be real numbers, got .*; convert"):
        SquaredLoss(1.0).encode(y)


@pytest.mark.parametrize("classes", [(), ("a",), ("a", "a"), (0, 1, 0), (1, True)])
@pytest.mark.parametrize("kind", [LogisticLoss, SoftmaxLoss])
def test_classes_must_be_at_least_two_and_distinct(kind, classes):
    with pytest.raises(ValueError, match="^classes must list at least 2 distinct .*; declare"):
        kind(classes)


def test_logistic_loss_takes_no_third_class():
    with pytest.raises(ValueError, match="^classes must list two .*SoftmaxLoss"):
        LogisticLoss((0, 1, 2))


@pytest.mark.parametrize("y_bound", [0.0, -1.0, math.nan, math.inf])
def test_y_bound_must_be_positive_and_finite(y_bound):
    with pytest.raises(ValueError, match="^y_bound must be a finite number above 0, got"):
        SquaredLoss(y_bound)


@pytest.mark.parametrize("residual_bound", [0.0, -1.0, math.nan])
def test_residual_bound_must_be_positive(residual_bound):
    with pytest.raises(ValueError, match="^residual_bound must be a number above 0, got"):
        SquaredLoss(1.0, residual_bound)
