"""The type of a table's column reaches no other row; where it would, the audit finds it."""

import pytest

from dplasso import audit
from planted import bugs_of, tables

BUGS = bugs_of(tables)


@pytest.mark.parametrize("bug", BUGS)
def test_a_slip_of_types_is_found(monkeypatch, bug):
    BUGS[bug].plant(monkeypatch)
    assert not audit.run(BUGS[bug].estimator(), checks=["tables"], seed=0).passed


def test_correct_code_does_not_alarm():
    report = audit.run(checks=["tables"], seed=0)
    (verdict,) = report
    assert report.passed and verdict.runs > 20


def test_an_alarm_names_the_types(monkeypatch):
    BUGS["times by unit"].plant(monkeypatch)
    (alarm,) = audit.run(checks=["tables"], seed=0).alarms
    assert "spans as duration[ms]" in alarm.details["found"]
    assert all(name.startswith(("times as", "spans as")) for name in alarm.details["found"])
