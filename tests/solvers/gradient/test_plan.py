"""A plan is a function of public numbers, and costs what it says."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.losses import LogisticLoss, SoftmaxLoss, SquaredLoss
from dplasso.privacy import gaussian
from dplasso.privacy.events import Composed, Gaussian, PureDP, Repeated
from dplasso.solvers.gradient import plan_descent
from dplasso.solvers.gradient.descent import AVERAGED
from dplasso.solvers.gradient.plan import ROW_LENGTH
from neighbours import LOSSES, small_plan


@settings(deadline=None)
@given(
    st.floats(1e-3, 100.0),
    st.floats(1e-30, 1e-3),
    st.integers(1, 2**27),
    st.integers(1, 10**7),
    st.sampled_from(["add_remove", "replace_one"]),
)
def test_the_noise_that_will_be_drawn_costs_no_more_than_was_asked(
    epsilon: float, delta: float, rows: int, columns: int, neighboring: str
) -> None:
    plan = plan_descent(
        LogisticLoss(),
        epsilon=epsilon,
        delta=delta,
        n_rows=rows,
        n_columns=columns,
        neighboring=neighboring,
    )
    changed = 1 if neighboring == "add_remove" else 2
    drawn = Composed(
        (
            Gaussian(plan.mass_sigma / (changed * plan.unit)),
            Repeated(Gaussian(plan.step_sigma / (changed * plan.unit * ROW_LENGTH)), plan.steps),
        )
    )
    for event in (drawn, plan.event):
        assert gaussian.mu(event) == pytest.approx(gaussian.mu_of(epsilon, delta), rel=1e-9)
        assert gaussian.epsilon_of(gaussian.mu(event), delta) <= epsilon
    # Noise and the sums of the declared rows fit the whole numbers they are held in.
    assert min(plan.mass_sigma, plan.step_sigma) >= 2.0**12
    assert max(plan.mass_sigma, plan.step_sigma) <= 2.0**48
    assert rows * plan.unit * ROW_LENGTH < 2.0**62


def test_replaced_rows_have_twice_the_noise() -> None:
    one, two = (
        small_plan(LOSSES["logistic"], 2000, neighboring=relation)
        for relation in ("add_remove", "replace_one")
    )
    assert two.mass_sigma / two.unit == pytest.approx(2.0 * one.mass_sigma / one.unit)
    assert two.steps == one.steps
    assert two.step_sigma / two.unit == pytest.approx(2.0 * one.step_sigma / one.unit)
    assert two.mu == one.mu


def test_residuals_are_cut() -> None:
    """Where they start, or at a share of that: at a tenth for two classes and many columns."""
    softmax = SoftmaxLoss(classes=range(4))
    assert small_plan(LogisticLoss(), 5000).clip == 0.1
    assert small_plan(LogisticLoss(), 10).clip == 0.425
    assert small_plan(softmax, 5000).clip == pytest.approx(math.sqrt(0.75))
    assert small_plan(softmax, 10).clip == pytest.approx(0.15 * math.sqrt(0.75))
    assert small_plan(SquaredLoss(y_bound=3.0), 10).clip == 3.0
    assert small_plan(SquaredLoss(y_bound=3.0, residual_bound=0.5), 10).clip == 0.5


def test_the_noise_left_in_a_margin_is_what_was_planned() -> None:
    """The one number that stands for a learning rate."""
    for columns, expected in ((2000, 3.5 * 0.5), (100, 4.0 * 0.5)):
        plan = small_plan(LogisticLoss(), columns, rows=20_000)
        left = plan.step * math.sqrt(plan.steps) * plan.step_sigma * plan.grid
        assert left == pytest.approx(expected, rel=1e-9)
        assert plan.held_back == 1.0


def test_many_rows_make_steps_longer_not_ever_more() -> None:
    some, many, most = (
        small_plan(LogisticLoss(), 100, rows=rows, epsilon=8.0) for rows in (10**4, 10**5, 10**6)
    )
    assert some.steps < many.steps == most.steps == 600
    lengths = [plan.step * plan.n_rows * plan.clip / 0.5 for plan in (some, many, most)]
    assert lengths[0] <= 300.0 < lengths[1] < lengths[2] == pytest.approx(1200.0)


def test_where_rows_say_little_weights_are_held_back_until_the_last_third() -> None:
    clear, weak, weaker = (
        small_plan(LogisticLoss(), 10_000, rows=rows) for rows in (800, 200, 100)
    )
    assert clear.held_back == 1.0 > weak.held_back
    assert weaker.held_back == pytest.approx(weak.held_back / 16.0)
    assert weak.steps == 30
    steps = [weak.step_after(done) for done in range(30)]
    assert steps == [weak.held_back * weak.step] * 20 + [weak.step] * 10


@pytest.mark.parametrize(("columns", "most"), [(100, 0.4), (2000, 0.25)])
@pytest.mark.parametrize("rows", [100, 3000])
def test_few_rows_do_not_make_an_intercept_all_noise(rows: int, columns: int, most: float) -> None:
    plan = small_plan(LogisticLoss(), columns, rows=rows, epsilon=0.1)
    left = plan.intercept_step * math.sqrt(plan.steps) * plan.step_sigma * plan.grid
    assert left == pytest.approx(most * 0.5, rel=1e-9)


def test_no_privacy_is_said_to_be_none() -> None:
    plan = small_plan(LogisticLoss(), 2000, epsilon=math.inf)
    assert plan.event == PureDP(math.inf)
    assert plan.mass_sigma == plan.step_sigma == 0.0
    assert math.isfinite(plan.step)
    assert small_plan(LogisticLoss(), 10**6, epsilon=math.inf).held_back == 1.0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epsilon", 0.0),
        ("delta", 1.0),
        ("n_rows", 0),
        ("n_columns", 1.5),
        ("neighboring", "both"),
        ("epsilon", 1e18),
    ],
)
def test_bad_numbers_are_named(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=name):
        small_plan(LogisticLoss(), **({"columns": 10} | {name: value}))


def test_a_loss_is_asked_for() -> None:
    with pytest.raises(ValueError, match="loss must be a Loss"):
        small_plan("logistic", 10)


@given(st.integers(1, 3000), st.integers(1, 3000), st.integers(1, 10**6), st.floats(0.01, 20.0))
def test_cuts_end_before_iterates_are_averaged(
    columns: int, n_nonzero: int, rows: int, epsilon: float
) -> None:
    facts = {"epsilon": epsilon, "delta": 1e-8, "n_rows": rows, "n_columns": columns}
    plan = plan_descent(LogisticLoss(), n_nonzero=n_nonzero, **facts)
    left = [plan.weights_left(done) for done in range(plan.steps + 1)]
    assert left[0] == columns and left == sorted(left, reverse=True)
    last = math.ceil(AVERAGED * plan.steps)
    assert set(left[plan.steps - last :]) == {min(n_nonzero, columns)}
    assert gaussian.mu(plan.event) == pytest.approx(gaussian.mu_of(epsilon, 1e-8), rel=1e-9)


def test_a_number_of_nonzeros_is_at_least_one() -> None:
    with pytest.raises(ValueError, match="n_nonzero must be"):
        small_plan(LogisticLoss(), 10, n_nonzero=0)
