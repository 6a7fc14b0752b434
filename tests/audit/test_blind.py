"""Slips planted by someone who had not read the checks: what was missed then is found now."""

import math

import numpy as np
import pytest

from dplasso import PrivateLassoClassifier, PrivateLassoRegressor, audit
from dplasso.audit.account import epsilon_of_search
from dplasso.audit.checks import generator as keys
from dplasso.audit.reference import CANDIDATES, Claim, Table, law_of_bound, sizes_of_rows
from dplasso.data.row_medians import entries_of, row_medians
from dplasso.fitting import private_bound
from dplasso.mechanisms.private_quantile import exponents_of
from dplasso.privacy import trials
from planted import BUGS, ONCE_MISSED, one_check_each


@pytest.mark.parametrize(
    ("name", "check"), one_check_each({name: BUGS[name] for name in ONCE_MISSED})
)
def test_what_was_once_missed_is_found(monkeypatch, name, check):
    BUGS[name].plant(monkeypatch)
    report = audit.run(BUGS[name].estimator(), checks=[check], seed=0)
    assert {verdict.check for verdict in report.alarms} == {check}


def test_every_slip_is_expected_to_be_found():
    assert all(set(bug.found_by) <= set(audit.CHECKS) and bug.found_by for bug in BUGS.values())
    assert set(ONCE_MISSED) <= set(BUGS)


def test_correct_code_is_quiet():
    checks = ["accounting", "bound", "generator", "parties", "search"]
    report = audit.run(checks=checks, seed=1)
    assert report.passed, str(report)
    assert {verdict.check for verdict in report} == set(checks)


@pytest.mark.parametrize("row_map", ["auto", "sqrt"])
def test_an_estimator_whose_bound_is_released_is_audited(row_map):
    model = PrivateLassoRegressor(x_bound="private", row_map=row_map, radius=2.0, max_iter=4)
    report = audit.run(model, checks=["accounting", "range", "bound"], seed=0)
    assert report.passed, str(report)
    assert "bound" in {verdict.check for verdict in report}
    (facts,) = report.facts["estimators"]
    assert any("x_bound is released" in note for note in facts["notes"])
    assert model.x_bound == "private"


def test_streams_have_no_bound_to_release():
    stream = audit.example_estimators("online")[0]
    with pytest.raises(ValueError, match="checks must fit the estimator"):
        audit.run(stream, checks=["bound"])


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_the_law_of_a_bound_computed_twice_is_the_same(relation):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 6)) * 2.0 ** rng.uniform(-9, 9, (50, 1)) * (rng.random((50, 6)) < 0.5)
    numbers = row_medians(entries_of(X))
    sizes = sizes_of_rows(X)
    assert np.array_equal(np.sort(numbers), np.sort(sizes[sizes > 0.0]))
    claim = Claim(
        loss="logistic", outputs=1, epsilon=1.0, delta=1e-6, neighboring=relation, y_bound=1.0
    )
    exponents = exponents_of(numbers, private_bound.CANDIDATES, private_bound.SHARE, 0.7, relation)
    weights = np.exp(-np.array([float(exponent) for exponent in exponents]))
    assert np.array_equal(CANDIDATES, private_bound.CANDIDATES)
    assert np.allclose(
        weights / weights.sum(), law_of_bound(Table(X, np.zeros(50)), 0.7, claim), rtol=1e-12
    )


@pytest.mark.parametrize("law", ["logarithmic", "geometric"])
@pytest.mark.parametrize("mean", [1.5, 20.0])
@pytest.mark.parametrize("rho", [1e-4, 0.03, 2.0])
def test_the_cost_of_a_search_computed_twice_is_the_same(law, mean, rho):
    stop = trials.stop_for(mean, law)
    found = epsilon_of_search(rho, 1e-6, stop, law)
    assert math.isclose(found, trials.epsilon_of(rho, 1e-6, stop, law), rel_tol=1e-7)


def test_bytes_of_a_key_that_are_not_asked_for_or_not_used_are_counted():
    assert keys.idle_bytes(lambda source: source.bytes(32)) == 0
    assert keys.idle_bytes(lambda source: source.bytes(4) * 8) == 28
    assert keys.idle_bytes(lambda source: source.bytes(32)[:20]) == 12
    assert keys.idle_bytes(lambda source: source.bytes(16) + source.bytes(16)) == 0


def test_bytes_of_the_system_are_counted():
    model = PrivateLassoClassifier()
    assert keys.fewest_system_bytes(model._random_bits) >= 32
    assert keys.fewest_system_bytes(lambda: None) == 0
