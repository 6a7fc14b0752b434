"""A choice of columns and the descent on them: law, sensitivity, cost, and what they read."""

import math
from fractions import Fraction

import dp_accounting
import numpy as np
import pytest
import scipy.sparse as sp
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dplasso.data import ColumnMatrix
from dplasso.data.unit_rows import WHOLE, UnitRows
from dplasso.losses import LogisticLoss, SoftmaxLoss, SquaredLoss
from dplasso.mechanisms.random_bits import random_bits
from dplasso.privacy import zcdp
from dplasso.privacy.events import BoundedRange, Gaussian, Repeated
from dplasso.solvers.few import Chosen, ColumnScores, choose, plan_few, refit
from dplasso.solvers.few.plan import GRAINS, LABEL

LOSSES = {"logistic": LogisticLoss(), "squared": SquaredLoss(y_bound=3.0)}
COLUMNS = 5
entries = arrays(
    np.float64,
    st.tuples(st.integers(1, 8), st.just(COLUMNS)),
    elements=st.one_of(st.just(0.0), st.floats(-1e9, 1e9, allow_subnormal=False)),
)


def plan_of(loss, **changes):
    public = {"epsilon": 1.0, "delta": 1e-6, "n_rows": 50, "n_chosen": 2} | changes
    return plan_few(loss, **public)


def scores_of(X, y, loss, scaling="unit", **changes):
    return ColumnScores.of(UnitRows.of(X, scaling), y, loss, plan_of(loss, **changes))


def labels_for(loss, rows, draw):
    values = st.integers(0, 1) if loss is LOSSES["logistic"] else st.floats(-9.0, 9.0)
    return np.array(draw(st.lists(values, min_size=rows, max_size=rows)))


@settings(max_examples=60, deadline=None)
@given(X=entries, data=st.data(), name=st.sampled_from(sorted(LOSSES)))
@pytest.mark.parametrize("scaling", ["presence", "unit"])
def test_a_row_moves_sums_no_further_than_is_paid_for(X, data, name, scaling):
    loss, centre = LOSSES[name], data.draw(st.integers(-LABEL, LABEL))
    y = labels_for(loss, len(X), data.draw)
    more, fewer = (
        scores_of(X, y, loss, scaling),
        scores_of(np.vstack([X[1:], np.zeros(COLUMNS)]), np.append(y[1:], 0), loss, scaling),
    )
    empty = scores_of(np.zeros((1, COLUMNS)), np.zeros(1), loss, scaling)
    # The empty row that stands in for none adds to the labels, and to no score.
    change = more.of_centre(centre) - fewer.of_centre(centre)
    assert np.abs(change).max() <= more.longest(centre) == fewer.longest(centre)
    labels = more.label_sum() - fewer.label_sum() + empty.label_sum()
    assert abs(int(labels[0])) <= LABEL * GRAINS


@settings(max_examples=60, deadline=None)
@given(X=entries, data=st.data(), name=st.sampled_from(sorted(LOSSES)))
def test_rows_do_not_depend_on_each_other(X, data, name):
    loss, centre = LOSSES[name], data.draw(st.integers(-LABEL, LABEL))
    y = labels_for(loss, len(X), data.draw)
    parts = [scores_of(X[k : k + 1], y[k : k + 1], loss) for k in range(len(X))]
    whole = scores_of(X, y, loss)
    assert np.array_equal(whole.of_centre(centre), sum(p.of_centre(centre) for p in parts))
    assert np.array_equal(whole.of_centre(centre, 1), whole.of_centre(centre, 2))
    assert whole.label_sum() == sum(p.label_sum() for p in parts)


def test_scores_of_as_many_rows_as_there_may_be_fit():
    longest = WHOLE * 2 * LABEL
    assert longest * ((1 << 27) - 1) < 1 << 63


def test_theta_is_exactly_what_the_range_pays_for():
    for neighboring, ways in (("add_remove", 2), ("replace_one", 4)):
        plan = plan_of(LogisticLoss(), neighboring=neighboring)
        assert ways * 12345 * plan.theta(12345) == Fraction(plan.draw_epsilon)


@pytest.mark.parametrize(
    ("epsilon", "delta", "chosen", "bound_share"),
    [(0.05, 1e-8, 1, 0.0), (1.0, 1e-6, 3, 0.0), (8.0, 1e-5, 4, 0.05), (1e-3, 0.01, 2, 0.0)],
)
def test_the_parts_cost_the_whole_and_no_more(epsilon, delta, chosen, bound_share):
    facts = {"epsilon": epsilon, "delta": delta, "n_chosen": chosen, "bound_share": bound_share}
    plan = plan_of(LogisticLoss(), n_rows=10_000, **facts)
    allowed = zcdp.rho_of(epsilon, delta)
    assert 0.999999 * allowed < zcdp.rho(plan.event) == plan.rho <= allowed
    *bound, centre, draws, descent = plan.event.events
    assert bound == ([BoundedRange(plan.bound_epsilon)] if bound_share else [])
    assert centre == Gaussian(plan.centre_multiplier)
    assert draws == Repeated(BoundedRange(plan.draw_epsilon), chosen)
    assert descent == plan.refit.event and plan.refit.n_columns == chosen
    assert zcdp.epsilon_of(plan.rho, delta) <= epsilon * (1 + 1e-9)


def test_dp_accounting_agrees():
    plan = plan_of(LogisticLoss(), n_rows=10_000, n_chosen=3)
    descent = plan.refit
    accountant = RdpAccountant(list(1.0 + np.geomspace(1.0, 200.0, 4000)))
    accountant.compose(dp_accounting.GaussianDpEvent(plan.centre_multiplier))
    accountant.compose(dp_accounting.ZCDpEvent(plan.draw_epsilon**2 / 8.0), 3)
    accountant.compose(dp_accounting.GaussianDpEvent(descent.mass_multiplier))
    accountant.compose(dp_accounting.GaussianDpEvent(descent.step_multiplier), descent.steps)
    assert accountant.get_epsilon(1e-6) == pytest.approx(1.0, rel=1e-4)


def test_draws_follow_the_exponential_mechanism():
    loss, runs = LogisticLoss(), 3000
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (60, 3)).astype(float), rng.integers(0, 2, 60)
    plan = plan_of(loss, epsilon=4.0, n_rows=60)
    scores, bits = ColumnScores.of(UnitRows.of(X), y, loss, plan), random_bits(1)
    observed, expected = np.zeros((6, 6)), np.zeros((6, 6))
    for _ in range(runs):
        found = choose(scores, plan, bits)
        observed[tuple(found.columns + 3 * (found.signs < 0))] += 1
        expected += pair_law(X, y, found.centre / LABEL, plan.draw_epsilon)
    assert observed[expected == 0].sum() == 0 and expected.sum() == pytest.approx(runs)
    told = expected > 0
    statistic = np.sum((observed - expected)[told] ** 2 / expected[told])
    assert statistic < 60.0  # 23 degrees of freedom: correct code fails once in 30,000 seeds


def pair_law(X, y, centre, draw_epsilon):
    """Chances of two draws, from the definition: columns, then columns with sign -."""
    score = X.T @ (2.0 * y - 1.0 - centre)
    weights = np.exp(draw_epsilon / (2 * (1 + abs(centre))) * np.concatenate([score, -score]))
    law = np.zeros((6, 6))
    for first in range(6):
        left = np.where(np.arange(6) % 3 == first % 3, 0.0, weights)
        law[first] = weights[first] / weights.sum() * left / left.sum()
    return law


def test_the_descent_reads_the_chosen_columns_alone():
    loss, rng = LogisticLoss(), np.random.default_rng(0)
    X = sp.random_array((50, 30), density=0.4, rng=rng, format="csc")
    y = np.arange(50) % 2
    chosen = Chosen(0, np.array([7, 2]), np.array([1, -1]))
    other = X.tolil()
    other[:, [k for k in range(30) if k not in (2, 7)]] = rng.random((50, 28))
    plan = plan_of(loss)
    for scaling in ("presence", "unit"):
        fits = [
            refit(
                ColumnMatrix.of(data.tocsc(), 1e30),
                y,
                chosen,
                loss=loss,
                plan=plan,
                scaling=scaling,
                bits=random_bits(3),
            )
            for data in (X, other)
        ]
        assert fits[0].weights.indices.tolist() == [2, 7] and fits[0].weights.shape == (1, 30)
        assert np.array_equal(fits[0].weights.toarray(), fits[1].weights.toarray())
        assert np.array_equal(fits[0].intercepts, fits[1].intercepts)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"epsilon": math.inf}, "epsilon must be a finite number"),
        ({"epsilon": 1e-9, "delta": 1e-18}, "between 1e-5 and 1e6"),
        ({"n_chosen": 0}, "n_chosen must be"),
        ({"neighboring": "other"}, "neighboring must be"),
        ({"n_chosen": 9}, "choose 9 columns, and X has 5"),
    ],
)
def test_what_is_refused(changes, said):
    with pytest.raises(ValueError, match=said):
        scores_of(np.ones((3, COLUMNS)), [0, 1, 0], LogisticLoss(), **changes)


def test_many_outputs_are_refused():
    with pytest.raises(ValueError, match="does not take SoftmaxLoss"):
        plan_of(SoftmaxLoss(classes=(0, 1, 2)))
