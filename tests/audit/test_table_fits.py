"""The table solver under audit: a reference that agrees, a tight canary, bugs that are found."""

import math

import numpy as np
import pytest

from dplasso import PrivateLassoClassifier, PrivateLassoRegressor, audit
from dplasso.audit.descent import data as rows_of_descents
from dplasso.audit.examples import subject_of
from dplasso.audit.session import Session
from dplasso.audit.table import reference
from dplasso.audit.table.facts import TableRows
from dplasso.audit.table.subject import TableSubject
from dplasso.data.sparse_bounds import SparseBounds
from dplasso.mechanisms.random_bits import random_bits
from dplasso.solvers.table import replay
from planted import BUGS

OWN = {name: bug for name, bug in BUGS.items() if bug.solver == "table"}
RELATIONS = ("add_remove", "replace_one")
FAST = ["accounting", "sensitivity", "release"]


@pytest.fixture
def fewer_runs(monkeypatch):
    """As many as these bugs need, where a quick audit makes more."""
    monkeypatch.setattr(TableSubject, "noise_runs", 25)
    monkeypatch.setattr(TableSubject, "canary_runs", 3)


def session_of(estimator, seed=0):
    return Session(
        subject=TableSubject(estimator),
        rng=np.random.default_rng(seed),
        bits=random_bits(seed),
        error=1e-6,
        seconds=60.0,
        thorough=False,
        tell=lambda part: None,
    )


@pytest.mark.parametrize("name", OWN)
def test_a_planted_bug_is_found(monkeypatch, fewer_runs, name):
    bug = OWN[name]
    bug.plant(monkeypatch)
    report = audit.run(bug.estimator(), checks=list(bug.found_by), seed=0)
    assert {verdict.check for verdict in report.alarms} == set(bug.found_by)


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("relation", RELATIONS)
def test_correct_code_does_not_alarm(fewer_runs, place, relation):
    estimator = audit.example_estimators("table", neighboring=relation)[place]
    report = audit.run(estimator, seed=place, checks=[*FAST, "bound", "bits", "noise", "canary"])
    assert report.passed, str(report)


MIXED = [(0.0, 1.0), (18.0, 100.0), (-3.0, 5.0), *[1.0] * 1200, *[2.5] * 100]


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("relation", RELATIONS)
def test_wide_columns_beside_a_table_are_audited(fewer_runs, place, relation):
    options = {"neighboring": relation, "x_bound": MIXED}
    estimator = audit.example_estimators("table", **options)[place]
    report = audit.run(estimator, seed=place, checks=[*FAST, "noise", "canary"])
    assert report.passed, str(report)
    assert any("presences" in verdict.tested for verdict in report if verdict.check == "noise")
    session = session_of(estimator)
    scores, details = session.subject.attack(session)(0, 2, session)
    least = 0.7 if relation == "replace_one" else 0.85
    claimed = session.subject.facts.mu
    assert least * claimed <= details["mu_of_the_row"] <= claimed and scores.shape == (300, 3)


def test_the_reference_finds_the_model_of_the_solver_beside_wide_columns():
    subject = TableSubject(audit.example_estimators("table", x_bound=MIXED)[0])
    rng = np.random.default_rng(0)
    prepared = subject.prepare(*rows_of_descents.random_rows(subject.columns, subject.facts, rng))
    followed = prepared.followed(prepared.releases(random_bits(0)))
    weights = prepared.fitted.weights.toarray()
    taken = np.count_nonzero(weights[0, subject.facts.n_ranges :])
    assert taken > 5  # wide columns
    both = np.append(weights.ravel(), prepared.fitted.intercepts)
    assert followed.result == pytest.approx(both, rel=1e-6, abs=1e-6)


def test_the_storage_of_rows_is_audited():
    report = audit.run(audit.example_estimators("table")[1], seed=0, checks=["representation"])
    assert report.passed, str(report)
    assert all(verdict.runs > 100 for verdict in report)


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize(
    ("relation", "row_map", "share"),
    [
        # Cells, labels, corrections and intercepts belong to no column: 85 % of mu^2 are left.
        ("add_remove", "as_is", 0.9),
        ("add_remove", "presence", 0.9),
        # Opposite rows have the same products, and spreads that are not opposite.
        ("replace_one", "as_is", 0.7),
    ],
)
def test_the_canary_is_almost_all_that_a_row_can_be(place, relation, row_map, share):
    """Every column of a fit is a run, whose likelihood ratio shows less than the claim."""
    options = {"neighboring": relation, "row_map": row_map}
    session = session_of(audit.example_estimators("table", **options)[place])
    scores, details = session.subject.attack(session)(0, 2, session)
    claimed = session.subject.facts.mu
    assert share * claimed <= details["mu_of_the_row"] <= claimed
    assert scores.shape == (400, 3)


def test_scores_follow_the_law_of_a_likelihood_ratio():
    """Normal, of mean mu^2 / 2 with the canary, -mu^2 / 2 without, and variance mu^2."""
    session = session_of(audit.example_estimators("table")[0], seed=3)
    attack = session.subject.attack(session)
    for side, sign in enumerate((1.0, -1.0)):
        scores, details = attack(side, 2, session)
        total = scores[:, 0]
        if side == 0:
            mu = details["mu_of_the_row"]
        assert abs(total.mean() - sign * mu**2 / 2.0) < 4.5 * mu / math.sqrt(len(total))
        assert total.std() == pytest.approx(mu, rel=0.2)


def test_most_of_the_claim_is_certified_and_never_more():
    for place in range(3):
        estimator = audit.example_estimators("table")[place]
        of_epsilon, of_mu = audit.run(estimator, checks=["canary"], seed=place)
        assert 0.5 < of_mu.details["share_of_claim"] < 1.0
        assert 0.0 < of_epsilon.details["share_of_claim"] < 1.0


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("epsilon", [0.02, 1.0, 8.0])
def test_the_reference_finds_the_model_of_the_solver(place, epsilon):
    """Also where products are hidden by noise, and where nothing but a constant is released."""
    subject = TableSubject(audit.example_estimators("table", epsilon=epsilon)[place])
    table = rows_of_descents.random_rows(5, subject.facts, np.random.default_rng(place))
    prepared = subject.prepare(*table)
    followed = prepared.followed(prepared.releases(random_bits(place)))
    weights = prepared.fitted.weights.toarray()
    assert np.allclose(followed.result[: weights.size], weights.ravel(), rtol=1e-9)
    assert np.allclose(followed.result[weights.size :], prepared.fitted.intercepts, rtol=1e-9)
    rows = TableRows.of(table, subject.facts)
    assert max(release.gap(rows) for release in followed.releases) < 0.01
    plan, loss = prepared.task.plan.table, prepared.task.plan.request.loss
    solution = replay(plan, loss, [release.released for release in followed.releases])
    correction = prepared.fitted.correction
    scale = 1.0 if correction is None else correction.scale
    assert np.allclose(scale * solution.weights / 2.0, weights, rtol=1e-12)


def test_noise_that_the_reference_does_not_expect_is_counted():
    subject = TableSubject(audit.example_estimators("table")[0])
    prepared = subject.prepare(*subject.usual_rows(np.random.default_rng(0)))
    records = prepared.releases(random_bits(0))
    assert prepared.followed(records).beyond == 0
    assert prepared.followed([*records, records[0]]).beyond == 1
    assert prepared.followed(records[1:]).beyond == len(records) - 1
    assert prepared.followed(records[:-1]).beyond == 1
    kinds = [release.kind for release in prepared.followed(records).releases]
    assert kinds.count(reference.STEPS) == prepared.course.steps
    assert kinds[-2:] == [reference.CORRECTIONS] * 2


@pytest.mark.parametrize(
    "estimator",
    [
        PrivateLassoRegressor(
            8.0, solver="table", x_bound=[(0.0, 120.0), (-3.0, 5.0), (9.0, 9.0)], y_bound=7.0
        ),
        PrivateLassoClassifier(
            solver="table", x_bound={"a": (0.0, 1.0), "b": 2.0}, row_map="sqrt", classes=[0, 1]
        ),
        PrivateLassoClassifier(
            0.02, 1e-9, solver="table", classes=[3, 5, 9, 11], neighboring="replace_one", n_rows=50
        ),
        PrivateLassoClassifier(solver="table", n_nonzero=3, classes=["no", "yes"], n_rows=10**6),
        PrivateLassoClassifier(solver="table", loss="hinge", classes=[0, 1]),
        PrivateLassoRegressor(
            solver="table",
            x_bound=np.geomspace(0.01, 10.0, 40),
            residual_bound=0.2,
            neighboring="replace_one",
            n_rows=10**6,
        ),
        PrivateLassoRegressor(solver="table", row_map="blend", residual_bound=math.inf),
    ],
    ids=range(7),
)
def test_any_configuration_can_be_audited(fewer_runs, estimator):
    report = audit.run(estimator, seed=1, checks=[*FAST, "noise", "canary"])
    assert report.passed, str(report)


def test_ranges_of_columns_are_audited():
    subject = subject_of(PrivateLassoRegressor(solver="table", x_bound=[(0.0, 2.0), (-1.0, 1.0)]))
    assert any("of 2 ranges of columns" in note for note in subject.notes)
    low, high = subject.facts.ends(30)
    assert set(zip(low, high, strict=True)) == {(0.0, 2.0), (-1.0, 1.0)}


def test_thorough_audits_vary_a_table():
    estimator = audit.example_estimators("table")[1]
    report = audit.run(estimator, mode="thorough", seconds=0.1, seed=0, checks=["accounting"])
    assert report.passed, str(report)
    assert [fact["name"] for fact in report.facts["estimators"]] == [
        "regressor, table",
        "regressor, table, replace_one",
        "regressor, table, squared loss",
        "regressor, table, row map presence",
        "regressor, table, row map sqrt",
        "regressor, table, row map blend",
        "regressor, table, people",
    ]


def test_a_fitted_model_is_audited_by_the_solver_that_fitted_it():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (4000, 5)), np.arange(4000) % 2
    public = {"classes": [0, 1], "n_rows": 4000, "x_bound": 1.0}
    model = PrivateLassoClassifier(4.0, **public).fit(X, y)
    assert model.solver_ == "table" and model.solver == "auto"
    report = audit.run(model, checks=["accounting"], seed=0)
    assert report.passed and {verdict.estimator for verdict in report} == {"classifier, table"}


def test_a_model_of_numbers_and_hashed_columns_is_audited_with_bounds_for_both():
    bounds = SparseBounds(5, {0: 100.0}, {0: (18.0, 100.0)})
    public = {"classes": [0, 1], "n_rows": 4000, "x_bound": bounds}
    model = PrivateLassoClassifier(4.0, **public)
    report = audit.run(model, checks=["sensitivity", "release"], seed=0)
    assert report.passed, str(report)
