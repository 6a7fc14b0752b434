"""Streams under audit: planted bugs are found, correct code alarms nowhere, and how it is known."""

import math

import numpy as np
import pytest

import dplasso
from dplasso import PrivateOnlineClassifier, PrivateOnlineRegressor, audit
from dplasso.audit import session as session_module
from dplasso.audit.examples import subject_of
from dplasso.audit.stream import reference
from dplasso.audit.stream import subject as stream_subject
from dplasso.audit.stream.statistics import COLUMNS
from dplasso.audit.stream.subject import StreamSubject
from dplasso.domains import L1Ball
from dplasso.streams import running_sum
from exposure import exposure, telling_statistic
from planted import bugs_of, one_check_each, streams

BUGS = {name: bug for name, bug in bugs_of(streams).items() if "blind" not in name}
FOUND = one_check_each(BUGS)


@pytest.fixture(autouse=True)
def fewer_runs(monkeypatch):
    """As many as these bugs need."""
    monkeypatch.setattr(StreamSubject, "noise_runs", 40)
    monkeypatch.setattr(StreamSubject, "tries", 20)
    monkeypatch.setattr(session_module, "_PILOT", 4)
    monkeypatch.setattr(session_module, "_FEWEST", 20)


def classifier(*budget, **options):
    return PrivateOnlineClassifier(*budget, **{"classes": [0, 1], "window": 16, **options})


@pytest.mark.parametrize(("bug", "check"), FOUND)
def test_a_planted_bug_is_found(monkeypatch, bug, check):
    BUGS[bug].plant(monkeypatch)
    report = audit.run(classifier(**BUGS[bug].options), checks=[check], seed=0)
    assert {verdict.check for verdict in report.alarms} == {check}


@pytest.mark.parametrize(
    "estimator",
    [
        *audit.example_estimators("online"),
        *audit.example_estimators("online", neighboring="replace_one"),
        classifier(construction="window_tree", calibration="paper", window=10_000),
        classifier(noise="gamma", row_map="as_is", neighboring="replace_one"),
        classifier(10.0, loss="smoothed_hinge", domain="l1", learner="oracle", batch=7, window=99),
        classifier(batch=5000, window=10**6),
        classifier(construction="blocks", window=300),
        classifier(batch="call", domain=L1Ball(3, 1.0), feature_names=["a", "b"], window=5000),
        classifier(0.1, delta=1e-9, construction="band", domain="simplex", classes=list("abc")),
        PrivateOnlineClassifier(n_rows=10, batch=3, fit_intercept=False),
        PrivateOnlineRegressor(n_rows=10**6, batch="call", clip=0.5, y_bound=3.0, domain="box"),
        PrivateOnlineRegressor(noise="gamma", n_rows=100, calibration="paper"),
    ],
    ids=range(16),
)
def test_correct_code_does_not_alarm(monkeypatch, estimator):
    monkeypatch.setattr(stream_subject, "_LONG", {"gaussian": 300, "gamma": 60})
    monkeypatch.setattr(StreamSubject, "canary_runs", 30)
    before = estimator.get_params()
    # What parties and searches release, and how tables are read, depends on no estimator.
    own = [name for name in audit.CHECKS if name not in ("parties", "search", "tables")]
    report = audit.run(estimator, checks=own, seed=1)
    assert report.passed, str(report)
    assert estimator.get_params() == before and not hasattr(estimator, "_run")
    checks = {verdict.check for verdict in report}
    assert checks >= {"accounting", "sensitivity", "release", "generator", "noise"}
    assert ("canary" in checks) == (estimator.noise == "gaussian")


def test_a_saved_stream_is_audited_by_its_parameters(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), rng.integers(0, 2, 30)
    classifier(window=500, construction="tree").fit(X, y).save(tmp_path / "m.dpl")
    report = audit.run(dplasso.load(tmp_path / "m.dpl"), checks=["accounting", "noise"], seed=0)
    assert report.passed
    (facts,) = report.facts["estimators"]
    assert (facts["window"], facts["construction"]) == (500, "tree")
    assert facts["notes"] == ["streams of the audit have window = 16"]


@pytest.mark.parametrize(
    ("options", "match"),
    [({"epsilon": math.inf}, "epsilon=inf"), ({"window": 0}, "window must be")],
)
def test_refused(options, match):
    with pytest.raises(ValueError, match=match):
        audit.run(classifier(**options))


class Spends:
    def charge(self, event, **terms):
        raise AssertionError("an audit spends nobody's budget")


def test_nobodys_budget_is_spent():
    with pytest.raises(ValueError, match="accountant=None"):
        audit.run(classifier(accountant=Spends()))


@pytest.mark.parametrize("construction", ["buffered", "band", "tree", "window_tree"])
@pytest.mark.parametrize("length", [{"window": 8}, {"window": 7}, {"steps": 24}, {}])
def test_the_second_computation_agrees_with_the_first(construction, length):
    sums = running_sum(3, sensitivity=1.0, rho=0.5, construction=construction, **length)
    matrix, window = sums.noise.noise_matrix(24), length.get("window")
    told = reference.told_while_protected(matrix, window)
    assert told == pytest.approx(exposure(matrix, window), rel=1e-9)
    row = int(told.argmax())
    end = 24 if window is None else min(24, row + window)
    best = telling_statistic(matrix, row, window)
    assert reference.likelihood_weights(matrix, row, end) == pytest.approx(best[:end], rel=1e-6)


def test_a_row_without_noise_is_told_for_certain():
    matrix = np.eye(4)
    matrix[2] = 0.0
    assert reference.told(matrix, row=1) == math.inf == reference.told(matrix, row=1, norm=1)
    assert reference.told(matrix[:2], row=1) == 1.0


def test_shares_of_nodes_add_up():
    """Gamma noise: a row is in as many nodes as there are sizes, each an equal part of epsilon."""
    sums = running_sum(3, sensitivity=1.0, epsilon=1.5, noise="gamma", window=16)
    matrix = sums.noise.noise_matrix(40) / reference.gamma_deviation(3)
    assert reference.told_while_protected(matrix, 16, norm=1).max() == pytest.approx(1.5)


@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
@pytest.mark.parametrize("construction", ["buffered", "tree"])
def test_the_canary_is_told_as_well_as_a_row_can_be(neighboring, construction):
    """The shift of its score is what the noise says of the row that it hides least, nearly 1."""
    estimator = classifier(neighboring=neighboring, construction=construction)
    (verdict,) = audit.run(estimator, checks=["canary"], seed=3)
    details = verdict.details
    assert details["mu_of_the_row"] == pytest.approx(1.0, abs=1e-3)
    assert 0.75 < verdict.figure < 1.0 and 0.85 < details["at_95_percent"] < 1.05
    assert verdict.runs == 2 * COLUMNS * StreamSubject.canary_runs


def test_thorough_audits_vary_the_noise():
    names = [subject.name for subject in audit.examples.variations(classifier())]
    assert names == [
        "classifier, online",
        *("classifier, online, replace_one", "classifier, online, buffered"),
        *("classifier, online, blocks", "classifier, online, band", "classifier, online, tree"),
        *("classifier, online, window_tree", "classifier, online, noise gamma"),
        "classifier, online, calibration paper",
    ]


def test_windows_are_looked_at_as_long_as_they_are():
    facts = subject_of(classifier(window=100, batch=7)).facts
    assert facts.steps_protected == 15
    assert subject_of(classifier(batch="call")).facts.steps_protected == 16
