"""``dplasso audit``: its verdict is its exit code, its table lines up, its document is JSON."""

import json
import re
import sys

import numpy as np
import pytest

from dplasso import PrivateOnlineClassifier
from dplasso.audit.few import law as few_law
from dplasso.audit.registry import SUBJECTS
from dplasso.audit.runner import CHECKS
from dplasso.audit.selection import count, law
from dplasso.cli import app as application
from planted import BUGS

FAST = (
    *("--check", "accounting", "--check", "range", "--check", "sensitivity"),
    *("--estimator", "regressor", "--solver", "frank_wolfe"),
)


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command in this process; its exit code, output and complaints."""
    for module in (count, law, few_law):
        monkeypatch.setattr(module, "RUNS", 100)
    for subject in SUBJECTS.values():
        monkeypatch.setattr(subject, "canary_runs", min(subject.canary_runs, 100))

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["dplasso", "audit", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            application.main()
        return (end.value.code or 0, *capsys.readouterr())

    return command


def test_no_alarm(run, tmp_path):
    file = tmp_path / "audit.json"
    code, out, err = run("--seed", 1, "--output", file)
    assert code == 0 and "warning" not in out + err
    assert "No alarm in " in out
    assert "not a proof" in out
    document = json.loads(file.read_text())
    assert document["passed"] is True
    assert document["seed"] == 1
    assert [one["name"] for one in document["estimators"]] == [
        "classifier",
        "regressor",
        "multinomial",
        "classifier, gradient",
        "classifier, table",
        "classifier, select",
        "classifier, online",
    ]
    assert {one["check"] for one in document["verdicts"]} == set(CHECKS)
    table = out.splitlines()[: 1 + len(document["verdicts"])]
    place = table[0].index("verdict")
    assert {line[place:] for line in table[1:]} == {"passed"}


def test_an_alarm_has_an_exit_code_of_its_own(run, monkeypatch, tmp_path):
    BUGS["theta doubled"].plant(monkeypatch)
    file = tmp_path / "audit.json"
    code, out, _ = run(*FAST, "--output", file, "--quiet")
    assert code == 3
    assert "ALARM in " in out
    assert json.loads(file.read_text())["passed"] is False


def test_options_reach_the_estimator(run):
    claim = ("--epsilon", 0.5, "--delta", 1e-5, "--max-iter", 7, "--radius", 2, "--x-bound", 3)
    rest = ("--neighboring", "replace_one", "--selection", "noisy_max", "--no-intercept")
    code, out, _ = run(*FAST, *claim, *rest, "--json")
    assert code == 0
    (facts,) = json.loads(out)["estimators"]
    expected = {
        "epsilon": 0.5,
        "delta": 1e-5,
        "rounds": 7,
        "radius": 2.0,
        "x_bound": 3.0,
        "neighboring": "replace_one",
        "selection": "noisy_max",
        "fit_intercept": False,
    }
    assert {name: facts[name] for name in expected} == expected


def test_a_loss_is_that_of_classifiers_of_two_classes(run):
    code, out, _ = run("--loss", "hinge", "--check", "accounting", "--seed", 1, "--json")
    audited = json.loads(out)["estimators"]
    assert code == 0 and {one["loss"] for one in audited} == {"hinge"}
    assert {one["solver"] for one in audited} >= {"frank_wolfe", "gradient", "online"}
    code, _, err = run("--loss", "hinge", "--estimator", "regressor")
    assert code == 1 and "--loss is for classifiers" in err


def test_options_reach_a_descent(run):
    claim = ("--solver", "gradient", "--epsilon", 2, "--x-bound", 3, "--row-map", "sqrt")
    code, out, _ = run("--check", "accounting", *claim, "--neighboring", "replace_one", "--json")
    assert code == 0
    found = json.loads(out)["estimators"]
    assert [facts["name"] for facts in found] == [
        f"{kind}, gradient" for kind in ("classifier", "regressor", "multinomial")
    ]
    expected = {"epsilon": 2.0, "x_bound": 3.0, "row_map": "sqrt", "neighboring": "replace_one"}
    for facts in found:
        assert {name: facts[name] for name in expected} == expected


def test_a_kind_is_audited_by_all_solvers_and_in_streams(run):
    code, out, _ = run("--check", "accounting", "--estimator", "regressor", "--radius", 2, "--json")
    assert code == 0
    by_rounds, by_descent, of_tables, by_choice, of_streams = json.loads(out)["estimators"]
    assert (by_rounds["radius"], by_rounds["solver"]) == (2.0, "frank_wolfe")
    assert (by_descent["solver"], of_streams["solver"]) == ("gradient", "online")
    assert (by_choice["name"], by_choice["solver"]) == ("regressor, select", "select")
    assert (of_tables["name"], of_tables["solver"]) == ("regressor, table", "table")


def test_a_choice_is_audited_at_any_budget(run):
    claim = ("--solver", "select", "--epsilon", 0.1, "--neighboring", "replace_one")
    code, out, _ = run("--check", "accounting", *claim, "--json")
    assert code == 0
    found = json.loads(out)["estimators"]
    assert [facts["name"] for facts in found] == ["classifier, select", "regressor, select"]
    assert {facts["epsilon"] for facts in found} == {0.1}


def test_thorough_takes_minutes(run):
    code, out, _ = run(*FAST, "--thorough", "--minutes", 0.005, "--json")
    assert code == 0
    assert len(json.loads(out)["estimators"]) == 9


def test_quiet_says_nothing_without_alarm(run):
    assert run(*FAST, "--quiet")[:2] == (0, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--estimator", "forest"), "--estimator must be one of classifier, regressor"),
        (("--solver", "newton"), "--solver must be one of frank_wolfe, gradient"),
        (("--solver", "gradient", "--radius", 2), "--radius.* are for --solver frank_wolfe"),
        (("--solver", "online", "--max-iter", 3), "--max-iter.* are for --solver frank_wolfe"),
        (("--solver", "select", "--max-iter", 2), "--max-iter.* are for --solver frank_wolfe"),
        (("--solver", "select", "--estimator", "multinomial"), "select has no multinomial"),
        (("--row-map", "log"), "row-map must be one of"),
        (("--minutes", 3), "--minutes is for --thorough"),
        (("--thorough", "--minutes", -3), "--minutes must be a number above 0"),
        (("--check", "laws"), "checks must be a list of some of"),
        (("--epsilon", "inf"), "epsilon=inf"),
        (("--output", "/nowhere/audit.json"), "cannot be written"),
        (("--selection", "argmax"), "selection must be one of"),
    ],
)
def test_bad_options_are_refused(run, arguments, message):
    code, out, err = run(*arguments)
    assert code == 1
    assert re.search(message, err)
    assert out == ""


def test_streams_are_audited_by_name_or_from_a_saved_model(run, tmp_path):
    checks = ("--check", "accounting", "--check", "release", "--seed", 0)
    code, out, _ = run("--solver", "online", "--epsilon", 0.5, *checks)
    assert code == 0
    for kind in ("classifier", "regressor", "multinomial"):
        assert f"{kind}, online" in out
    model = PrivateOnlineClassifier(window=300, classes=[0, 1])
    model.fit(np.eye(4), [0, 1, 0, 1]).save(tmp_path / "m.dpl")
    code, out, _ = run("--model", tmp_path / "m.dpl", *checks, "--json")
    (facts,) = json.loads(out)["estimators"]
    assert code == 0 and (facts["name"], facts["window"]) == ("classifier, online", 300)
    code, _, err = run("--model", tmp_path / "m.dpl", "--solver", "online")
    assert code == 1 and "leave out --estimator, --solver and --loss" in " ".join(err.split())


def test_the_help_names_every_check_and_solver(run):
    _, out, _ = run("--help")
    assert not [name for name in (*CHECKS, *SUBJECTS) if name not in out]
