"""An audit as people run it: what it takes, what it refuses, what it reports."""

import json
import math
import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import dplasso
from dplasso import PrivateLassoClassifier, PrivateLassoRegressor, Sparsifier, audit
from dplasso.audit import runner
from dplasso.audit import session as session_module
from dplasso.audit.few import law as few_law
from dplasso.audit.registry import SUBJECTS
from dplasso.audit.selection import count, envelope, law
from dplasso.audit.selection import subject as selection_subject
from dplasso.audit.subject import NoisySubject
from dplasso.audit.verdict import AuditReport, Verdict
from planted import BUGS

FAST = ["accounting", "range", "sensitivity", "release"]


@pytest.fixture(autouse=True)
def few_runs(monkeypatch):
    for module in (law, few_law, count):
        monkeypatch.setattr(module, "RUNS", 100)
    for solver in ("frank_wolfe", "gradient"):
        monkeypatch.setattr(SUBJECTS[solver], "canary_runs", 100)
        monkeypatch.setattr(SUBJECTS[solver], "tries", 10)
    for solver, runs in (("table", 3), ("select", 40), ("online", 20)):
        monkeypatch.setattr(SUBJECTS[solver], "canary_runs", runs)


class Budget:
    def __init__(self):
        self.charged = 0

    def charge(self, event, *, delta, neighboring, label):
        self.charged += 1


@pytest.mark.parametrize(
    "estimator",
    [
        PrivateLassoClassifier(),
        PrivateLassoClassifier(classes=["no", "yes"], epsilon=0.1, delta=1e-9, n_rows=10**6),
        PrivateLassoClassifier(classes=[3, 5, 9, 11], fit_intercept=False, max_iter=1, radius=0.01),
        PrivateLassoClassifier(classes=[0, 1], epsilon=20.0, max_iter=3, radius=50.0, n_nonzero=2),
        PrivateLassoClassifier(
            classes=[0, 1], x_bound=dict.fromkeys("abc", 0.25) | {"d": 4.0}, max_iter=4, radius=2.0
        ),
        PrivateLassoClassifier(
            classes=[0, 1, 2], n_nonzero=Sparsifier(low=50, high=90), neighboring="replace_one"
        ),
        PrivateLassoClassifier(
            classes=[0, 1], x_bound=[(0, 120), 1.0, (70, 90), (0, 1)], solver="frank_wolfe"
        ),
        PrivateLassoClassifier(
            classes=[0, 1],
            x_bound=dict(zip("abcd", [(0, 120), 1.0, (70, 90), (0, 1)], strict=True)),
            solver="gradient",
            row_map="presence",
        ),
        PrivateLassoRegressor(x_bound=7.0, y_bound=100.0, selection="noisy_max"),
        PrivateLassoRegressor(
            x_bound=np.geomspace(0.01, 10.0, 40), residual_bound=math.inf, max_iter=4, radius=0.5
        ),
        PrivateLassoRegressor(selection="big_step_little_step", neighboring="replace_one"),
        PrivateLassoClassifier(row_map="presence", x_bound=5.0),
        PrivateLassoRegressor(row_map="sqrt", x_bound=np.geomspace(0.5, 9.0, 12), radius=0.5),
        PrivateLassoClassifier(solver="gradient", neighboring="replace_one"),
        PrivateLassoClassifier(
            classes=[3, 5, 9, 11], solver="gradient", row_map="sqrt", n_nonzero=5
        ),
        PrivateLassoRegressor(0.1, 1e-9, solver="gradient", row_map="as_is", n_rows=10**6),
        PrivateLassoRegressor(
            solver="gradient", row_map="sqrt", x_bound=np.linspace(0.1, 5.0, 20), y_bound=3.0
        ),
        PrivateLassoRegressor(
            solver="gradient",
            row_map="as_is",
            x_bound=np.geomspace(0.01, 10.0, 40),
            residual_bound=0.2,
            neighboring="replace_one",
            n_rows=20,
        ),
        PrivateLassoClassifier(20.0, solver="auto", classes=["no", "yes"]),
    ],
    ids=range(19),
)
def test_any_configuration_can_be_audited(estimator):
    before = estimator.get_params()
    report = audit.run(estimator, seed=1, checks=FAST)
    assert report.passed, str(report)
    assert estimator.get_params() == before
    assert not hasattr(estimator, "privacy_")


@pytest.mark.parametrize(
    ("selection", "place"),
    [("lazy", 2), ("noisy_max", 1), ("big_step_little_step", 0), ("big_step_little_step", 2)],
)
def test_laws_of_all_rules_where_rows_are_replaced(selection, place):
    estimators = audit.example_estimators(selection=selection, neighboring="replace_one")
    report = audit.run(estimators[place], seed=2, checks=["law", "canary"])
    assert report.passed, str(report)


@pytest.mark.parametrize("solver", SUBJECTS)
def test_an_example_is_a_subject_of_its_own_solver(solver):
    for estimator in audit.example_estimators(solver):
        subject = audit.examples.subject_of(estimator)
        assert type(subject) is SUBJECTS[solver]
        assert subject.to_dict()["solver"] == solver


def test_a_private_count_is_audited_where_there_is_one():
    with_count, without = audit.example_estimators()[:2]
    report = audit.run([with_count, without], checks=["count"], seed=0)
    assert {verdict.estimator for verdict in report} == {"classifier"}
    assert report.passed
    with pytest.raises(ValueError, match="checks must fit the estimator"):
        audit.run(without, checks=["count"])


def test_estimators_of_a_kind_are_told_apart():
    lasso = PrivateLassoRegressor(solver="frank_wolfe")
    report = audit.run([lasso, lasso], checks=["accounting"])
    assert {verdict.estimator for verdict in report} == {"1: regressor", "2: regressor"}


def test_strict_mode_does_not_stand_in_the_way(monkeypatch):
    monkeypatch.setenv("DPLASSO_STRICT", "1")
    assert audit.run(PrivateLassoClassifier(), checks=[*FAST, "generator"], seed=0).passed


def test_nobodys_budget_is_spent():
    budget = Budget()
    with pytest.raises(ValueError, match="accountant.*accountant=None"):
        audit.run(PrivateLassoClassifier(accountant=budget))
    assert budget.charged == 0


@pytest.mark.parametrize(
    ("estimator", "match"),
    [
        (PrivateLassoClassifier(math.inf), "epsilon=inf.*finite epsilon"),
        (LogisticRegression(), "PrivateOnlineRegressor, got LogisticRegression"),
        (PrivateLassoClassifier(epsilon=-1.0), "epsilon must be a number above 0"),
    ],
)
def test_what_cannot_be_audited_is_refused(estimator, match):
    with pytest.raises(ValueError, match=match):
        audit.run(estimator)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"mode": "fast"}, "mode must be 'quick' or 'thorough'"),
        ({"checks": ["laws"]}, "checks must be a list of some of 'accounting', "),
        ({"checks": "law"}, "checks must be a list"),
        ({"checks": []}, "checks must be a list"),
        ({"seconds": 0}, "seconds must be a finite number above 0"),
        ({"seed": -1}, "seed must be an integer"),
    ],
)
def test_bad_options_are_named(options, match):
    with pytest.raises(ValueError, match=match):
        audit.run(**options)


def test_a_seed_repeats_an_audit(monkeypatch):
    monkeypatch.setattr(envelope, "ROUNDS", 60)
    monkeypatch.setattr(NoisySubject, "noise_runs", 20)
    monkeypatch.setitem(selection_subject.LONG_ROUNDS, "lazy", 20_000)
    estimator = audit.example_estimators()[0]
    checks = [name for name in audit.CHECKS if name not in ("generator", "parties")]
    one, again = (audit.run(estimator, seed=5, checks=checks) for _ in range(2))
    assert one.to_json() == again.to_json()
    other = audit.run(estimator, seed=6, checks=["law"])
    figures = [verdict.figure for verdict in one if verdict.check == "law"]
    assert figures != [verdict.figure for verdict in other]


def test_false_alarms_are_shared_out():
    report = audit.run(seed=0, checks=["law", "canary", "accounting"])
    assert sum(verdict.error for verdict in report) == pytest.approx(runner.FALSE_ALARM)
    assert all(verdict.limit == verdict.error for verdict in report if verdict.check == "law")


def test_thorough_audits_vary_the_configuration():
    report = audit.run(
        audit.example_estimators()[1], mode="thorough", seconds=0.5, seed=0, checks=FAST
    )
    assert report.passed, str(report)
    assert [fact["name"] for fact in report.facts["estimators"]] == [
        "regressor",
        "regressor, replace_one",
        "regressor, noisy_max",
        "regressor, big_step_little_step",
        "regressor, squared loss",
        "regressor, row map presence",
        "regressor, row map sqrt",
        "regressor, row map blend",
        "regressor, people",
    ]


@pytest.mark.parametrize(
    ("thorough", "each", "runs"),
    [(False, 0.001, 500), (False, 0.1, 500), (True, 0.001, 20_000), (True, 10.0, 100)],
)
def test_time_fixes_the_number_of_runs_beforehand(monkeypatch, thorough, each, runs):
    """20 seconds, and a clock that moves by what a run takes; 500 runs are wanted in quick mode."""
    clock = [0.0]
    monkeypatch.setattr(session_module.time, "monotonic", lambda: clock[0])

    def pilot(count):
        clock[0] += each * count

    session = audit.Session(
        subject=None, rng=None, bits=None, error=0.1, seconds=20.0, thorough=thorough, tell=None
    )
    assert session.runs(500, pilot) == pytest.approx(runs, abs=1)


def test_the_report_is_a_table_and_a_document(monkeypatch):
    BUGS["theta doubled"].plant(monkeypatch)
    report = audit.run(checks=["accounting"], seed=0)
    lines = str(report).splitlines()
    place = lines[0].index("verdict")
    for line, verdict in zip(lines[1:], report, strict=False):
        assert line[place:] == ("passed" if verdict.passed else "ALARM")
        assert line.startswith(f"accounting  {verdict.estimator} ")
    assert any(line.startswith("ALARM in ") for line in lines)
    assert lines[-1].startswith("Release nothing") and "not a proof" not in str(report)
    document = json.loads(report.to_json())
    assert document["passed"] is False
    assert document["version"] == dplasso.__version__
    assert len(document["verdicts"]) == len(report)
    assert [entry["passed"] for entry in document["verdicts"]] == [v.passed for v in report]


@pytest.mark.parametrize(
    ("figure", "alarm", "passed"),
    [(1.0, "above", True), (1.1, "above", False), (1.0, "below", True), (0.9, "below", False)],
)
def test_a_verdict_is_passed_on_its_side_of_the_limit(figure, alarm, passed):
    assert Verdict("check", "it", "this", figure, 1.0, alarm=alarm).passed is passed


@pytest.mark.parametrize("figure", [math.nan, math.inf])
def test_no_figure_is_an_alarm(figure):
    verdict = Verdict("check", "it", "this", figure, 1.0)
    assert not verdict.passed
    assert json.loads(AuditReport((verdict,), {}).to_json())["verdicts"][0]["figure"] == str(figure)


def test_more_checks_can_be_added(monkeypatch):
    class Always(audit.Check):
        name = "always"
        once = True

        def run(self, session):
            yield Verdict(self.name, session.subject.name, "whether it is asked", 2.0, 1.0)

    monkeypatch.setitem(audit.CHECKS, "always", Always())
    report = audit.run(checks=["always"])
    assert len(report) == 1
    assert not report.passed


def test_an_audit_does_not_warn_that_its_own_data_are_small():
    model = PrivateLassoClassifier(classes=[0, 1], n_rows=40_000, x_bound=1.0, solver="table")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert audit.run(model, checks=["accounting"], seed=0).passed
