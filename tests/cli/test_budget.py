"""The ledger from the command line."""

import json
import os
import re

import numpy as np
import pytest

from dplasso import Budget, PrivateLassoClassifier, load
from dplasso.privacy.events import Gaussian, Selected, ZeroConcentrated
from dplasso.privacy.trials import rho_of as trial_rho
from dplasso.privacy.trials import stop_for
from dplasso.privacy.zcdp import epsilon_of, rho_of

CAP = ("--epsilon", 1, "--delta", 1e-6)


@pytest.fixture
def store(tmp_path, run):
    path = tmp_path / "budget.sqlite"
    assert run("budget", "init", path, *CAP, "-q") == (0, "", "")
    return path


def test_init_shows_what_may_be_spent(tmp_path, run):
    done = run("budget", "init", tmp_path / "b.sqlite", *CAP, "--json")
    facts = json.loads(done.out)
    assert (facts["epsilon"], facts["delta"], facts["neighboring"]) == (1.0, 1e-6, "add_remove")
    assert facts["spent_rho"] == 0.0 and facts["charges"] == 0
    assert run("budget", "init", tmp_path / "b.sqlite", *CAP).code == 0
    again = run("budget", "init", tmp_path / "b.sqlite", "--epsilon", 2, "--delta", 1e-6)
    assert again.code == 1 and "has epsilon = 1.0, not 2.0" in again.err
    assert "dplasso budget show, or name another store" in again.err and "Budget." not in again.err


@pytest.mark.parametrize(
    ("option", "rho"),
    [(("--epsilon", 0.1), 0.005), (("--rho", 0.002), 0.002), (("--noise-multiplier", 10), 0.005)],
)
def test_spending_is_charged_by_kind(store, run, option, rho):
    done = run("budget", "spend", store, "--label", "made elsewhere", *option, "--json")
    assert done.code == 0 and json.loads(done.out)["entry"] == 1
    assert Budget.open(store).spent_rho == pytest.approx(rho)


def test_spending_too_much_fails(store, run):
    done = run("budget", "spend", store, "--label", "too much", "--epsilon", 3)
    assert done.code == 1 and "too much: a pure epsilon of 3 costs rho 4.5" in done.err
    assert "pure epsilon of at most 0.22, or a noise multiplier of at least 4.54" in done.err
    for options in ((), ("--rho", 0.1, "--epsilon", 1)):
        done = run("budget", "spend", store, "--label", "what", *options)
        assert done.code == 1 and "one of --epsilon, --rho and --noise-multiplier" in done.err
    assert not Budget.open(store).entries()


@pytest.mark.parametrize("option", ["--epsilon", "--rho", "--noise-multiplier"])
@pytest.mark.parametrize("value", ["-1", "0", "inf", "nan"])
def test_costs_that_are_none_are_refused_by_the_name_of_the_option(store, run, option, value):
    done = run("budget", "spend", store, "--label", "x", option, value)
    assert done.code == 1 and f"{option} must be a finite number above 0, got {value}" in done.err
    assert not Budget.open(store).entries()


def test_show_lines_up_what_was_spent(store, run):
    for label in ("mean income", "[bold]median[/bold]"):
        run("budget", "spend", store, "--label", label, "--rho", 0.006)
    done = run("budget", "show", store)
    assert done.code == 0 and "[####################....................] 49.3 %" in done.out
    table = done.out.partition("Charges\n")[2].splitlines()
    assert (
        "[bold]median[/bold]" in table[2] and len({line.index("0.006") for line in table[1:]}) == 1
    )
    facts = json.loads(run("budget", "show", store, "--json").out)
    assert [entry["label"] for entry in facts["entries"]] == ["mean income", "[bold]median[/bold]"]
    assert facts["entries"][1]["epsilon_so_far"] == facts["spent_epsilon"]
    assert facts["head"] == Budget.open(store).verify().head.hash
    assert facts["entries"][0]["time"].endswith("Z") and "time (UTC)" in done.out
    alone = [entry["epsilon_alone"] for entry in facts["entries"]]
    assert alone == [pytest.approx(epsilon_of(0.006, 1e-6))] * 2
    assert facts["entries"][0]["epsilon_so_far"] == alone[0]


def test_show_leads_with_the_share_and_says_that_epsilons_do_not_add(store, run):
    done = run("budget", "spend", store, "--label", "x", "--rho", rho_of(0.5, 1e-6))
    assert "27.3 % of rho is spent" in done.out
    run("budget", "spend", store, "--label", "x", "--rho", rho_of(0.5, 1e-6))
    first, second, third, *_ = run("budget", "show", store).out.splitlines()
    assert "54.5 % of rho is spent" in first and second.startswith("Epsilons do not add; rho does")
    assert third == "together are 0.723, and one more fit may have 0.656."


def test_show_says_what_each_of_several_fits_may_have(store, run):
    run("budget", "spend", store, "--label", "x", "--epsilon", 0.1)
    exact = Budget.open(store).remaining(fits=10)
    facts = json.loads(run("budget", "show", store, "--fits", 10, "--json").out)
    assert (facts["fits"], facts["epsilon_per_fit"]) == (10, exact)
    (told,) = re.findall(
        "Planned fits: 10, of epsilon (.*) each at most",
        run("budget", "show", store, "--fits", 10).out,
    )
    assert exact * (1 - 1e-5) < float(told) <= exact
    assert run("budget", "show", store, "--fits", 0).code == 2


def test_exports_verify_and_show_what_is_gone(store, run, tmp_path):
    run("budget", "spend", store, "--label", "first", "--rho", 0.001)
    lines = run("budget", "export", store).out
    assert [json.loads(line)["sequence"] for line in lines.splitlines()] == [0, 1]
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    assert run("budget", "export", store, "-o", old).code == 0
    assert old.read_text() == lines
    assert run("budget", "export", store, "-o", old).code == 1
    kept = store.read_bytes()
    run("budget", "spend", store, "--label", "second", "--rho", 0.001)
    run("budget", "export", store, "-o", new)
    assert run("budget", "verify", store, "--against", old).code == 0
    facts = json.loads(run("budget", "verify", store, "--against", new, "--json").out)
    assert facts["sound"] is True and facts["entries"] == 2
    store.write_bytes(kept)  # an older copy put back: sound in itself
    assert run("budget", "verify", store).code == 0
    done = run("budget", "verify", store, "--against", new)
    assert done.code == 1 and "cut short" in done.err
    done = run("budget", "verify", store, "--against", tmp_path / "missing.jsonl")
    assert done.code == 1 and "missing.jsonl: No such file" in done.err


def test_damage_is_an_error(store, run):
    content = bytearray(store.read_bytes())
    content[content.index(b"add_remove")] ^= 1
    store.write_bytes(content)
    for command in ("show", "export", "verify"):
        done = run("budget", command, store)
        assert done.code == 1 and "budget.sqlite" in done.err and done.out == ""


def test_a_ledger_that_is_missing_is_an_error(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command in ("show", "export", "verify"):
        done = run("budget", command)
        assert done.code == 1 and "no ledger at" in done.err
        assert "create one with dplasso budget init" in done.err
    assert run("budget", "spend", "no.sqlite").code == 2  # no label
    assert not os.listdir(tmp_path)


def test_the_environment_names_the_ledger(tmp_path, run, monkeypatch):
    monkeypatch.setenv("DPLASSO_BUDGET", str(tmp_path / "named.sqlite"))
    assert run("budget", "init", *CAP).code == 0
    assert run("budget", "spend", "--label", "x", "--rho", 0.001).code == 0
    assert len(Budget.open(tmp_path / "named.sqlite").entries()) == 1


@pytest.fixture
def rows(tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{rng.integers(2)} 1:{rng.random():.3f} 3:{rng.random():.3f}" for _ in range(60)]
    (tmp_path / "rows.svm").write_text("\n".join(lines))
    return tmp_path / "rows.svm"


def train(rows, output, *options):
    declared = ("--features", 3, "--classes", "0,1", "--rows", 60, "-T", 5, "--radius", 2)
    return ("train", rows, "-o", output, *declared, *options)


def test_training_is_charged(store, run, rows, tmp_path):
    done = run(*train(rows, tmp_path / "model", "-e", 0.9, "--budget", store, "--json"))
    assert done.code == 0 and json.loads(done.out)["privacy"]["ledger"]["entry"] == 1
    assert load(tmp_path / "model").privacy_["ledger"]["epsilon_cap"] == 1.0
    done = run(*train(rows, tmp_path / "second", "-e", 0.9, "--budget", store))
    assert done.code == 1 and "is left of epsilon 1" in done.err
    assert not (tmp_path / "second").exists()
    done = run(*train(rows, tmp_path / "third", "-e", "inf", "--budget", store))
    assert done.code == 1 and "cannot be charged" in done.err
    done = run(*train(rows, tmp_path / "fourth", "--budget", tmp_path / "missing"))
    assert done.code == 1 and "no ledger at" in done.err
    assert len(Budget.open(store).entries()) == 1


def test_a_search_is_shown_with_all_it_takes(store, run):
    stop = stop_for(20.0, "logarithmic")
    budget, side = Budget.open(store), {"delta": 1e-6, "neighboring": "add_remove"}
    budget.charge(Gaussian(20.0), label="fit", **side)
    trial = ZeroConcentrated(trial_rho(0.5, 1e-6, stop, "logarithmic"))
    budget.charge(Selected(trial, stop, "logarithmic"), label="search", **side)
    facts = json.loads(run("budget", "show", store, "--json").out)
    fit, search = facts["entries"]
    assert search["epsilon_alone"] == pytest.approx(0.5, rel=1e-9)
    assert search["epsilon_so_far"] == facts["spent_epsilon"] == budget.spent_epsilon > 0.5
    assert fit["percent"] + search["percent"] == pytest.approx(facts["spent_percent"])
    assert search["percent"] > 100 * trial.rho / rho_of(1.0, 1e-6)  # it takes more than rho
    assert facts["remaining_epsilon"] == budget.remaining()
    assert "search" in run("budget", "show", store).out
    assert run("budget", "verify", store).code == 0


def test_a_release_elsewhere_may_protect_people(store, run):
    unit = ("--unit", "person: patient_id")
    assert run("budget", "spend", store, "--label", "a", "--rho", 0.001, *unit).code == 0
    shown = json.loads(run("budget", "show", store, "--json").out)
    assert "column patient_id" in shown["protects"]
    assert run("budget", "spend", store, "--label", "b", "--rho", 0.001).code == 1
    assert run("budget", "spend", store, "--label", "c", "--rho", 0.001, *unit).code == 0


def entered(run, store, model, *more):
    return run("budget", "spend", store, "--label", "before the ledger", "--model", model, *more)


@pytest.mark.parametrize("solver", ["gradient", "frank_wolfe", "table"])
def test_a_model_fitted_before_the_ledger_is_entered(store, run, tmp_path, solver):
    X, y = np.eye(20)[np.arange(200) % 20], np.arange(200) % 2
    known = {"classes": [0, 1], "n_people": 50, "person": "patient", "x_bound": 1.0}
    model = PrivateLassoClassifier(0.5, delta=1e-7, solver=solver, **known)
    model.fit(X, y, groups=np.arange(200) // 4).save(tmp_path / "m.dpl")
    assert entered(run, store, tmp_path / "m.dpl", "-q").code == 0
    (charge,) = Budget.open(store).entries()
    assert charge.rho >= model.privacy_["rho"]
    assert charge.rho == pytest.approx(model.privacy_["rho"], rel=1e-11)
    assert charge.unit == "person: patient" and charge.label.startswith("before the ledger: model ")
    done = entered(run, store, tmp_path / "m.dpl")
    assert done.code == 1 and "is in this ledger already" in done.err
    run("budget", "spend", store, "--label", "x", "--rho", 0.018, "--unit", "person: patient")
    model.fit(X, y, groups=np.arange(200) // 4).save(tmp_path / "again.dpl")
    done = entered(run, store, tmp_path / "again.dpl")
    assert done.code == 1 and "raise the ledger" in done.err
    assert len(Budget.open(store).entries()) == 2


def test_a_model_is_not_entered_twice_nor_by_guesses(store, run, rows, tmp_path):
    out = tmp_path / "m.dpl"
    known = ("--features", 50, "--classes", "0,1", "--rows", 100, "--x-bound", 1)
    run("train", rows, *known, "--epsilon", 0.5, "--budget", store, "-o", out)
    done = entered(run, store, out)
    assert done.code == 1 and "was charged to a ledger when it was fitted" in done.err
    done = entered(run, store, out, "--rho", 0.1)
    assert (
        done.code == 1 and "leave out --epsilon, --rho, --noise-multiplier and --unit" in done.err
    )
    X, y = np.eye(20), np.arange(20) % 2
    known = {"classes": [0, 1], "n_rows": 20, "x_bound": 1.0}
    PrivateLassoClassifier(np.inf, **known).fit(X, y).save(tmp_path / "open.dpl")
    done = entered(run, store, tmp_path / "open.dpl")
    assert done.code == 1 and "has no rho" in done.err
    other = PrivateLassoClassifier(0.1, neighboring="replace_one", **known).fit(X, y)
    other.save(tmp_path / "other.dpl")
    assert entered(run, store, tmp_path / "other.dpl").code == 1
    assert len(Budget.open(store).entries()) == 1
