"""The audit of fits that protect people: what it compares, and what it finds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplasso import PrivateLassoClassifier, audit, load
from dplasso.audit import synthetic
from dplasso.audit.checks import people as check
from dplasso.audit.examples import subject_of
from dplasso.audit.reference import NOBODY, Claim, Table, row_shares
from dplasso.audit.registry import SUBJECTS
from dplasso.audit.subject import NoisySubject
from dplasso.data.row_weights import row_weights
from planted import BUGS, bugs_of, one_check_each, people

SOLVERS = ("frank_wolfe", "gradient", "table", "select")
# The canaries of descents make hundreds of fits: `make bench-planted_bugs` plants these, too.
SLOW = {("people: weights by row, in descents", "canary")}
FOUND = [case for case in one_check_each(bugs_of(people)) if case not in SLOW]
numbers = st.lists(st.integers(NOBODY, 6), min_size=1, max_size=60).map(np.array)


@pytest.fixture
def fewer_runs(monkeypatch):
    monkeypatch.setattr(check, "TRIES", 3)
    monkeypatch.setattr(check, "_CANARY_RUNS", 0.01)
    monkeypatch.setattr(NoisySubject, "noise_runs", 4)
    for solver in ("frank_wolfe", "gradient", "select"):
        monkeypatch.setattr(SUBJECTS[solver], "tries", 12)


@pytest.mark.parametrize(("bug", "check"), FOUND)
def test_a_planted_bug_is_found(monkeypatch, fewer_runs, bug, check):
    BUGS[bug].plant(monkeypatch)
    report = audit.run(BUGS[bug].estimator(), checks=[check], seed=0)
    assert {verdict.check for verdict in report.alarms} == {check}


def test_a_canary_with_several_rows_is_found_if_all_of_them_count(monkeypatch):
    people.weights_by_row(monkeypatch)
    subject = subject_of(BUGS["people: weights by row"].estimator())
    subject.tries = 1
    report = audit.run(subject.copy(), checks=["people"], seed=0)
    assert any("certified" in verdict.tested for verdict in report.alarms)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("relation", "k", "example"), [("add_remove", 2, 0), ("replace_one", 1, 1)]
)
def test_correct_fits_to_people_do_not_alarm(fewer_runs, solver, relation, k, example):
    estimator = audit.example_estimators(solver, neighboring=relation)[example]
    estimator.set_params(**subject_of(estimator).for_people(k), person="patient_id")
    asked = ["accounting", "range", "sensitivity", "release", "bound"]
    report = audit.run(estimator, checks=asked, seed=k)
    assert report.passed, str(report)
    assert report.to_dict()["estimators"][0]["unit"] == "person: patient_id"


@pytest.mark.parametrize(("solver", "example"), [("frank_wolfe", 2), ("table", 2), ("select", 1)])
def test_the_check_of_people_passes_on_correct_code(fewer_runs, solver, example):
    report = audit.run(audit.example_estimators(solver)[example], checks=["people"], seed=1)
    assert report.passed, str(report)
    tested = {verdict.tested for verdict in report}
    assert "rows of nobody that count" in tested and "certified epsilon, at least" in tested


def claim(k, class_weights=None):
    return Claim(
        loss="logistic",
        outputs=1,
        epsilon=1.0,
        delta=1e-6,
        neighboring="add_remove",
        y_bound=1.0,
        unit="person",
        rows_per_person=k,
        class_weights=class_weights,
    )


@given(numbers, st.integers(1, 4), st.booleans())
def test_shares_computed_twice_are_the_same(owners, k, by_class):
    y = np.arange(len(owners)) % 2
    of_class = np.array([0.3, 1.0]) if by_class else None
    table = Table(np.zeros((len(owners), 1)), y.astype(float), owners)
    shares = row_shares(table, claim(k, of_class))
    own = row_weights(owners, k, y if by_class else None, of_class)
    assert np.all(own <= shares) and np.allclose(own, shares, rtol=2.0**-39, atol=0.0)


@given(numbers, st.integers(0, 59), st.integers(0, 5))
def test_neighbours_differ_in_the_rows_of_one_person(owners, at, seed):
    rng, at = np.random.default_rng(seed), at % len(owners)
    table = Table(np.arange(len(owners))[:, None] * 1.0, np.zeros(len(owners)), owners)
    rest = synthetic.left(table, at)
    gone = np.setdiff1d(table.X[:, 0], rest.X[:, 0]).astype(int)
    alone = owners[at] == NOBODY
    assert np.array_equal(gone, [at] if alone else np.flatnonzero(owners == owners[at]))
    newcomer = Table(np.full((7, 1), -1.0), rng.random(7))
    more = synthetic.joined(rest, min(at, len(rest.y)), newcomer)
    is_new = more.X[:, 0] < 0.0
    assert np.sum(is_new) == 7 and len(set(more.people[is_new])) == 1
    assert not set(more.people[is_new]) & {*rest.people.tolist(), NOBODY}
    assert np.array_equal(more.people[~is_new], rest.people)


def test_rows_stay_rows_where_nobody_is_protected_as_a_person():
    subject = subject_of(audit.example_estimators("gradient")[0])
    table = subject.usual_rows(np.random.default_rng(0))
    assert table.people is None and subject.identifiers(5) is None
    newcomer = synthetic.newcomer(table.X[0], 1.0, subject.facts, np.random.default_rng(0))
    assert len(newcomer.y) == 1


def test_every_form_of_identifiers_has_the_same_weights_and_blanks_have_none():
    subject = check._version(
        subject_of(audit.example_estimators("frank_wolfe")[0]), "add_remove", 2, by_class=True
    )
    figures = check.weighed(subject, np.random.default_rng(0))
    assert len(figures) == 3 and all(figure == 0.0 for figure, _ in figures.values())


@pytest.mark.parametrize(
    "declared", [{}, {"n_rows": 200, "n_people": 60, "rows_per_person": 2, "person": "id"}]
)
def test_a_model_fitted_to_people_is_audited_as_one(tmp_path, fewer_runs, declared):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (200, 3)), rng.integers(0, 2, 200)
    model = PrivateLassoClassifier(epsilon=2.0, classes=[0, 1], x_bound=1.0, **declared)
    if not declared:
        with pytest.warns(UserWarning, match="number of people"):
            model.fit(X, y, groups=rng.integers(0, 50, 200))
    else:
        model.fit(X, y, groups=rng.integers(0, 50, 200))
    model.save(tmp_path / "model.dpl")
    report = audit.run(load(tmp_path / "model.dpl"), checks=["accounting", "release"], seed=0)
    assert report.passed, str(report)
    shown = report.to_dict()["estimators"][0]
    assert shown["unit"] == ("person: id" if declared else "person")
    assert shown["rows_per_person"] == declared.get("rows_per_person", 1)
