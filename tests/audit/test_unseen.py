"""Faults that a check once let through, because it compared nothing or only a part: found now."""

import math

import numpy as np
import pytest

from dplasso import audit
from dplasso.audit import account
from dplasso.audit.checks import bits
from dplasso.audit.descent.recording import Recorded, shares_of_charges
from dplasso.audit.verdict import Verdict
from planted import BUGS, UNSEEN, one_check_each


@pytest.mark.parametrize(("name", "check"), one_check_each({name: BUGS[name] for name in UNSEEN}))
def test_a_planted_bug_is_found(monkeypatch, name, check):
    BUGS[name].plant(monkeypatch)
    report = audit.run(BUGS[name].estimator(), checks=[check], seed=0)
    assert {verdict.check for verdict in report.alarms} == {check}


def test_a_check_without_a_verdict_is_an_alarm(monkeypatch):
    class Silent(audit.Check):
        name = "silent"

        def run(self, session):
            yield from ()

    monkeypatch.setitem(audit.CHECKS, "silent", Silent())
    report = audit.run(audit.example_estimators()[0], checks=["silent", "accounting"], seed=0)
    (alarm,) = report.alarms
    assert alarm.check == "silent"


def test_walks_by_another_rule_are_an_alarm_of_the_envelope(monkeypatch):
    BUGS["lazy rule replaced, a sign in a thousand read"].plant(monkeypatch)
    report = audit.run(audit.example_estimators()[0], checks=["envelope"], seed=0)
    assert [verdict.tested for verdict in report.alarms] == ["walks that another rule made"]


@pytest.mark.parametrize("rejected", [[0], [1], [0, 1]])
def test_threads_that_are_rejected_do_not_pass(rejected):
    asked = []

    def job():
        asked.append(None)
        if len(asked) - 1 in rejected:
            raise RuntimeError
        return np.arange(10)

    found = [len(drawn) for drawn in bits._at_once(job)]
    assert found == ([0, 0] if len(rejected) == 2 else [10, 10])


@pytest.mark.parametrize("values", [[math.nan], [math.inf], [-math.inf], [math.nan, math.inf]])
@pytest.mark.parametrize("side", [0, 1])
def test_scores_that_are_no_numbers_are_an_alarm(monkeypatch, values, side):
    subject = audit.examples.subject_of(audit.example_estimators("online")[0])
    right = type(subject).attack

    def attack(self, session):
        scored = right(self, session)

        def scores(at, runs, part):
            found, details = scored(at, runs, part)
            if at == side:
                found[: len(values), 0] = values
            return found, details

        return scores

    monkeypatch.setattr(type(subject), "attack", attack)
    report = audit.run(audit.example_estimators("online")[0], checks=["canary"], seed=0)
    assert report.alarms == report.verdicts
    assert report.verdicts[0].details["scores_not_finite"] == len(values)
    assert "scores_not_finite" in report.to_json()


def test_a_cost_that_is_no_number_stays_so():
    assert math.isnan(account.epsilon_at(math.nan, 1e-6))
    assert math.isnan(account.gaussian_epsilon(math.nan, 1e-6))
    one, other = ([Recorded(1.0, np.array([k]), np.array([0]))] * 2 for k in (0, 1))
    shares = shares_of_charges(one, other, [1.0, math.nan], ("a sum",))
    assert not Verdict("check", "it", "this", *shares.values(), 2.0).passed
