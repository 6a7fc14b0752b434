"""What a search costs: as others compute it, as brute force finds it, and never less."""

import math
from fractions import Fraction

import dp_accounting
import mpmath
import numpy as np
import pytest
from dp_accounting import rdp
from hypothesis import given
from hypothesis import strategies as st

from dplasso.privacy import trials, zcdp
from dplasso.privacy.events import Composed, Gaussian, PureDP, Repeated, Selected

LAWS = ("logarithmic", "geometric")
SHAPES = {"logarithmic": 0.0, "geometric": 1.0}
laws = st.sampled_from(LAWS)
rhos = st.floats(1e-8, 30.0)
stops = st.floats(1e-5, 0.99)
deltas = st.floats(1e-12, 0.01)


def chances(stop, law, most):
    """P(K = k), k = 1 to `most`."""
    k = np.arange(1, most + 1)
    weights = (1.0 - stop) ** k / (k if law == "logarithmic" else 1)
    return weights / (-math.log(stop) if law == "logarithmic" else (1.0 - stop) / stop)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("stop", [0.5, 0.1, 0.02])
def test_the_mean_is_that_of_the_law(law, stop):
    found = chances(stop, law, 4000)
    assert found.sum() == pytest.approx(1.0, rel=1e-12)
    mean = found @ np.arange(1, 4001)
    assert trials.mean_trials(stop, law) == pytest.approx(mean, rel=1e-12)


@given(st.floats(1.02, 9e5), laws)
def test_a_stop_has_the_mean_it_was_made_for(mean, law):
    stop = trials.stop_for(mean, law)
    assert trials.mean_trials(stop, law) == pytest.approx(mean, rel=1e-9)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("multiplier", "mean"), [(30.0, 5.0), (8.0, 20.0), (2.0, 200.0)])
@pytest.mark.parametrize("delta", [1e-6, 1e-9])
def test_dp_accounting_agrees(law, multiplier, mean, delta):
    rho, stop = 0.5 / multiplier**2, trials.stop_for(mean, law)
    trial = dp_accounting.GaussianDpEvent(multiplier)
    search = dp_accounting.dp_event.RepeatAndSelectDpEvent(trial, mean, SHAPES[law])
    # Theirs knows the orders it is given, and no better ones between them: look twice.
    orders, theirs = np.geomspace(1.05, 3000.0, 300), math.inf
    for _ in range(2):
        accountant = rdp.RdpAccountant([math.sqrt(-math.log(stop) / rho), *orders])
        accountant.compose(search)
        theirs, order = accountant.get_epsilon_and_optimal_order(delta)
        orders = np.linspace(0.97 * order, 1.03 * order, 300)
    assert trials.epsilon_of(rho, delta, stop, law) == pytest.approx(theirs, rel=1e-6)


@given(rhos, stops, laws)
def test_a_shift_is_never_below_its_formula(rho, stop, law):
    found = trials.shift_of(Fraction(rho), stop, law)
    with mpmath.workdps(120):
        length, eta = -mpmath.log(stop), SHAPES[law]
        wanted = 2 * mpmath.sqrt(rho * length) - rho if rho < length else length
        mean = 1 / mpmath.mpf(stop)
        if law == "logarithmic":
            mean = (mean - 1) / length
        for ours, theirs in (
            (found.epsilon, (1 + eta) * wanted),
            (found.log_delta, mpmath.log(mean)),
        ):
            ours = mpmath.mpf(ours.numerator) / ours.denominator
            assert theirs <= ours <= theirs * (1 + mpmath.mpf(10) ** -60) + mpmath.mpf(10) ** -65


@given(st.floats(0.05, 20.0), deltas, st.floats(1.5, 1e4), laws)
def test_a_trial_gets_all_that_a_search_may_cost_and_no_more(epsilon, delta, mean, law):
    stop = trials.stop_for(mean, law)
    rho = trials.rho_of(epsilon, delta, stop, law)
    assert epsilon * (1 - 1e-9) <= trials.epsilon_of(rho, delta, stop, law) <= epsilon


@given(rhos, stops, deltas, laws)
def test_a_search_costs_more_than_a_trial(rho, stop, delta, law):
    assert trials.epsilon_of(rho, delta, stop, law) > zcdp.epsilon_of(rho, delta)


def renyi(p, q, order):
    return math.log(np.sum(p**order * q ** (1.0 - order))) / (order - 1.0)


def best_of(p, stop, law, most=6000):
    """The exact law of the largest of K draws from p, whose outcomes are in order."""
    count = chances(stop, law, most)
    at_most = np.minimum(1.0, np.cumsum(p))
    powers = np.array([count @ top ** np.arange(1, most + 1) for top in at_most])
    return np.diff(np.concatenate([[0.0], powers]))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("stop", [0.5, 0.1, 0.01])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.5])
def test_brute_force_stays_within_the_bound(law, stop, epsilon):
    """Randomised response, and one rare outcome that is best."""
    lean = 1.0 / (1.0 + math.exp(-epsilon))
    rare = 0.01
    pairs = [
        (np.array([lean, 1 - lean]), np.array([1 - lean, lean])),
        (
            np.array([1 - rare * math.exp(epsilon), rare * math.exp(epsilon)]),
            np.array([1 - rare, rare]),
        ),
    ]
    rho = epsilon**2 / 2
    shift = trials.shift_of(Fraction(rho), stop, law)
    for p, q in pairs:
        for first, second in ((p, q), (q, p)):
            ours = best_of(first, stop, law), best_of(second, stop, law)
            for order in (1.1, 1.5, 2.0, 4.0, 16.0, 64.0):
                bound = order * rho + float(shift.epsilon) + float(shift.log_delta) / (order - 1)
                assert renyi(*ours, order) <= bound


def test_brute_force_would_find_a_cost_left_out():
    """Of what is charged beside rho, something is needed: one trial's own cost is exceeded."""
    epsilon, rare, stop = 1.0, 0.01, 0.01
    p = np.array([1 - rare * math.e, rare * math.e])
    q = np.array([1 - rare, rare])
    found = renyi(best_of(p, stop, "geometric"), best_of(q, stop, "geometric"), 1.5)
    assert found > renyi(p, q, 1.5) and found > 0.1 * 1.5 * epsilon**2 / 2


def test_shifts_leave_less_and_nothing_where_they_are_too_large():
    shift = trials.Shift(Fraction(3, 10), Fraction(2))
    left, rest = shift.left_of(1.0, 1e-6)
    assert Fraction(left) <= Fraction(1.0) - shift.epsilon < Fraction(left) + Fraction(1, 10**15)
    assert rest == pytest.approx(1e-6 * math.exp(-2), rel=1e-12) and rest < 1e-6 * math.exp(-2)
    assert shift.left_of(0.3, 1e-6)[0] < 1e-16
    assert trials.Shift(Fraction(0), Fraction(10**6)).left_of(1.0, 1e-6) == (0.0, 1e-6)
    assert trials.epsilon_with(0.1, trials.Shift(Fraction(0), Fraction(10**6)), 1e-6) == math.inf


@pytest.mark.parametrize("mean", [1.0, 0.0, -3.0, 1e7, math.inf, "10", True])
def test_trials_must_be_a_mean(mean):
    with pytest.raises(ValueError, match=r"^trials must "):
        trials.stop_for(mean, "geometric")


def test_rho_alone_does_not_price_a_search():
    search = Selected(Gaussian(10.0), 0.1)
    for event in (search, Composed((search,)), Repeated(search, 3)):
        with pytest.raises(ValueError, match="rho alone does not price"):
            zcdp.rho(event)
        with pytest.raises(ValueError, match="must not hold another"):
            Selected(event, 0.1)
    with pytest.raises(ValueError, match=r"^law must be"):
        Selected(PureDP(0.1), 0.1, "poisson")
    with pytest.raises(ValueError, match=r"^stop must be"):
        Selected(PureDP(0.1), 1.0)
