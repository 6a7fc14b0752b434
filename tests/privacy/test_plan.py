"""A plan never spends more than it was given, and hardly less."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplasso.privacy import zcdp
from dplasso.privacy.calibration import calibrate
from dplasso.privacy.events import Composed, PureDP
from dplasso.privacy.plan import plan_selections

PLANS = st.tuples(
    st.floats(0.01, 50.0),
    st.floats(1e-12, 0.1),
    st.sampled_from(["add_remove", "replace_one"]),
    st.integers(1, 10**6),
    st.floats(1e-3, 1e3),
    st.floats(1e-3, 1e3),
    st.one_of(st.just(0.0), st.floats(0.001, 0.999)),
)


@given(PLANS)
def test_all_of_the_budget_and_no_more(arguments):
    plan = plan_selections(*arguments)
    epsilon, delta = arguments[:2]
    spent = zcdp.epsilon_of(zcdp.rho(plan.event), delta)
    assert epsilon * (1 - 1e-6) <= spent <= epsilon
    assert plan.rho == zcdp.rho(plan.event) <= zcdp.rho_of(epsilon, delta) * (1 + 1e-14)


@given(PLANS)
def test_the_count_gets_its_share_of_rho(arguments):
    plan, share = plan_selections(*arguments), arguments[-1]
    if share == 0.0:
        assert plan.count_epsilon == 0.0
        assert plan.theta == calibrate(
            *arguments[:2], arguments[3], arguments[4], *arguments[2:6:3]
        )
    else:
        assert isinstance(plan.event, Composed)
        assert plan.event.events[0] == PureDP(plan.count_epsilon)
        assert plan.count_epsilon**2 / 2 == pytest.approx(share * zcdp.rho_of(*arguments[:2]))


def test_no_privacy():
    plan = plan_selections(math.inf, 1e-6, "add_remove", 10, 1.0, 1.0)
    assert not plan.private and plan.theta == plan.rho == math.inf
