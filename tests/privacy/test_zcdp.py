import math
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.privacy.events import BoundedRange, Composed, Gaussian, PureDP, Repeated
from dplasso.privacy.zcdp import delta_of, epsilon_of, rho, rho_of


def powers(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers spread evenly over the orders of magnitude between two."""
    return st.floats(math.log(low), math.log(high)).map(math.exp)


epsilons, deltas, rhos = powers(1e-3, 100.0), powers(1e-12, 0.5), powers(1e-12, 1e3)


def exact_log_delta(rho: float, epsilon: float) -> mpmath.mpf:
    """The infimum over orders, to 50 digits, by bisection of the derivative."""
    with mpmath.workdps(50):
        rho, epsilon = mpmath.mpf(rho), mpmath.mpf(epsilon)
        low, high = mpmath.mpf(-2000), mpmath.mpf(200)
        for _ in range(120):
            middle = (low + high) / 2
            u = mpmath.exp(middle)
            slope = (1 + 2 * u) * rho - epsilon + mpmath.log(u / (1 + u))
            low, high = (low, middle) if slope > 0 else (middle, high)
        u = mpmath.exp(low)
        return u * ((1 + u) * rho - epsilon + mpmath.log(u / (1 + u))) - mpmath.log1p(u)


def worst_renyi(epsilon: float, order: float) -> float:
    """The largest Renyi divergence between two-point laws whose log-ratio spans epsilon."""
    top = np.linspace(1e-4, 1 - 1e-4, 9999) * epsilon
    # The weight of the point of log-ratio `top` for which both laws add up to one.
    weight = -np.expm1(top - epsilon) / (np.exp(top) - np.exp(top - epsilon))
    moment = weight * np.exp(order * top) + (1 - weight) * np.exp(order * (top - epsilon))
    return float(np.max(np.log(moment)) / (order - 1))


def test_rho_of_each_event() -> None:
    assert rho(BoundedRange(0.4)) == pytest.approx(0.02, rel=1e-15)
    assert rho(PureDP(0.4)) == pytest.approx(0.08, rel=1e-15)
    # The log-ratio of an epsilon-DP release spans 2 epsilon.
    assert rho(PureDP(0.4)) == rho(BoundedRange(0.8))
    assert rho(Gaussian(2.0)) == pytest.approx(0.125, rel=1e-15)
    assert rho(Gaussian(math.inf)) == 0.0
    assert rho(Composed(())) == 0.0


def test_rho_adds() -> None:
    inner = Composed((BoundedRange(0.4), Repeated(Gaussian(2.0), 3)))
    assert rho(Composed((PureDP(0.4), Repeated(inner, 10)))) == pytest.approx(4.03, rel=1e-14)
    assert rho(Repeated(BoundedRange(math.inf), 0)) == 0.0
    assert rho(Composed((BoundedRange(math.inf), PureDP(1.0)))) == math.inf


@pytest.mark.parametrize("order", [1.01, 1.5, 2.0, 8.0, 64.0])
def test_bounded_range_costs_an_eighth_and_no_less(order: float) -> None:
    epsilon = 0.01
    worst = worst_renyi(epsilon, order)
    assert worst <= order * rho(BoundedRange(epsilon)) * (1 + 1e-9)
    assert worst >= order * rho(BoundedRange(epsilon)) * 0.99


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_bounded_range_bound_holds_for_large_epsilon(epsilon: float) -> None:
    for order in (1.01, 1.5, 2.0, 8.0, 64.0):
        assert worst_renyi(epsilon, order) <= order * rho(BoundedRange(epsilon))


@pytest.mark.parametrize("cost", [10.0**k for k in range(-12, 4)])
def test_delta_is_an_upper_bound_and_tight(cost: float) -> None:
    for epsilon in (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0):
        exact, found = exact_log_delta(cost, epsilon), delta_of(cost, epsilon)
        if exact < -700:
            assert 0.0 < found < 1e-300
        else:
            assert 0.0 <= mpmath.log(mpmath.mpf(found)) - exact < 1e-10


@pytest.mark.parametrize("delta", [1e-12, 1e-9, 1e-6, 1e-3, 0.1, 0.5])
def test_epsilon_and_rho_are_safe(delta: float) -> None:
    for cost in (1e-12, 1e-6, 1e-3, 0.1, 1.0, 30.0, 1e3):
        assert exact_log_delta(cost, epsilon_of(cost, delta)) <= mpmath.log(delta)
    for epsilon in (1e-3, 0.1, 1.0, 10.0, 100.0):
        assert exact_log_delta(rho_of(epsilon, delta), epsilon) <= mpmath.log(delta)


@pytest.mark.parametrize(("cost", "epsilon"), [*product([1e-4, 0.02, 0.5, 8.0], [0.05, 1.0, 8.0])])
def test_delta_is_the_infimum_over_orders(cost: float, epsilon: float) -> None:
    a = 1.0 + np.geomspace(1e-9, 1e9, 400_001)
    bounds = (a - 1) * (a * cost - epsilon) + (a - 1) * np.log1p(-1 / a) - np.log(a)
    assert delta_of(cost, epsilon) == pytest.approx(math.exp(bounds.min()), rel=1e-6)


@settings(max_examples=400)
@given(epsilons, deltas)
def test_round_trip_from_epsilon(epsilon: float, delta: float) -> None:
    cost = rho_of(epsilon, delta)
    back = epsilon_of(cost, delta)
    assert back <= epsilon
    assert back == pytest.approx(epsilon, rel=5e-10)
    assert delta_of(cost, epsilon) <= delta
    assert delta_of(cost, epsilon) == pytest.approx(delta, rel=1e-10)


@settings(max_examples=400)
@given(rhos, deltas)
def test_round_trip_from_rho(cost: float, delta: float) -> None:
    epsilon = epsilon_of(cost, delta)
    assert delta_of(cost, epsilon) <= delta * (1 + 1e-9)
    if epsilon >= 1e-3:
        assert delta_of(cost, epsilon) == pytest.approx(delta, rel=1e-9)
        assert rho_of(epsilon, delta) == pytest.approx(cost, rel=1e-9)


@settings(max_examples=200)
@given(rhos, epsilons, deltas)
def test_more_privacy_costs_less(cost: float, epsilon: float, delta: float) -> None:
    assert epsilon_of(0.9 * cost, delta) <= epsilon_of(cost, delta)
    assert delta_of(0.9 * cost, epsilon) <= delta_of(cost, epsilon)
    assert delta_of(cost, 1.1 * epsilon) <= delta_of(cost, epsilon)
    assert rho_of(0.9 * epsilon, delta) < rho_of(epsilon, delta)
    assert rho_of(epsilon, 0.9 * delta) < rho_of(epsilon, delta)


def test_no_cost_and_no_privacy() -> None:
    assert delta_of(0.0, 0.0) == epsilon_of(0.0, 1e-6) == 0.0
    assert epsilon_of(math.inf, 1e-6) == rho_of(math.inf, 1e-6) == math.inf
    assert delta_of(math.inf, 1.0) == 1.0
    assert delta_of(1.0, math.inf) == 0.0


@pytest.mark.parametrize("cost", [1e-320, 1e-100, 1.0, 1e100, 1e300])
def test_extreme_costs_stay_in_range(cost: float) -> None:
    for epsilon in (0.0, 1e-300, 1.0, 1e6, 1e300):
        assert 0.0 < delta_of(cost, epsilon) <= 1.0
    for delta in (1e-320, 1e-12, 0.5, 1.0 - 1e-16):
        assert 0.0 <= epsilon_of(cost, delta) < math.inf


def test_extreme_budgets_stay_in_range() -> None:
    for epsilon, delta in product((0.0, 1e-300, 1.0, 1e6, 1e300), (1e-320, 1e-12, 1.0 - 1e-16)):
        assert 0.0 <= rho_of(epsilon, delta) < math.inf


def test_tiny_costs_are_converted_tightly() -> None:
    found = mpmath.log(delta_of(1e-40, 1e-19))
    assert 0.0 <= found - exact_log_delta(1e-40, 1e-19) < 1e-10


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 1.5, math.nan, "0.1", None])
def test_delta_must_be_a_probability(delta: float) -> None:
    for convert in (epsilon_of, rho_of):
        with pytest.raises(ValueError, match=r"^delta must be .*got .*: "):
            convert(1.0, delta)


@pytest.mark.parametrize("bad", [-1.0, math.nan, "1", True])
def test_costs_must_be_numbers(bad: float) -> None:
    with pytest.raises(ValueError, match=r"^rho must be .*got .*: "):
        delta_of(bad, 1.0)
    with pytest.raises(ValueError, match=r"^rho must be .*got .*: "):
        epsilon_of(bad, 0.1)
    with pytest.raises(ValueError, match=r"^epsilon must be .*got .*: "):
        rho_of(bad, 0.1)
    with pytest.raises(ValueError, match=r"^epsilon must be .*got .*: "):
        delta_of(1.0, bad)


def test_only_events_have_a_cost() -> None:
    with pytest.raises(ValueError, match=r"^event must be a privacy event, got float"):
        rho(0.5)  # type: ignore[arg-type]
