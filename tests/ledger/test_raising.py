"""A budget that is raised: charges stay, later ones may use more, and the change is on record."""

import json
import sqlite3
from dataclasses import replace

import pytest

from dplasso import Budget, BudgetError, LedgerError
from dplasso.ledger import chain, fixed_point
from dplasso.ledger.entry import Raised, parse
from dplasso.privacy.events import Gaussian

SOME = Gaussian(8.0)  # rho 1/128: epsilon 1 at delta 1e-6 allows three


def charge(budget, event=SOME, unit="row"):
    return budget.charge(event, delta=1e-6, neighboring="add_remove", label="mean", unit=unit)


@pytest.fixture
def budget(tmp_path):
    made = Budget(1.0, 1e-6, store=tmp_path / "ledger.db")
    with pytest.raises(BudgetError):
        while True:
            charge(made)
    return made


def test_a_raised_budget_admits_more_and_forgets_nothing(budget, tmp_path):
    spent, before = budget.spent_rho, len(budget.entries())
    budget.export(tmp_path / "before.jsonl")
    other = Budget.open(tmp_path / "ledger.db")
    budget.raise_to(2.0)
    assert (budget.epsilon, budget.delta, budget.spent_rho) == (2.0, 1e-6, spent)
    assert (other.epsilon, other.spent_rho) == (2.0, spent)  # a process that had it open
    charge(other)
    assert len(budget.entries()) == before + 1
    assert budget.verify(tmp_path / "before.jsonl").limits.epsilon == 2.0
    assert Budget(2.0, 1e-6, store=tmp_path / "ledger.db").spent_rho > spent
    with pytest.raises(LedgerError, match="has epsilon = 2.0, not 1.0"):
        Budget(1.0, 1e-6, store=tmp_path / "ledger.db")
    with pytest.raises(BudgetError):
        while True:
            charge(budget)
    assert budget.spent_epsilon <= 2.0


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, None), (0.5, None), (2.0, 1e-7), (0.9, 1e-5)])
def test_a_budget_is_never_lowered(budget, epsilon, delta):
    with pytest.raises(ValueError, match="can only be raised"):
        budget.raise_to(epsilon, delta)
    assert (budget.epsilon, budget.delta) == (1.0, 1e-6) and not budget.verify().raises


def test_whom_the_charges_protect_outlives_a_raise(tmp_path):
    budget = Budget(1.0, 1e-6, store=tmp_path / "ledger.db")
    charge(budget, unit="person: patient")
    budget.raise_to(3.0)
    assert budget.unit == "person: patient"
    with pytest.raises(BudgetError, match="do not add"):
        charge(budget)


@pytest.mark.parametrize(
    "forged",
    [
        {"total": 0},
        {"epsilon": 0.5, "cap": fixed_point.cap_of(0.5, 1e-6)},
        {"cap": fixed_point.cap_of(9.0, 1e-6)},
        {"unit": "person"},
        {"sequence": 7},
        {"previous": "0" * 64},
        {"neighboring": "replace_one"},
    ],
)
def test_a_forged_raise_is_found(budget, forged):
    """Sealed with a hash of its own, as whoever may write the file could do."""
    budget.raise_to(2.0)
    found = budget.verify()
    *lines, last = (entry.line for entry in found.entries)
    assert chain.verified([*lines, last]).limits.epsilon == 2.0
    entry = parse(last)
    assert isinstance(entry, Raised)
    with pytest.raises(LedgerError, match="not to be trusted"):
        chain.verified([*lines, replace(entry, **forged).line])


def test_a_checkpoint_knows_the_raise_before_it(budget, tmp_path, monkeypatch):
    from dplasso.ledger import checkpoint

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(checkpoint, "_WORTH_KEEPING", 2)
    budget.raise_to(4.0)
    charge(budget)
    for _ in range(2):  # the second time from the checkpoint
        opened = Budget.open(tmp_path / "ledger.db")
        assert opened.epsilon == 4.0
    lines = budget.verify().entries
    assert checkpoint.lines_known(lines[0], [entry.line for entry in lines]) == len(lines)
    charge(opened)


def test_the_command_raises_and_shows_it(tmp_path, monkeypatch, capsys):
    from dplasso.cli.app import app_for

    ledger = str(tmp_path / "ledger.db")
    charge(Budget(1.0, 1e-6, store=ledger))

    def run(*words):
        with pytest.raises(SystemExit):
            app_for(["budget"])(["budget", *words])
        return capsys.readouterr().out

    told = json.loads(run("raise", ledger, "--epsilon", "2", "--json"))
    assert (told["epsilon"], told["raised"]) == (2.0, ["entry 2: 2, 1e-06"])
    assert "entry 2: 2, 1e-06" in run("show", ledger)
    lines = run("export", ledger).splitlines()
    with sqlite3.connect(ledger) as file:
        assert lines == [line for (line,) in file.execute("SELECT line FROM entries")]
    assert len(lines) == 3
