"""The audit's account agrees with the product's, which it shares no code with."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.audit import account as descent_account
from dplasso.audit.account import epsilon_at, ranges_of_event, rho_for, rho_of_event
from dplasso.audit.selection.reference import SelectionFacts
from dplasso.privacy import calibration, gaussian, zcdp
from dplasso.privacy.events import BoundedRange, Composed, Gaussian, PureDP, Repeated

DELTAS = st.floats(1e-12, 0.1)


@settings(max_examples=60, deadline=None)
@given(rho=st.floats(1e-6, 50.0), delta=DELTAS)
def test_epsilon_agrees(rho, delta):
    assert epsilon_at(rho, delta) == pytest.approx(zcdp.epsilon_of(rho, delta), rel=1e-8, abs=1e-8)


@settings(max_examples=20, deadline=None)
@given(epsilon=st.floats(0.01, 30.0), delta=DELTAS)
def test_rho_agrees(epsilon, delta):
    assert rho_for(epsilon, delta) == pytest.approx(zcdp.rho_of(epsilon, delta), rel=1e-6)


def test_nothing_costs_nothing_and_all_costs_all():
    assert epsilon_at(0.0, 1e-6) == 0.0
    assert epsilon_at(math.inf, 1e-6) == math.inf


@settings(max_examples=60, deadline=None)
@given(mu=st.floats(1e-3, 8.0), delta=DELTAS)
def test_the_gaussian_curve_agrees(mu, delta):
    """The product rounds up, by a relative 1e-9 of mu."""
    found, rounded = descent_account.gaussian_epsilon(mu, delta), gaussian.epsilon_of(mu, delta)
    assert found == pytest.approx(rounded, rel=1e-7, abs=1e-8)
    assert found <= rounded + 1e-12


@settings(max_examples=60, deadline=None)
@given(epsilon=st.floats(0.01, 30.0), delta=DELTAS)
def test_mu_agrees(epsilon, delta):
    assert descent_account.mu_for(epsilon, delta) == pytest.approx(
        gaussian.mu_of(epsilon, delta), rel=1e-8
    )


def test_gaussian_events():
    event = Composed((Gaussian(2.0), Repeated(Gaussian(4.0), 3)))
    multipliers = descent_account.multipliers_of(event)
    assert multipliers == [2.0, 4.0, 4.0, 4.0]
    assert descent_account.mu_of(multipliers) == pytest.approx(gaussian.mu(event))
    assert descent_account.mu_of([3.0, 0.0]) == math.inf
    with pytest.raises(ValueError, match="Gaussian releases, got PureDP"):
        descent_account.multipliers_of(PureDP(1.0))


def test_events():
    event = Composed((PureDP(0.2), Repeated(BoundedRange(0.4), 10), Gaussian(2.0)))
    assert rho_of_event(event) == pytest.approx(0.02 + 10 * 0.02 + 0.125)
    assert rho_of_event(event) == pytest.approx(zcdp.rho(event))
    assert ranges_of_event(event)[-1] == 0.4
    assert ranges_of_event(PureDP(1.0))[-1] == 0.0


@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
@pytest.mark.parametrize(
    ("loss", "outputs", "bound"),
    [
        ("logistic", 1, 1 / (1 + math.exp(-6.0))),
        ("softmax", 4, 1 / (1 + math.exp(-6.0) / 3)),
        ("squared", 1, 1.5),
    ],
)
def test_theta_is_the_one_that_the_product_calibrates(neighboring, loss, outputs, bound):
    facts = SelectionFacts(
        loss=loss,
        outputs=outputs,
        epsilon=1.0,
        delta=1e-6,
        neighboring=neighboring,
        rounds=50,
        radius=3.0,
        x_bound=2.0,
        bounds=None,
        fit_intercept=True,
        y_bound=2.0,
        residual_bound=1.5,
        count_share=0.0,
        stale=False,
    )
    assert facts.gradient_bound == pytest.approx(bound)
    theta = calibration.calibrate(1.0, 1e-6, 50, 2.0, neighboring, bound)
    if loss != "squared":  # the correction of probabilities gets the rest of rho
        theta *= math.sqrt(0.95)
    assert facts.theta == pytest.approx(theta, rel=1e-6)
    assert facts.theta >= theta * (1.0 - 1e-15)
