"""Each planted bug is found by every check that should find it, and correct code by none."""

import pytest

from dplasso import audit
from dplasso.audit import canary, count, law, range_test
from planted import BUGS

SEEDS = range(10)
FOUND = [(bug, check) for bug, (_, checks) in BUGS.items() for check in checks]
NEEDED_RUNS = {canary: 400, law: 120, count: 150}


@pytest.fixture
def fewer_runs(monkeypatch):
    """As many as these bugs need, where a quick audit makes several times more."""
    for module, runs in NEEDED_RUNS.items():
        monkeypatch.setattr(module, "RUNS", runs)
    monkeypatch.setattr(range_test, "NEIGHBOURS", 20)


@pytest.fixture(scope="module")
def classifier():
    return audit.example_estimators()[0]


@pytest.mark.parametrize(("bug", "check"), FOUND)
def test_a_planted_bug_is_found(monkeypatch, fewer_runs, classifier, bug, check):
    BUGS[bug].plant(monkeypatch)
    for seed in SEEDS:
        report = audit.run(classifier, checks=[check], seed=seed, seconds=600.0)
        assert not report.passed, seed
        assert {verdict.check for verdict in report.alarms} == {check}


@pytest.mark.parametrize("seed", SEEDS)
def test_correct_code_does_not_alarm(monkeypatch, fewer_runs, seed):
    monkeypatch.setattr(canary, "RUNS", 100)
    report = audit.run(seed=seed, seconds=600.0)
    assert report.passed, str(report)
    assert {verdict.check for verdict in report} == set(audit.CHECKS)
    assert {verdict.estimator for verdict in report} == {"classifier", "regressor", "multinomial"}


@pytest.mark.parametrize("place", [1, 2])
@pytest.mark.parametrize(
    ("bug", "check"),
    [("theta doubled", "accounting"), ("x not clipped", "range"), ("row counted twice", "range")],
)
def test_other_estimators_are_no_hiding_place(monkeypatch, fewer_runs, place, bug, check):
    BUGS[bug].plant(monkeypatch)
    estimator = audit.example_estimators()[place]
    assert not audit.run(estimator, checks=[check], seed=0).passed
