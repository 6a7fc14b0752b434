"""Amounts: exact, never too small, and wide enough for the whole budget."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplasso.ledger import BudgetError, fixed_point
from dplasso.privacy import zcdp
from dplasso.privacy.events import BoundedRange, Composed, PureDP, Repeated, ZeroConcentrated
from dplasso.privacy.plan import plan_selections
from ledger_events import events, singles

UNIT = Fraction(1, 10**50)
epsilons = st.floats(1e-3, 100.0)
deltas = st.floats(1e-12, 0.1)


@given(events)
def test_a_price_is_the_cost_in_rho(event):
    assert fixed_point.to_float(fixed_point.price(event)) == pytest.approx(
        zcdp.rho(event), rel=1e-12
    )


@given(singles)
def test_a_release_is_rounded_up_by_less_than_a_unit(release):
    exact = zcdp.exact_rho(release)
    assert exact <= fixed_point.price(release) * UNIT < exact + UNIT


@given(st.lists(singles, max_size=20), st.randoms(use_true_random=False))
def test_sums_do_not_depend_on_their_order(parts, random):
    total = fixed_point.price(Composed(tuple(parts)))
    random.shuffle(parts)
    assert sum(fixed_point.price(part) for part in parts) == total


def test_costs_that_vanish_in_doubles_are_counted():
    tiny = BoundedRange(1e-170)
    assert zcdp.rho(Repeated(tiny, 10**18)) == 0.0
    assert fixed_point.price(Repeated(tiny, 10**18)) == 10**18


@pytest.mark.parametrize("event", [PureDP(math.inf), BoundedRange(math.inf)])
def test_no_privacy_has_no_price(event):
    with pytest.raises(BudgetError, match="without privacy cannot be charged"):
        fixed_point.price(Composed((event,)))


@given(epsilons, deltas)
def test_a_full_ledger_keeps_its_promise(epsilon, delta):
    assert (
        zcdp.epsilon_of(fixed_point.to_float(fixed_point.cap_of(epsilon, delta)), delta) <= epsilon
    )


@given(
    epsilons,
    deltas,
    st.integers(1, 10_000),
    st.floats(0.01, 100.0),
    st.sampled_from([0.0, 0.1, 0.5]),
)
def test_a_fit_of_the_whole_budget_is_within_it(epsilon, delta, rounds, x_bound, share):
    plan = plan_selections(epsilon, delta, "add_remove", rounds, x_bound, 1.0, share)
    assert fixed_point.price(plan.event) <= fixed_point.cap_of(epsilon, delta)


@given(epsilons, deltas, st.integers(1, 100))
def test_equal_parts_of_the_budget_fill_it(epsilon, delta, parts):
    cap = fixed_point.cap_of(epsilon, delta)
    share = fixed_point.price(ZeroConcentrated(zcdp.rho_of(epsilon, delta) / parts))
    assert parts * share <= cap < (parts + 1) * share


@given(epsilons, deltas, st.floats(1e-6, 1.0))
def test_what_is_left_converts_to_a_fit_that_is_accepted(epsilon, delta, part):
    left = math.floor(fixed_point.cap_of(epsilon, delta) * Fraction(part))
    one_more = zcdp.epsilon_of(fixed_point.to_float(left), delta)
    if one_more > 0.0:
        assert fixed_point.price(ZeroConcentrated(zcdp.rho_of(one_more, delta))) <= left


@given(st.integers(0, 10**79))
def test_texts_of_amounts_are_exact(units):
    text = fixed_point.to_text(units)
    assert fixed_point.from_text(text) == units
    assert Fraction(text) == units * UNIT


@pytest.mark.parametrize(
    "text",
    ["", "-1", "+1", "1e3", "01", "1.", ".5", "1.50", " 1", "1\n", "nan", "٣", 1, None, "1" * 31],
)
def test_other_texts_are_no_amounts(text):
    with pytest.raises(ValueError, match="amount"):
        fixed_point.from_text(text)


@pytest.mark.parametrize(("epsilon", "delta"), [(1e300, 1e-6), (1e-30, 1e-300)])
def test_caps_that_cannot_be_counted_are_refused(epsilon, delta):
    with pytest.raises(ValueError, match="epsilon"):
        fixed_point.cap_of(epsilon, delta)
