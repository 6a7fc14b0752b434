"""What a job is charged, against accountants written by others, and what noise it gets for it."""

import math
from fractions import Fraction

import dp_accounting
import numpy as np
import pytest
from dp_accounting.rdp import RdpAccountant
from scipy.optimize import brentq

from dplasso.federated import Coordinator
from dplasso.federated.plan import (
    ENTRY,
    LABEL_SHARE,
    LEAST_NOISE,
    MOST_NOISE,
    SUM_FACTOR,
    centre_of,
    plan_of,
    selection_share,
)
from dplasso.mechanisms.gaussian_cells import LEAST_SIGMA, MOST_SIGMA
from dplasso.privacy import zcdp
from dplasso.privacy.events import PureDP
from federations import FEATURES, agreed

CASES = [
    {"epsilon": 0.3},
    {"epsilon": 2.0, "sampling": "distributed", "rounds": 30},
    {"epsilon": 8.0, "delta": 1e-9, "sampling": "serial", "rounds": 50},
    {"epsilon": 3.0, "sampling": "nice", "tau": 3, "row_budget": 7.5},
    {"sampling": "arbitrary", "probabilities": (0.2, 0.6), "rounds": 25},
]


def by_dp_accounting(terms, party=None):
    """Epsilon of the same releases, put together from the plan's numbers alone."""
    plan = plan_of(terms)
    names = list(FEATURES) if party is None else [party]
    budgets = [own.row_budget for own in terms.parties if own.name in names]
    asks = sum(plan.asks[name] for name in names)
    parts = [dp_accounting.GaussianDpEvent(plan.sketch_sigma / math.sqrt(sum(budgets)))]
    if terms.label_holder in names:
        spreads = plan.label_multiplier, plan.label_sum_multiplier
        parts += [dp_accounting.GaussianDpEvent(s) for s in spreads]
    choice = dp_accounting.ZCDpEvent(plan.choice_epsilon**2 / 8.0)
    parts.append(dp_accounting.SelfComposedDpEvent(choice, asks))
    cost = zcdp.rho(plan.event if party is None else plan.event_of(party))
    best = brentq(
        lambda u: u * u * cost + math.log1p(u) + math.log(terms.delta), 0, 1 / terms.delta
    )
    orders = list(1.0 + best * np.linspace(0.9, 1.1, 2001))
    return (
        RdpAccountant(orders).compose(dp_accounting.ComposedDpEvent(parts)).get_epsilon(terms.delta)
    )


@pytest.mark.parametrize("case", CASES)
def test_a_job_costs_what_its_terms_say(case):
    terms = agreed(**case)
    charged = zcdp.epsilon_of(zcdp.rho(plan_of(terms).event), terms.delta)
    assert charged <= terms.epsilon and charged == pytest.approx(terms.epsilon, rel=1e-9)
    assert by_dp_accounting(terms) == pytest.approx(terms.epsilon, rel=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_parties_share_the_cost_of_a_job(case):
    terms = agreed(**case)
    plan = plan_of(terms)
    costs = {name: zcdp.rho(plan.event_of(name)) for name in FEATURES}
    assert sum(costs.values()) == pytest.approx(zcdp.rho(plan.event), rel=1e-12)
    for name, cost in costs.items():
        expected = by_dp_accounting(terms, name)
        assert zcdp.epsilon_of(cost, terms.delta) == pytest.approx(expected, rel=1e-5)
    assert Coordinator(terms).card().privacy["rho_by_party"] == costs


@pytest.mark.parametrize("features", [1, 5, 10**3, 10**6, 10**9])
def test_every_part_of_a_job_has_a_share_and_they_add_up(features):
    terms = agreed({"bank": 1, "shop": features})
    plan = plan_of(terms)
    sketches, label_sum, labels, choices = (zcdp.rho(event) for event in plan.event.events)
    rho = zcdp.rho_of(terms.epsilon, terms.delta)
    assert choices == pytest.approx(selection_share(1 + features) * rho)
    assert label_sum + labels == pytest.approx(LABEL_SHARE * (rho - choices))
    assert min(sketches, labels, choices) > 0.0
    assert sketches + label_sum + labels + choices == pytest.approx(rho)
    assert selection_share(1 + features) <= selection_share(2 + 2 * features) <= 0.5


@pytest.mark.parametrize("case", CASES)
def test_noise_is_no_less_than_the_event_says(case):
    """In exact fractions, for what one row moves: the root of the sketch size times its entry."""
    terms = agreed(**case)
    plan = plan_of(terms)
    size, one = terms.sketch_size, Fraction(ENTRY)
    sigma, spread = Fraction(plan.sketch_sigma), Fraction(plan.label_multiplier)
    assert Fraction(plan.sum_noise) >= sigma * one * SUM_FACTOR
    assert Fraction(plan.sketch_noise) ** 2 >= (sigma * one) ** 2 * size
    assert Fraction(plan.label_sum_noise) >= Fraction(plan.label_sum_multiplier) * one
    for centre in (-ENTRY, -5, 0, 77, ENTRY):
        most = max(abs(ENTRY - centre), abs(-ENTRY - centre))
        assert Fraction(plan.label_sketch_noise(centre)) ** 2 >= (spread * most) ** 2 * size


@pytest.mark.parametrize(("n_rows", "epsilon"), [(10**6, 3.0), (20_000, 1.0), (2000, 0.3)])
def test_the_mean_of_the_labels_is_within_a_twentieth_of_their_bound(n_rows, epsilon):
    """Where half of what the labels get is enough; of a large budget it takes a 65th."""
    plan = plan_of(agreed(n_rows=n_rows, epsilon=epsilon))
    labels, mean = (1.0 / (2 * s**2) for s in (plan.label_multiplier, plan.label_sum_multiplier))
    share = mean / (labels + mean)
    assert plan.label_sum_multiplier / n_rows <= 0.05 * (1.0 + 1e-9)
    assert 1 / 65 - 1e-9 <= share <= 0.5 + 1e-9
    assert (share == pytest.approx(1 / 65)) == (n_rows >= 20_000)


def test_centres_are_within_the_bound_whatever_is_released():
    assert [centre_of(total, 10) for total in (-(2**62), -20, 0, 26, 2**62)] == [
        -ENTRY, -2, 0, 3, ENTRY,
    ]  # fmt: skip


def test_the_noise_of_a_plan_is_what_can_be_drawn():
    assert (LEAST_NOISE, MOST_NOISE) == (LEAST_SIGMA, MOST_SIGMA)


STRICT = {"epsilon": 1e-300, "delta": 1e-300}


@pytest.mark.parametrize("case", [{"epsilon": 1e7}, STRICT, {"row_budget": 1e-9}])
def test_noise_that_cannot_be_drawn_is_refused_before_anything_is_charged(case):
    with pytest.raises(ValueError, match="epsilon=.* noise that is too small or too large"):
        plan_of(agreed(**case))


def test_without_privacy_the_event_says_so():
    plan = plan_of(agreed(epsilon=math.inf))
    assert plan.event == plan.event_of("shop") == PureDP(math.inf)
    assert plan.sum_noise == plan.sketch_noise == 0.0
