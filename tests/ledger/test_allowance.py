"""What is said to be left can be had, and little more."""

import math
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dplasso.ledger import Budget, BudgetError, allowance, fixed_point
from dplasso.privacy import zcdp
from dplasso.privacy.events import Gaussian, PureDP, ZeroConcentrated
from dplasso.privacy.plan import plan_selections

DELTAS = st.sampled_from([1e-9, 1e-6, 1e-5, 0.01])


def price_of_fit(epsilon, delta, rounds, share):
    """What an estimator would charge."""
    return fixed_point.price(
        plan_selections(epsilon, delta, "add_remove", rounds, 0.7, 1.3, share).event
    )


@given(
    cap=st.floats(1e-3, 20.0),
    gone=st.floats(0.0, 0.999),
    fits=st.integers(1, 10_000),
    delta=DELTAS,
    rounds=st.integers(1, 5_000),
    share=st.sampled_from([0.0, 0.05]),
)
def test_so_many_fits_are_admitted_and_not_with_more(cap, gone, fits, delta, rounds, share):
    left = fixed_point.cap_of(cap, 1e-6) - fixed_point.price(
        ZeroConcentrated(gone * zcdp.rho_of(cap, 1e-6))
    )
    epsilon = allowance.epsilon_per_fit(left, fits, delta)
    if epsilon:
        assert fits * price_of_fit(epsilon, delta, rounds, share) <= left
    more = max(epsilon * (1 + 1e-8), 1e-9)
    assert fits * price_of_fit(more, delta, rounds, 0.0) > left


@given(cap=st.floats(1e-2, 20.0).map(lambda cap: float(f"{cap:.6g}")), delta=DELTAS)
@example(cap=1.0, delta=1e-6)
def test_a_whole_budget_is_what_it_was_set_to(cap, delta):
    assert allowance.epsilon_per_fit(fixed_point.cap_of(cap, delta), 1, delta) == cap


@given(st.integers(10**20, 10**51))
@example(2 * 10**48)  # rho 0.02: its root, 0.2, costs more than that as a double
def test_one_release_may_have_all_that_is_left(units):
    for event, value, less in (
        (ZeroConcentrated, allowance.rho(units), 1 + 1e-12),
        (PureDP, allowance.pure_epsilon(units), 1 + 1e-12),
        (Gaussian, allowance.noise_multiplier(units), 1 - 1e-12),
    ):
        assert fixed_point.price(event(value)) <= units < fixed_point.price(event(value * less))


@given(st.floats(1e-9, 1e9))
def test_numbers_for_people_err_to_the_side_they_are_told_to(value):
    down, up = float(allowance.rounded_down(value)), float(allowance.rounded_up(value))
    assert down <= value <= up and up - down <= 0.011 * value


@pytest.mark.parametrize("fits", [0, -1, 1.5, True, None])
def test_fits_must_be_a_count(tmp_path, fits):
    with pytest.raises(ValueError, match="fits must be an integer"):
        Budget(1.0, 1e-6, tmp_path / "budget.sqlite").remaining(fits)


def test_another_delta_has_another_epsilon(tmp_path):
    budget = Budget(1.0, 1e-6, tmp_path / "budget.sqlite")
    assert budget.remaining(delta=1e-9) > budget.remaining() == 1.0 > budget.remaining(delta=1e-3)
    with pytest.raises(ValueError, match="delta must be"):
        budget.remaining(delta=0.0)


def refusal(budget, event, delta=1e-6):
    with pytest.raises(BudgetError) as refused:
        budget.charge(event, delta=delta, neighboring="add_remove", label="mean age")
    return str(refused.value)


@pytest.fixture
def nearly_spent(tmp_path):
    budget = Budget(1.0, 1e-6, tmp_path / "budget.sqlite")
    gone = ZeroConcentrated(budget.remaining_rho - 0.00065)
    budget.charge(gone, delta=1e-6, neighboring="add_remove", label="before")
    return budget


@pytest.mark.parametrize(
    ("event", "asked"),
    [
        (PureDP(0.05), "mean age: a pure epsilon of 0.05 costs rho 0.00125,"),
        (Gaussian(10.0), "mean age: a noise multiplier of 10 costs rho 0.005,"),
        (ZeroConcentrated(0.01), "mean age: it costs rho 0.01,"),
    ],
)
def test_a_refused_release_is_told_what_there_is_room_for(nearly_spent, event, asked):
    told = refusal(nearly_spent, event)
    assert told.startswith(asked) and "drawn" not in told and "at delta" not in told
    assert "pure epsilon of at most 0.036, or a noise multiplier of at least 27.8" in told
    assert "Nothing was charged; do not make this release" in told


@pytest.mark.parametrize(
    ("kind", "words"),
    [(PureDP, "at most"), (Gaussian, "at least"), (ZeroConcentrated, "and rho")],
)
def test_what_a_refusal_offers_is_accepted(nearly_spent, kind, words):
    told = refusal(nearly_spent, PureDP(0.05))
    (offered,) = re.findall(rf"{words} ([0-9.e-]*[0-9])", told)
    nearly_spent.charge(
        kind(float(offered)), delta=1e-6, neighboring="add_remove", label="mean age"
    )


@pytest.mark.parametrize("delta", [1e-6, 1e-9])
def test_a_refused_fit_is_told_its_epsilon_at_its_own_delta(nearly_spent, delta):
    event = plan_selections(0.5, delta, "add_remove", 100, 1.0, 1.0).event
    told = refusal(nearly_spent, event, delta)
    assert f"mean age asks for epsilon 0.5 (rho {zcdp.rho_of(0.5, delta):.4g}) at delta" in told
    assert "is left of epsilon 1 (delta 1e-06)" in told and "Nothing was drawn" in told
    (offered,) = re.findall(r"lower epsilon to ([0-9.]*[0-9]) or less", told)
    assert math.isclose(float(offered), nearly_spent.remaining(delta=delta), rel_tol=0.01)
    event = plan_selections(float(offered), delta, "add_remove", 100, 1.0, 1.0).event
    nearly_spent.charge(event, delta=delta, neighboring="add_remove", label="mean age")
