"""The exact Gaussian account, against arithmetic of many digits and against dp-accounting."""

import math

import dp_accounting
import mpmath
import pytest
from dp_accounting.pld import PLDAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.privacy import zcdp
from dplasso.privacy.events import BoundedRange, Composed, Gaussian, PureDP, Repeated
from dplasso.privacy.gaussian import delta_of, epsilon_of, mu, mu_of, rho_of_mu, split

epsilons = st.floats(1e-4, 100.0)
deltas = st.floats(-300.0, math.log10(0.5)).map(lambda power: 10.0**power)


def exact_delta(mu: float, epsilon: float) -> mpmath.mpf:
    with mpmath.workdps(80):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        normal = lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2  # noqa: E731
        first = normal(-epsilon / mu + mu / 2)
        return first - mpmath.exp(epsilon) * normal(-epsilon / mu - mu / 2)


@settings(deadline=None, max_examples=60)
@given(epsilons, deltas)
def test_granted_mu_costs_no_more_than_asked_and_hardly_less(epsilon: float, delta: float) -> None:
    granted = mu_of(epsilon, delta)
    assert exact_delta(granted, epsilon) <= delta
    assert exact_delta(granted * (1 + 1e-8), epsilon) > delta
    assert delta_of(granted, epsilon) <= delta
    assert epsilon_of(granted, delta) <= epsilon


@settings(deadline=None, max_examples=60)
@given(st.floats(1e-6, 30.0), deltas)
def test_stated_epsilon_is_enough_and_hardly_more(mu: float, delta: float) -> None:
    epsilon = epsilon_of(mu, delta)
    assert exact_delta(mu, epsilon) <= delta
    if epsilon > 1e-6:
        assert exact_delta(mu * (1 + 1e-8), epsilon * (1 - 1e-8)) > delta


@settings(deadline=None, max_examples=60)
@given(st.floats(1e-6, 20.0), st.just(0.0) | epsilons)
def test_stated_delta_is_enough_and_hardly_more(mu: float, epsilon: float) -> None:
    exact, stated = exact_delta(mu, epsilon), delta_of(mu, epsilon)
    assert exact <= stated
    if exact > 1e-300:
        assert stated <= exact_delta(mu * (1 + 1e-8), epsilon) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.1, 1e-9), (1.0, 1e-6), (1.0, 1e-10), (8.0, 1e-8), (30.0, 1e-5)]
)
def test_agrees_with_dp_accounting(epsilon: float, delta: float) -> None:
    sigma = dp_accounting.get_sigma_gaussian(epsilon, delta, tol=1e-13)
    assert 1.0 / mu_of(epsilon, delta) == pytest.approx(sigma, rel=1e-6)
    assert dp_accounting.get_epsilon_gaussian(sigma, delta, tol=1e-12) == pytest.approx(
        epsilon_of(1.0 / sigma, delta), rel=1e-6
    )


def test_composition_agrees_with_a_privacy_loss_distribution() -> None:
    """A small release and many steps: the squares add up, whatever the library composes."""
    total = mu_of(1.0, 1e-6)
    parts = split(total, (0.05, 0.95))
    steps = 12
    ours = Composed(
        (Gaussian(1 / parts[0]), Repeated(Gaussian(math.sqrt(steps) / parts[1]), steps))
    )
    assert mu(ours) == pytest.approx(total, rel=1e-12)
    theirs = dp_accounting.ComposedDpEvent(
        [
            dp_accounting.GaussianDpEvent(1 / parts[0]),
            dp_accounting.SelfComposedDpEvent(
                dp_accounting.GaussianDpEvent(math.sqrt(steps) / parts[1]), steps
            ),
        ]
    )
    accountant = PLDAccountant(value_discretization_interval=1e-5)
    found = accountant.compose(theirs).get_epsilon(1e-6)
    # The library rounds up to its interval; our mu is rounded down.
    assert 1.0 - 1e-7 <= found <= 1.0 + 1e-3


def test_never_dearer_than_zcdp() -> None:
    """The same event in rho converts to a larger epsilon: the exact curve is the better one."""
    event = Repeated(Gaussian(20.0), 10)
    assert zcdp.rho(event) == pytest.approx(rho_of_mu(mu(event)), rel=1e-12)
    assert epsilon_of(mu(event), 1e-6) < zcdp.epsilon_of(zcdp.rho(event), 1e-6)


@settings(deadline=None)
@given(st.floats(1e-6, 100.0), st.lists(st.floats(0.0, 1.0), min_size=1, max_size=5))
def test_shares_of_a_budget_never_exceed_it(total: float, raw: list[float]) -> None:
    shares = [share / max(1.0, sum(raw) * (1 + 1e-15)) for share in raw]
    parts = split(total, shares)
    assert math.fsum(part * part for part in parts) <= total * total
    for part, share in zip(parts, shares, strict=True):
        assert part * part == pytest.approx(share * total * total, rel=1e-12)


@pytest.mark.parametrize("epsilon", [1e3, 1e5, 1e7, 1e12])
def test_next_to_no_privacy_is_not_mistaken_for_more(epsilon: float) -> None:
    # N(mu, 1) is told from N(0, 1) by a threshold at mu / 2: hence mu is about sqrt(2 epsilon).
    assert 0.85 < mu_of(epsilon, 1e-6) / math.sqrt(2.0 * epsilon) < 1.0


def test_ends_of_the_range() -> None:
    assert mu_of(math.inf, 1e-6) == math.inf
    assert epsilon_of(math.inf, 1e-6) == math.inf
    assert epsilon_of(0.0, 1e-6) == 0.0
    assert delta_of(0.0, 1.0) == 0.0
    assert delta_of(math.inf, 1.0) == 1.0
    assert 0.0 < delta_of(1e-3, 10.0) < 1e-300
    assert mu_of(0.0, 1e-6) == pytest.approx(1e-6 * math.sqrt(2.0 * math.pi), rel=1e-6)
    assert mu(Repeated(Gaussian(1.0), 0)) == 0.0


@pytest.mark.parametrize("event", [PureDP(1.0), Composed((Gaussian(1.0), BoundedRange(0.1)))])
def test_other_events_have_no_such_cost(event: PureDP | Composed) -> None:
    with pytest.raises(ValueError, match="event must be made of Gaussian releases"):
        mu(event)


@pytest.mark.parametrize("shares", [(), (-0.1, 0.5), (0.6, 0.6)])
def test_shares_that_are_none_are_refused(shares: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="shares must be"):
        split(1.0, shares)
