"""Agreement with three accountants written by others."""

import math
from collections.abc import Callable
from itertools import product

import dp_accounting
import numpy as np
import opendp.prelude as dp
import pytest
from autodp.converter import rdp_to_approxdp
from autodp.rdp_bank import RDP_zCDP
from dp_accounting.rdp import RdpAccountant
from scipy.optimize import brentq

from dplasso.privacy.calibration import calibrate, selection_event
from dplasso.privacy.events import BoundedRange, Composed, Gaussian, PureDP, Repeated
from dplasso.privacy.zcdp import delta_of, epsilon_of, rho, rho_of

BUDGETS = list(product([0.1, 1.0, 3.0, 8.0], [1e-9, 1e-6, 1e-3], [1, 50, 400, 40_000]))


def orders_near_the_best(cost: float, delta: float) -> list[float]:
    """Orders a around the solution of ln(1/delta) = (a - 1)^2 cost + ln a, to 1 in 10,000.

    The library takes the least over the orders it is given; near the best one its epsilon is
    flat, so that this spacing costs less than 1 in 10^7.
    """
    best = brentq(lambda u: u * u * cost + math.log1p(u) + math.log(delta), 0.0, 1.0 / delta)
    return list(1.0 + best * np.linspace(0.9, 1.1, 2001))


def by_dp_accounting(event: dp_accounting.DpEvent, orders: list[float], delta: float) -> float:
    return float(RdpAccountant(orders).compose(event).get_epsilon(delta))


def by_opendp(cost: float, delta: float) -> float:
    dp.enable_features("contrib", "honest-but-curious")
    measurement = dp.m.make_user_measurement(
        dp.atom_domain(T=int),
        dp.absolute_distance(T=int),
        dp.zero_concentrated_divergence(),
        lambda value: value,
        lambda distance: cost * distance**2,
    )
    return float(dp.c.make_zCDP_to_approxDP(measurement).map(1).epsilon(delta))


def by_autodp(cost: float, delta: float) -> float:
    # Its search also tries orders below 1, where it answers infinity.
    with np.errstate(invalid="ignore"):
        return float(rdp_to_approxdp(lambda order: RDP_zCDP({"rho": cost}, order))(delta))


@pytest.mark.parametrize(("epsilon", "delta", "rounds"), BUDGETS)
def test_dp_accounting(epsilon: float, delta: float, rounds: int) -> None:
    eps0 = 2.0 * calibrate(epsilon, delta, rounds)
    cost = rounds * eps0**2 / 8.0
    event = dp_accounting.SelfComposedDpEvent(dp_accounting.ZCDpEvent(eps0**2 / 8.0), rounds)
    found = by_dp_accounting(event, orders_near_the_best(cost, delta), delta)
    assert found == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.parametrize("library", [by_opendp, by_autodp])
@pytest.mark.parametrize(("epsilon", "delta", "rounds"), BUDGETS)
def test_opendp_and_autodp(
    library: Callable[[float, float], float], epsilon: float, delta: float, rounds: int
) -> None:
    cost = rounds * (2.0 * calibrate(epsilon, delta, rounds)) ** 2 / 8.0
    assert library(cost, delta) == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.parametrize("delta", [1e-9, 1e-5])
def test_unlike_parts_add_in_rho(delta: float) -> None:
    """A count, a Gaussian sum and many selections, against the same in dp-accounting."""
    ours = Composed((PureDP(0.3), Gaussian(4.0), selection_event(0.005, 200), BoundedRange(0.2)))
    theirs = dp_accounting.ComposedDpEvent(
        [
            dp_accounting.ZCDpEvent(0.3**2 / 2.0),
            dp_accounting.GaussianDpEvent(4.0),
            dp_accounting.SelfComposedDpEvent(dp_accounting.ZCDpEvent(0.01**2 / 8.0), 200),
            dp_accounting.ZCDpEvent(0.2**2 / 8.0),
        ]
    )
    found = by_dp_accounting(theirs, orders_near_the_best(rho(ours), delta), delta)
    assert found == pytest.approx(epsilon_of(rho(ours), delta), rel=1e-6)


def test_pure_dp_covers_the_laplace_mechanism() -> None:
    """Laplace noise is one epsilon-DP mechanism: never dearer than the charge, nor far below it."""
    ours = rho(Composed((Repeated(PureDP(0.01), 500), Gaussian(5.0))))
    theirs = dp_accounting.ComposedDpEvent(
        [
            dp_accounting.SelfComposedDpEvent(dp_accounting.LaplaceDpEvent(100.0), 500),
            dp_accounting.GaussianDpEvent(5.0),
        ]
    )
    found = by_dp_accounting(theirs, orders_near_the_best(ours, 1e-6), 1e-6)
    charged = epsilon_of(ours, 1e-6)
    assert 0.98 * charged < found < charged


def test_gaussian_covers_its_exact_cost() -> None:
    """The analytic Gaussian mechanism is exact; the account may only be above it."""
    sigma = dp_accounting.get_sigma_gaussian(1.0, 1e-6)
    charged = epsilon_of(rho(Gaussian(sigma)), 1e-6)
    assert 1.0 < charged < 1.2
    assert delta_of(rho_of(1.0, 1e-6), 1.0) == pytest.approx(1e-6, rel=1e-10)
