"""A plan is a function of public numbers, and costs what it says."""

import math

import dp_accounting
import pytest
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.losses import LogisticLoss
from dplasso.privacy import gaussian, zcdp
from dplasso.privacy.events import BoundedRange, Composed, Event, Gaussian, PureDP, Repeated
from dplasso.solvers.table import plan_table
from dplasso.solvers.table.plan import CELL, MOST_COLUMNS, TablePlan
from new_loss import UncompiledLoss
from tables import LOSSES, small_plan

BOTH = ("add_remove", "replace_one")


def multipliers(plan: TablePlan) -> list[float]:
    """The noise multiplier of every single release that a fit makes."""
    found = [plan.cell_multiplier, plan.mean_multiplier, plan.spread_multiplier]
    found += [plan.label_multiplier, *([plan.product_multiplier] if plan.has_products else [])]
    found += [plan.scale_multiplier] * len(plan.scale_steps)
    return found + [plan.step_multiplier] * plan.steps


def of_library(event: Event) -> dp_accounting.DpEvent:
    match event:
        case Gaussian(multiplier):
            return dp_accounting.GaussianDpEvent(multiplier)
        case Repeated(part, count):
            return dp_accounting.SelfComposedDpEvent(of_library(part), count)
        case Composed(parts):
            return dp_accounting.ComposedDpEvent([of_library(part) for part in parts])
        case BoundedRange(epsilon):
            return dp_accounting.ZCDpEvent(epsilon**2 / 8.0)
    raise TypeError(event)


@settings(deadline=None, max_examples=50)
@given(
    st.sampled_from(sorted(LOSSES)),
    st.floats(1e-3, 1e4),
    st.floats(-30.0, -3.0).map(lambda power: 10.0**power),
    st.integers(1, 2**31),
    st.integers(1, MOST_COLUMNS),
    st.sampled_from(BOTH),
)
def test_all_releases_together_cost_what_was_asked(
    name: str, epsilon: float, delta: float, rows: int, columns: int, neighboring: str
) -> None:
    public = {"epsilon": epsilon, "delta": delta, "n_rows": rows, "n_columns": columns}
    plan = plan_table(LOSSES[name], **public, neighboring=neighboring)
    drawn = math.sqrt(math.fsum(value**-2 for value in multipliers(plan)))
    assert drawn == pytest.approx(gaussian.mu(plan.event), rel=1e-12)
    assert drawn <= gaussian.mu_of(epsilon, delta) * (1.0 + 1e-13)
    assert drawn == pytest.approx(plan.mu, rel=1e-9)
    assert gaussian.epsilon_of(drawn, delta) <= epsilon
    assert 2 * plan.unit_bits + rows.bit_length() <= 61  # sums of declared rows fit 64 bits


@pytest.mark.parametrize("name", ["logistic", "softmax", "squared"])
def test_dp_accounting_agrees(name: str) -> None:
    plan = small_plan(LOSSES[name], 20, 5000)
    accountant = PLDAccountant()
    accountant.compose(of_library(plan.event))
    assert accountant.get_epsilon(1e-6) == pytest.approx(1.0, rel=1e-3)
    charged = small_plan(LOSSES[name], 20, 5000, account="zcdp")
    assert zcdp.epsilon_of(zcdp.rho(charged.event), 1e-6) == pytest.approx(1.0, rel=1e-6)
    assert zcdp.epsilon_of(zcdp.rho(charged.event), 1e-6) <= 1.0


@pytest.mark.parametrize(
    ("share", "bound_share"), [(1.0, 0.05), (1.0, 0.5), (0.3, 0.0), (0.3, 0.2)]
)
def test_shares_of_other_releases_are_left_to_them(share: float, bound_share: float) -> None:
    plan = small_plan(LOSSES["squared"], 20, 5000, share=share, bound_share=bound_share)
    # Without a bound all releases are Gaussian, and the share is of what their curve allows.
    rho = zcdp.rho_of(1.0, 1e-6) if bound_share else gaussian.mu_of(1.0, 1e-6) ** 2 / 2.0
    assert plan.bound_epsilon**2 / 8.0 == pytest.approx(bound_share * rho, rel=1e-9)
    assert 0.5 * plan.mu**2 == pytest.approx(share * (1.0 - bound_share) * rho, rel=1e-9)
    left = bound_share + share * (1.0 - bound_share)
    assert zcdp.rho(plan.event) <= left * rho * (1.0 + 1e-13)
    first = plan.event.events[0]
    assert isinstance(first, BoundedRange) == (bound_share > 0.0)
    accountant = RdpAccountant()
    accountant.compose(of_library(plan.event))
    if share == 1.0:
        assert accountant.get_epsilon(1e-6) <= 1.0 + 1e-6


def test_products_that_noise_would_hide_are_neither_released_nor_charged() -> None:
    plan = small_plan(LOSSES["logistic"], 50, 20, epsilon=0.1)
    assert not plan.has_products
    assert gaussian.mu(plan.event) == pytest.approx(plan.mu, rel=1e-9)
    clear = small_plan(LOSSES["logistic"], 50, 20_000, epsilon=0.1)
    assert clear.has_products and clear.mu == plan.mu
    assert clear.step_multiplier > plan.step_multiplier


def test_without_privacy_there_is_no_noise() -> None:
    for loss in LOSSES.values():
        plan = small_plan(loss, 5, epsilon=math.inf)
        assert plan.event == PureDP(math.inf)
        assert plan.cell_sigma == plan.label_sigma == plan.step_sigma == plan.product_sigma == 0.0
        assert plan.has_products


@pytest.mark.parametrize("n_nonzero", [1, 7, 40, 41, None])
def test_the_number_of_weights_falls_to_what_was_asked(n_nonzero: int | None) -> None:
    plan = small_plan(LOSSES["logistic"], 40, n_nonzero=n_nonzero)
    left = [plan.weights_left(done) for done in range(plan.steps + 1)]
    assert left[0] == 40 and left == sorted(left, reverse=True)
    assert left[-1] == min(n_nonzero or 40, 40)
    # Every iterate that is averaged has no other weights.
    assert all(count == left[-1] for count in left[math.ceil(plan.steps / 2) :])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_columns": MOST_COLUMNS + 1}, "n_columns must be"),
        ({"n_columns": 0}, "n_columns must be"),
        ({"n_rows": 0}, "n_rows must be"),
        ({"n_nonzero": 0}, "n_nonzero must be"),
        ({"epsilon": 0.0}, "epsilon must be"),
        ({"delta": 1.0}, "delta must be"),
        ({"neighboring": "swap"}, "neighboring must be"),
        ({"epsilon": 1e-14, "delta": 1e-300}, "epsilon and delta"),
        ({"loss": UncompiledLoss()}, "the table solver does not take UncompiledLoss"),
        ({"loss": "logistic"}, "loss must be a Loss"),
    ],
)
def test_what_is_refused(change: dict, message: str) -> None:
    public = {"epsilon": 1.0, "delta": 1e-6, "n_rows": 100, "n_columns": 5} | change
    with pytest.raises(ValueError, match=message):
        plan_table(public.pop("loss", LogisticLoss()), **public)


@pytest.mark.parametrize("name", LOSSES)
@settings(deadline=None, max_examples=40)
@given(
    st.floats(-8.0, 9.0).map(lambda power: 10.0**power),
    st.floats(-300.0, -3.0).map(lambda power: 10.0**power),
    st.integers(1, MOST_COLUMNS),
    st.sampled_from(BOTH),
)
def test_a_plan_that_is_made_can_be_drawn(
    name: str, epsilon: float, delta: float, columns: int, neighboring: str
) -> None:
    """A fit is charged by its plan: noise beyond reach must be refused before that."""
    public = {"epsilon": epsilon, "delta": delta, "n_rows": 10**4, "n_columns": columns}
    try:
        plan = plan_table(LOSSES[name], **public, neighboring=neighboring)
    except ValueError as error:
        assert "epsilon and delta" in str(error)
        return
    longest = math.ceil(math.sqrt(columns) * CELL)
    sigmas = [plan.cell_sigma, plan.label_sigma, plan.step_sigma, plan.spread_sigma(CELL // 4)]
    sigmas += [plan.mean_sigma(longest), plan.spread_sigma(longest)]
    assert min(sigmas) >= 2.0**12 and max(sigmas) <= 2.0**48
