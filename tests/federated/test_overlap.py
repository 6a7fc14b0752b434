"""The count of common rows: what a row adds to it, what that costs, and what it finds."""

import math

import numpy as np
import pytest

from dplasso.federated import agree
from dplasso.federated.holdings import Holdings
from dplasso.federated.overlap import Overlap
from dplasso.federated.overlap_count import noisy_sign_sums, sign_sums
from dplasso.federated.plan import ENTRY, LEAST_NOISE, plan_of
from dplasso.mechanisms.random_bits import random_bits
from dplasso.privacy import zcdp
from dplasso.privacy.events import Gaussian

NAMES, ROWS, SECRET = ("a", "b", "c"), 4000, bytes(range(32))


def terms(**options):
    usual = {"n_rows": ROWS, "epsilon": 6.0, "delta": 1e-7, "min_overlap": 0.25}
    bounds = {"x_bounds": dict.fromkeys(NAMES, 1.0), "y_bound": 1.0}
    return agree(dict.fromkeys(NAMES, 3), "a", **{**usual, **bounds, **options})


def measured(seed, people, secret=SECRET, **options):
    """The estimate for parties with these identifiers; signs differ by job and noise by seed."""
    plan = plan_of(terms(job=f"job-{seed}", **options))
    sums = {
        name: noisy_sign_sums(people[name], secret, plan, random_bits(3 * seed + number))
        for number, name in enumerate(NAMES)
    }
    return Overlap.of(plan, sums)


def test_a_row_moves_the_sums_by_exactly_what_is_charged():
    """In integers: every sum by one, in either direction, whatever the other rows are."""
    plan = plan_of(terms())
    people = [f"p{k}" for k in range(300)]
    whole = sign_sums(people, SECRET, "job", plan.count.signs)
    for person in people[::50]:
        fewer = [one for one in people if one != person]
        moved = whole - sign_sums(fewer, SECRET, "job", plan.count.signs)
        assert set(np.abs(moved).tolist()) == {1}
        assert len(set(moved.tolist())) == 2  # not all the same sign
    sensitivity = ENTRY * math.sqrt(plan.count.signs)
    assert plan.count.noise >= LEAST_NOISE and sensitivity * plan.count.sigma <= plan.count.noise


def test_noise_is_that_of_the_plan(monkeypatch):
    seen = []

    class Recorder:
        def __init__(self, sigma):
            self.sigma = sigma

        def add_to(self, values, generator):
            seen.append((self.sigma, values.copy()))

    plan = plan_of(terms())
    X, people = np.zeros((20, 3)), range(20)
    held = Holdings(plan.terms, "b", X, people, SECRET, None, random_bits(0), Recorder)
    held.counted()
    ((sigma, exact),) = seen
    assert sigma == plan.count.noise
    assert np.array_equal(exact, sign_sums(people, SECRET, "job", plan.count.signs) * ENTRY)


@pytest.mark.parametrize("epsilon", [4.0, 6.0, 30.0])
def test_the_count_is_part_of_the_cost_of_a_job(epsilon):
    plan = plan_of(terms(epsilon=epsilon))
    assert plan.count_event == Gaussian(plan.count.sigma / math.sqrt(3))
    count, model = zcdp.rho(plan.count_event), zcdp.rho(plan.model_event)
    assert zcdp.rho(plan.event) == pytest.approx(count + model, rel=1e-12)
    assert zcdp.epsilon_of(zcdp.rho(plan.event), 1e-7) == pytest.approx(epsilon, rel=1e-9)
    assert sum(zcdp.rho(plan.event_of(name)) for name in NAMES) == pytest.approx(count + model)
    assert 0.0 < count <= 0.05 * (count + model) * (1 + 1e-9)


@pytest.mark.parametrize("options", [{"min_overlap": 0.0}, {"n_rows": 50}, {"epsilon": 0.01}])
def test_without_use_there_is_no_count_and_no_cost(options):
    plan = plan_of(terms(**options))
    assert (plan.count.signs, plan.count.sigma) == (0, 0.0)
    assert plan.event == plan.model_event


@pytest.mark.parametrize("common", [0.0, 0.4, 1.0])
def test_estimates_are_right_on_average_and_spread_as_they_say(common):
    """Two parties have the same people, and the third some of them."""
    start = round((1 - common) * ROWS)
    people = dict.fromkeys(NAMES, [f"p{k}" for k in range(ROWS)])
    people["c"] = [f"p{k}" for k in range(start, start + ROWS)]
    found = [measured(seed, people) for seed in range(24)]
    shares = np.array([[one.shares[name] for name in NAMES] for one in found])
    spread = found[0].spread
    expected = [(1.0 + common) / 2, (1.0 + common) / 2, common]
    assert np.abs(shares.mean(axis=0) - expected).max() < 4 * spread / math.sqrt(len(found))
    assert (0.4 * spread < shares.std(axis=0)).all() and (shares.std(axis=0) < 1.5 * spread).all()


def test_the_party_that_differs_is_named():
    people = dict.fromkeys(NAMES, [f"p{k}" for k in range(ROWS)])
    assert measured(1, people, epsilon=30.0).fault(ROWS, 0.25) == ""
    people["b"] = [f"P{k}" for k in range(ROWS)]
    fault = measured(1, people, epsilon=30.0).fault(ROWS, 0.25)
    assert "4,000 declared rows, b about" in fault and "how b and the others spell" in fault


def test_signs_are_of_one_job_and_one_secret():
    """Or jobs could be linked, and the count would be known to whoever knows identifiers."""
    people = [f"p{k}" for k in range(200)]
    one = sign_sums(people, SECRET, "one", 64)
    assert not np.array_equal(one, sign_sums(people, SECRET, "other", 64))
    assert not np.array_equal(one, sign_sums(people, bytes(32), "one", 64))
    assert np.array_equal(one, sign_sums(people[::-1], SECRET, "one", 64))
