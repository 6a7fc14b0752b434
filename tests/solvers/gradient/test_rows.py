"""What one row can change, exactly: never more than is charged, whatever the row."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dplasso.solvers.gradient.conditioning import Conditioning
from dplasso.solvers.gradient.plan import ROW_LENGTH
from neighbours import (
    LOSSES,
    assert_charged_for_mass,
    assert_charged_for_step,
    private_rows,
    small_plan,
)

COLUMNS = 6
entries = st.just(0.0) | st.floats(-1e30, 1e30) | st.floats(-1.0, 1.0)
any_number = st.floats(allow_nan=True, allow_infinity=True)


def arrays(shape, elements):
    return hnp.arrays(np.float64, shape, elements=elements)


@st.composite
def places(draw, loss):
    """A data set, a row that may equal the centre, and anywhere a descent may stand."""
    X = draw(arrays((4, COLUMNS), entries))
    damping = draw(arrays(COLUMNS, st.floats(0.0, 100.0)))
    kind = draw(st.sampled_from(["presence", "unit"]))
    if draw(st.booleans()):
        centre = draw(arrays(COLUMNS, st.floats(0.0, 1.0)))
    else:
        with np.errstate(all="ignore"):
            row = (X[0] != 0).astype(float) if kind == "presence" else X[0] / np.abs(X[0]).max()
            centre = np.nan_to_num(row / np.linalg.norm(row))
    weights = draw(arrays((loss.outputs, COLUMNS), st.floats(-1e6, 1e6)))
    intercepts = draw(arrays(loss.outputs, any_number))
    labels = draw(hnp.arrays(np.int64, 4, elements=st.integers(0, 1)))
    return X, labels, kind, Conditioning.of(damping, centre), weights, intercepts


@pytest.mark.parametrize("name", LOSSES)
@settings(deadline=None, max_examples=60)
@given(st.data())
def test_a_row_changes_no_sum_by_more_than_is_charged(name: str, data: st.DataObject) -> None:
    loss = LOSSES[name]
    X, y, kind, conditioning, weights, intercepts = data.draw(places(loss))
    plan = small_plan(loss, COLUMNS)
    whole = private_rows(X, y, loss, plan, kind)
    less = private_rows(X[1:], y[1:], loss, plan, kind)
    assert_charged_for_mass(whole.mass() - less.mass(), plan)
    change = whole.sums(conditioning, weights, intercepts)
    change -= less.sums(conditioning, weights, intercepts)
    assert_charged_for_step(change, plan)


def test_the_bound_is_all_but_attained() -> None:
    """What is charged is not much more than a row can do."""
    loss, plan = LOSSES["logistic"], small_plan(LOSSES["logistic"], COLUMNS)
    conditioning = Conditioning.of(np.ones(COLUMNS), np.full(COLUMNS, 0.01))
    one = private_rows(np.eye(COLUMNS)[:1], np.ones(1), loss, plan, "presence")
    sums = one.sums(conditioning, np.zeros((1, COLUMNS)), np.zeros(1)).astype(float)
    assert np.linalg.norm(sums) / plan.unit == pytest.approx(ROW_LENGTH, rel=1e-5)
    assert np.linalg.norm(one.mass().astype(float)) / plan.unit == pytest.approx(1.0, rel=1e-9)
    assert Fraction(ROW_LENGTH) ** 2 >= Fraction(109, 100)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("kind", ["presence", "unit"])
def test_sums_are_those_of_the_gradient(name: str, kind: str) -> None:
    """Against plain dense arithmetic: damped, centred rows over their length, times residuals."""
    loss, rng = LOSSES[name], np.random.default_rng(0)
    rows, columns = 40, 15
    X = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.3)
    y = rng.integers(0, 2, rows)
    plan = small_plan(loss, columns)
    damping, centre = (
        rng.uniform(0.1, 1.5, columns),
        rng.uniform(0, 0.1, columns) * (np.arange(columns) < 5),
    )
    weights, intercepts = rng.normal(size=(loss.outputs, columns)), rng.normal(size=loss.outputs)
    unit = (X != 0).astype(float) if kind == "presence" else X
    unit = unit / np.maximum(np.linalg.norm(unit, axis=1, keepdims=True), 1e-300)
    margins = (unit - centre) @ weights.T + intercepts
    if loss.outputs == 1 and name == "logistic":
        residuals = np.clip(1 / (1 + np.exp(-margins)) - y[:, None], -plan.clip, plan.clip)
    elif loss.outputs == 1:
        residuals = np.clip(margins - loss.encode(y)[:, None], -plan.clip, plan.clip)
    else:
        residuals = loss.gradient(margins, loss.encode(y))
        lengths = np.linalg.norm(residuals, axis=1, keepdims=True)
        residuals *= np.minimum(1.0, plan.clip / lengths)
    moved = damping * (unit - centre)
    moved /= np.linalg.norm(moved, axis=1, keepdims=True)
    private = private_rows(X, y, loss, plan, kind)
    sums = private.sums(Conditioning.of(damping, centre), weights, intercepts) * plan.grid
    assert sums[:, :-1] == pytest.approx(residuals.T @ moved, abs=2e-3)
    assert sums[:, -1] == pytest.approx(0.3 * residuals.sum(axis=0), abs=1e-6)
    assert private.mass() / plan.unit == pytest.approx(unit.sum(axis=0), abs=1e-5)


def test_sums_do_not_depend_on_the_number_of_threads() -> None:
    loss, rng = LOSSES["softmax"], np.random.default_rng(1)
    X = rng.normal(size=(300, 40)) * (rng.random((300, 40)) < 0.2)
    y, plan = rng.integers(0, 3, 300), small_plan(LOSSES["softmax"], 40)
    conditioning = Conditioning.of(rng.uniform(0, 2, 40), rng.uniform(0, 0.1, 40))
    place = (conditioning, rng.normal(size=(3, 40)), rng.normal(size=3))
    one = private_rows(X, y, loss, plan, "unit", threads=1).sums(*place)
    for threads in (2, 5):
        assert np.array_equal(private_rows(X, y, loss, plan, "unit", threads).sums(*place), one)


def test_sums_that_wrap_around_differ_by_the_row_still() -> None:
    """Far more rows than declared, each as long as can be: sums leave 64 bits, rows do not."""
    loss = LOSSES["logistic"]
    plan = small_plan(loss, 1)
    conditioning = Conditioning.of(np.ones(1), np.array([1.0 - 2.0**-17]))
    place = (conditioning, np.zeros((1, 1)), np.zeros(1))
    X, y = np.ones((3000, 1)), np.ones(3000)
    whole = private_rows(X, y, loss, plan, "presence").sums(*place)
    less = private_rows(X[1:], y[1:], loss, plan, "presence").sums(*place)
    assert_charged_for_step(whole - less, plan)
