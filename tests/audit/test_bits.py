"""Noise that is used twice is found: within a fit, between fits, threads, and after a fork."""

import numpy as np
import pytest

import planted
from dplasso import audit
from dplasso.audit.checks.bits import RUN, _repeated
from dplasso.audit.selection import law, subject
from planted import bits, bugs_of

BUGS = {name: bug for name, bug in bugs_of(bits).items() if "blind" not in name}
FOUND = [(name, check) for name, bug in BUGS.items() for check in bug.found_by]


@pytest.mark.parametrize(("bug", "check"), FOUND)
def test_a_planted_bug_is_found(monkeypatch, bug, check):
    monkeypatch.setitem(subject.LONG_ROUNDS, "lazy", 20_000)
    BUGS[bug].plant(monkeypatch)
    report = audit.run(BUGS[bug].estimator(), checks=[check], seed=0, seconds=600.0)
    assert {verdict.check for verdict in report.alarms} == {check}


@pytest.mark.parametrize("solver", ["frank_wolfe", "gradient", "table", "select", "online"])
@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
def test_correct_code_does_not_alarm(solver, neighboring):
    estimators = audit.example_estimators(solver, neighboring=neighboring)
    report = audit.run(estimators, checks=["bits"])
    assert report.passed, str(report)
    assert len(report.verdicts) == 6 * len(estimators)
    assert all(verdict.figure == 0.0 for verdict in report)


@pytest.mark.parametrize("selection", ["noisy_max", "big_step_little_step"])
def test_other_rules_do_not_alarm_either(selection):
    estimator = audit.example_estimators(selection=selection)[0]
    assert audit.run(estimator, checks=["bits"]).passed


@pytest.mark.parametrize("checks", [("bits", "law"), ("law", "bits")])
def test_words_drawn_once_are_found_whichever_check_draws_them(monkeypatch, checks):
    """The words of `bits` are secure and differ in every run, those of `law` have a seed."""
    monkeypatch.setattr(law, "RUNS", 120)
    bug = planted.BUGS["blind: words ahead drawn once"]
    assert set(bug.found_by) == set(checks)
    bug.plant(monkeypatch)
    for check in checks:
        report = audit.run(bug.estimator(), checks=[check], seed=0)
        assert {verdict.check for verdict in report.alarms} == {check}


def test_runs_are_counted_wherever_they_come_again():
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, 1 << 15, 5_000)
    assert _repeated([drawn]) == 0
    assert _repeated([drawn, drawn[::-1]]) == 0
    again = np.concatenate([drawn, rng.integers(0, 1 << 15, 50), drawn[700 : 700 + RUN]])
    assert _repeated([again]) == 1
    assert _repeated([again[:-1]]) == 0
    assert _repeated([drawn, drawn[100:200]]) == 100 - RUN + 1
    assert _repeated([drawn, drawn[: RUN - 1]]) == 0
