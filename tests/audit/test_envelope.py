"""The audit's look at bounds: what it reaches, what it finds, and that it takes seconds."""

import numpy as np
import pytest

from dplasso import PrivateLassoClassifier, PrivateLassoRegressor, audit
from dplasso.audit.selection import envelope
from planted import BUGS
from planted.envelope import cohort_scores_times, drift_times

FOUND = [name for name, bug in BUGS.items() if bug.found_by == ("envelope",)]
OPTIONS = {"checks": ["envelope"], "seconds": 600.0}


@pytest.fixture(autouse=True)
def short_walks(monkeypatch):
    monkeypatch.setattr(envelope, "ROUNDS", 60)


@pytest.mark.parametrize(
    "estimator",
    [
        *audit.example_estimators(),
        PrivateLassoClassifier(classes=[0, 1], row_map="presence", fit_intercept=False),
        PrivateLassoClassifier(
            classes=[0, 1], x_bound=np.geomspace(0.1, 3.0, 12).tolist(), solver="frank_wolfe"
        ),
        PrivateLassoRegressor(
            x_bound=7.0, y_bound=100.0, residual_bound=np.inf, solver="frank_wolfe"
        ),
        PrivateLassoRegressor(
            y_bound=1e-3, residual_bound=1e-5, neighboring="replace_one", solver="frank_wolfe"
        ),
    ],
    ids=range(7),
)
def test_correct_code_does_not_alarm(estimator):
    report = audit.run(estimator, seed=0, **OPTIONS)
    assert report.passed, str(report)
    reached = report.verdicts[0].details
    assert reached["light"] > 0 and reached["heavy"] > 10
    assert reached["head"] > 0 or report.verdicts[0].estimator == "multinomial"


def test_cohorts_are_reached():
    details = audit.run(audit.example_estimators()[0], seed=0, **OPTIONS).verdicts[0].details
    assert details["cohorts"] > 3


@pytest.mark.parametrize("name", FOUND)
def test_planted_bugs_are_found(monkeypatch, name):
    BUGS[name].plant(monkeypatch)
    assert not audit.run(BUGS[name].estimator(), seed=0, **OPTIONS).passed


@pytest.mark.parametrize("place", [1, 2])
def test_other_losses_are_no_hiding_place(monkeypatch, place):
    drift_times(0.5)(monkeypatch)
    assert not audit.run(audit.example_estimators()[place], seed=0, **OPTIONS).passed


@pytest.mark.parametrize("plant", [drift_times(0.9), cohort_scores_times(1.01)])
def test_small_faults_are_found_too(monkeypatch, plant):
    plant(monkeypatch)
    assert not audit.run(audit.example_estimators()[0], seed=0, **OPTIONS).passed


def test_other_rules_have_no_bounds_to_look_at():
    estimator = PrivateLassoClassifier(classes=[0, 1], selection="noisy_max")
    with pytest.raises(ValueError, match="checks must fit the estimator"):
        audit.run(estimator, **OPTIONS)
