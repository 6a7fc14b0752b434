"""Each planted bug is found by a check that should find it, and correct code by none."""

import pytest

from dplasso import audit
from dplasso.audit import session as session_module
from dplasso.audit.few import law as few_law
from dplasso.audit.fit_subject import WIDE
from dplasso.audit.registry import SUBJECTS
from dplasso.audit.selection import count, law
from dplasso.audit.subject import NoisySubject
from dplasso.losses import LogisticLoss
from dplasso.solvers.gradient import plan_descent
from planted import (
    BUGS,
    bugs_of,
    choices,
    corrections,
    descents,
    frank_wolfe,
    one_check_each,
    rows,
)

# `make bench-planted_bugs` plants every bug with ten seeds and asks all checks that should find it.
# One of each shows that no check is broken.
SEED = 0
# Found by as many runs as a quick audit makes, and not by fewer.
SMALL = {
    "theta a tenth too large in the engine",
    "signs read in 5 % of rounds",
    "noise of the count halved",
    "entries clipped a thousandth too late",
    "rows a thousandth too long",
    "noise of sums a twentieth too small",
    "draws a twentieth too sharp",
}
FOUND = one_check_each(
    {
        name: bug
        for name, bug in bugs_of(frank_wolfe, rows, descents, choices, corrections).items()
        if name not in SMALL and "blind" not in name
    }
)
# Checks that are made of each estimator: the others do not depend on it.
EACH = [name for name, check in audit.CHECKS.items() if not check.once]
NEEDED_RUNS = {law: 120, count: 150, few_law: 150}
CANARY_RUNS = {"frank_wolfe": 400, "gradient": 200, "select": 100}
TRIES = {"frank_wolfe": 20, "gradient": 40, "select": 15, "online": 10}


@pytest.fixture
def fewer_runs(monkeypatch):
    """As many as these bugs need, where a quick audit makes several times more."""
    for module, runs in NEEDED_RUNS.items():
        monkeypatch.setattr(module, "RUNS", runs)
    for solver, runs in CANARY_RUNS.items():
        monkeypatch.setattr(SUBJECTS[solver], "canary_runs", runs)
    for solver, tries in TRIES.items():
        monkeypatch.setattr(SUBJECTS[solver], "tries", tries)
    monkeypatch.setattr(NoisySubject, "noise_runs", 20)
    monkeypatch.setattr(session_module, "_PILOT", 4)
    monkeypatch.setattr(session_module, "_FEWEST", 20)


@pytest.fixture
def fewest_runs(monkeypatch, fewer_runs):
    """Correct code has to pass whatever the number of runs."""
    for solver, runs in (("frank_wolfe", 100), ("gradient", 40), ("select", 20), ("online", 20)):
        monkeypatch.setattr(SUBJECTS[solver], "canary_runs", runs)


@pytest.mark.parametrize(("bug", "check"), FOUND)
def test_a_planted_bug_is_found(monkeypatch, fewer_runs, bug, check):
    BUGS[bug].plant(monkeypatch)
    classifier = audit.example_estimators(BUGS[bug].solver)[0]
    report = audit.run(classifier, checks=[check], seed=SEED)
    assert {verdict.check for verdict in report.alarms} == {check}


@pytest.mark.parametrize("place", [1, 2])
@pytest.mark.parametrize(
    ("bug", "check"),
    [
        ("theta doubled", "accounting"),
        ("x not clipped", "range"),
        ("row counted twice", "range"),
        ("mass not charged", "accounting"),
        ("rows not scaled", "sensitivity"),
        ("row weights from the exact mass", "release"),
        ("noise of one step", "canary"),
    ],
)
def test_other_estimators_are_no_hiding_place(monkeypatch, fewer_runs, place, bug, check):
    BUGS[bug].plant(monkeypatch)
    estimator = audit.example_estimators(BUGS[bug].solver)[place]
    assert not audit.run(estimator, checks=[check], seed=0).passed


@pytest.mark.parametrize(
    ("place", "neighboring", "row_map"),
    [
        (0, "replace_one", "presence"),
        (1, "add_remove", "as_is"),
        (1, "replace_one", "sqrt"),
        (2, "add_remove", "sqrt"),
    ],
)
def test_correct_descents_do_not_alarm(fewest_runs, place, neighboring, row_map):
    options = {"neighboring": neighboring, "row_map": row_map, "epsilon": 2.0, "x_bound": 3.0}
    estimator = audit.example_estimators("gradient", **options)[place]
    report = audit.run(estimator, seed=place, checks=EACH)
    assert report.passed, str(report)
    assert "canary" in {verdict.check for verdict in report}


def test_a_descent_that_holds_weights_back_is_a_function_of_its_releases():
    weak = audit.example_estimators("gradient", epsilon=0.05)[0]
    plan = plan_descent(LogisticLoss(), epsilon=0.05, delta=1e-6, n_rows=200, n_columns=WIDE)
    assert plan.held_back < 0.1
    assert audit.run(weak, checks=["release"], seed=0).passed


@pytest.mark.parametrize(
    ("place", "bug", "check"),
    [
        (0, "centre without noise", "canary"),
        (1, "draws for one sign", "range"),
        (1, "budget of the descent not reduced", "accounting"),
        (1, "rows not scaled", "sensitivity"),
    ],
)
def test_nor_are_choices(monkeypatch, fewer_runs, place, bug, check):
    BUGS[bug].plant(monkeypatch)
    estimator = audit.example_estimators("select")[place]
    assert not audit.run(estimator, checks=[check], seed=0).passed


@pytest.mark.parametrize(
    ("place", "neighboring", "row_map", "n_nonzero"),
    [
        (0, "replace_one", "presence", 1),
        (1, "add_remove", "as_is", 3),
        (1, "replace_one", "sqrt", 2),
    ],
)
def test_correct_choices_do_not_alarm(fewest_runs, place, neighboring, row_map, n_nonzero):
    options = {"neighboring": neighboring, "row_map": row_map, "epsilon": 6.0, "x_bound": 3.0}
    estimator = audit.example_estimators("select", n_nonzero=n_nonzero, **options)[place]
    report = audit.run(estimator, seed=place, checks=EACH)
    assert report.passed, str(report)
    assert {verdict.check for verdict in report} == set(EACH) - {"count", "envelope"}
