"""The noise of a fit that protects people, accounted by others from sensitivities of people."""

import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from scipy.special import expit

from dplasso import PrivateLassoClassifier, PrivateLassoRegressor
from dplasso.base.memory import TooLargeError
from dplasso.kernels.calibration import UNIT
from dplasso.solvers.correction.plan import GRAINS
from dplasso.solvers.few.plan import GRAINS as LABEL_GRAINS
from dplasso.solvers.few.plan import LABEL
from dplasso.solvers.table.plan import CELL

EPSILON, DELTA, PEOPLE, ROWS = 1.5, 1e-6, 40_000, 300_000
CASES = [(k, relation) for k in (1, 2, 5) for relation in ("add_remove", "replace_one")]
ROOT_2 = math.sqrt(2.0)


def plan_of(kind, k, relation, columns, **options):
    public = {"n_people": PEOPLE, "n_rows": ROWS, "rows_per_person": k, "neighboring": relation}
    return kind(EPSILON, DELTA, x_bound=1.0, **public, **options).plan(ROWS, columns)


def epsilon_of(multipliers):
    """By dp-accounting: one Gaussian release that is as hard to see as all of them together."""
    mu = math.sqrt(math.fsum(1.0 / multiplier**2 for multiplier in multipliers))
    event = dp_accounting.GaussianDpEvent(1.0 / mu)
    return PLDAccountant(value_discretization_interval=1e-4).compose(event).get_epsilon(DELTA)


def correction_multipliers(plan, k, replaces):
    """Of two classes: counts that are never negative, and sums of length sqrt(2)."""
    found, moved = plan.correction, 2 if replaces else 1
    counts = found.count_sigma / (GRAINS * k * (ROOT_2 if replaces else 1.0))
    return [counts, *[found.step_sigma / (UNIT * ROOT_2 * moved * k)] * 2]


@pytest.mark.parametrize(("k", "relation"), CASES)
def test_gradient(k, relation):
    plan = plan_of(PrivateLassoClassifier, k, relation, 5000, classes=[0, 1])
    descent, moved = plan.numbers, (2 if relation == "replace_one" else 1) * k
    unit = 2.0**descent.unit_bits
    step = descent.step_sigma / (moved * unit * math.hypot(1.0, 0.3))
    all_of_them = [descent.mass_sigma / (moved * unit), *[step] * descent.steps]
    all_of_them += correction_multipliers(plan, k, relation == "replace_one")
    assert plan.solver == "gradient"
    assert 0.98 * EPSILON < epsilon_of(all_of_them) < 1.001 * EPSILON


@pytest.mark.parametrize(("k", "relation"), CASES)
def test_table_of_numbers(k, relation):
    plan = plan_of(PrivateLassoRegressor, k, relation, 20, y_bound=1.0)
    table, replaces = plan.numbers, relation == "replace_one"
    signed, positive = (2.0, ROOT_2) if replaces else (1.0, 1.0)
    square = table.unit**2 + table.constant**2
    cells = math.sqrt(3.0 if k > 1 else 2.0)  # with the sum of weights where people count as more
    sensitivities = [
        (table.cell_sigma, cells * CELL, 1),
        (table.mean_sigma(1000), 1000 * signed, 1),
        (table.spread_sigma(1000), 1000 * positive, 1),
        (table.label_sigma, CELL * (2.0 if replaces else ROOT_2), 1),
        (table.product_sigma, square * positive, 1),
        (table.step_sigma, table.unit * math.sqrt(square) * signed, table.steps),
        (table.scale_sigma, CELL, 2),
    ]
    found = [sigma / (own * k) for sigma, own, count in sensitivities for _ in range(count)]
    assert plan.solver == "table"
    assert 0.98 * EPSILON < epsilon_of(found) < 1.001 * EPSILON


@pytest.mark.parametrize(("k", "relation"), CASES)
def test_selections(k, relation):
    options = {"solver": "frank_wolfe", "max_iter": 50, "radius": 3.0, "classes": [0, 1]}
    plan = plan_of(PrivateLassoClassifier, k, relation, 1000, **options)
    moved = (4 if relation == "replace_one" else 2) * k * float(expit(3.0))
    selection = dp_accounting.ZCDpEvent((plan.numbers.theta * moved) ** 2 / 8.0)
    events = [dp_accounting.SelfComposedDpEvent(selection, 50)]
    events += [
        dp_accounting.GaussianDpEvent(multiplier)
        for multiplier in correction_multipliers(plan, k, relation == "replace_one")
    ]
    orders = np.geomspace(2.0, 500.0, 2000)
    found = RdpAccountant(orders).compose(dp_accounting.ComposedDpEvent(events))
    assert 0.98 * EPSILON < found.get_epsilon(DELTA) < 1.001 * EPSILON


@pytest.mark.parametrize(("k", "relation"), CASES)
def test_few_columns(k, relation):
    plan = plan_of(PrivateLassoClassifier, k, relation, 5000, classes=[0, 1], n_nonzero=2)
    few, moved = plan.numbers, (2 if relation == "replace_one" else 1) * k
    unit = 2.0**few.refit.unit_bits
    draw = dp_accounting.ZCDpEvent(float(few.theta(1000) * 2 * moved * 1000) ** 2 / 8.0)
    step = few.refit.step_sigma / (moved * unit * math.hypot(1.0, 0.3))
    gaussian = [
        few.centre_sigma / (LABEL * LABEL_GRAINS * moved),
        few.refit.mass_sigma / (moved * unit),
        *[step] * few.refit.steps,
        *correction_multipliers(plan, k, relation == "replace_one"),
    ]
    events = [dp_accounting.SelfComposedDpEvent(draw, 2)]
    events += [dp_accounting.GaussianDpEvent(multiplier) for multiplier in gaussian]
    orders = np.geomspace(2.0, 500.0, 2000)
    found = RdpAccountant(orders).compose(dp_accounting.ComposedDpEvent(events))
    assert plan.solver == "select"
    assert 0.98 * EPSILON < found.get_epsilon(DELTA) < 1.001 * EPSILON


def test_rows_of_people_count_in_memory_without_being_told():
    people = PrivateLassoClassifier(1.0, classes=[0, 1], n_people=1_000, x_bound=[(0.0, 9.0)] * 50)
    plan = people.plan(500_000_000, 50)
    plan.check_memory()
    with pytest.raises(TooLargeError) as raised:
        plan.check_memory(500_000_000)
    assert "500" not in str(raised.value) and "GiB" not in str(raised.value)
