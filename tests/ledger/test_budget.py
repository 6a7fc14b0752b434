"""What a budget promises to those who hold it."""

import copy
import os
import pickle
import resource
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from sklearn.base import clone

from dplasso.ledger import Budget, BudgetError, LedgerError
from dplasso.ledger.sqlite import SQLiteStore
from dplasso.privacy import zcdp
from dplasso.privacy.accountant import Accountant
from dplasso.privacy.events import (
    BoundedRange,
    Composed,
    Gaussian,
    PureDP,
    Repeated,
    ZeroConcentrated,
)

REFUSED = 7
RHO = zcdp.rho_of(1.0, 1e-6)


def charge(budget, event, **options):
    told = {"delta": 1e-6, "neighboring": "add_remove", "label": "release", **options}
    return budget.charge(event, **told)


def spend(budget, rho, **options):
    return charge(budget, ZeroConcentrated(rho), **options)


def test_unlike_parts_compose_in_rho(address):
    budget = Budget(1.0, 1e-6, address)
    assert isinstance(budget, Accountant)
    receipt = charge(budget, Composed((PureDP(0.1), Gaussian(20.0))), label="two parts")
    assert receipt.entry == 1 and receipt.epsilon_cap == 1.0 and receipt.delta == 1e-6
    spend(budget, 0.001, delta=1e-9)
    assert budget.spent_rho == pytest.approx(0.005 + 0.00125 + 0.001, rel=1e-15)
    assert budget.spent_epsilon == zcdp.epsilon_of(budget.spent_rho, 1e-6)
    assert budget.remaining_rho == pytest.approx(RHO - budget.spent_rho)
    first, second = budget.entries()
    assert (first.label, first.event) == ("two parts", Composed((PureDP(0.1), Gaussian(20.0))))
    assert first.hash == receipt.hash == second.previous
    assert (second.delta, second.rho) == (1e-9, 0.001)


def test_all_of_it_can_be_spent_and_nothing_more(address):
    budget = Budget(1.0, 1e-6, address)
    spend(budget, RHO / 2)
    spend(budget, zcdp.rho_of(budget.remaining(), 1e-6))
    assert 0.999999 < budget.spent_epsilon <= 1.0
    with pytest.raises(BudgetError, match="one more: it costs rho 0.01, and nothing is left"):
        spend(budget, 0.01, label="one more")
    with pytest.raises(BudgetError, match="and nothing is left of epsilon 1.*; let whoever"):
        charge(budget, Repeated(BoundedRange(0.1), 10))
    assert len(budget.entries()) == 2
    spend(budget, 0.0)  # what costs nothing is entered as well
    assert len(budget.entries()) == 3


def test_the_same_numbers_open_a_ledger_and_others_do_not(address):
    spend(Budget(1.0, 1e-6, address), 0.001)
    assert Budget(1, 1e-6, address).spent_rho == 0.001
    again = Budget.open(address)
    assert (again.epsilon, again.delta, again.neighboring) == (1.0, 1e-6, "add_remove")
    for name, numbers in {
        "epsilon": (2.0, 1e-6),
        "delta": (1.0, 1e-5),
        "neighboring": (1.0, 1e-6, "replace_one"),
    }.items():
        with pytest.raises(LedgerError, match=f"has {name} = .*Budget.open"):
            Budget(*numbers[:2], address, *numbers[2:])
    assert len(again.entries()) == 1


def test_costs_under_another_relation_are_refused(address):
    budget = Budget(1.0, 1e-6, address, neighboring="replace_one")
    with pytest.raises(BudgetError, match="'add_remove'.*for 'replace_one'.*another ledger"):
        spend(budget, 0.001)
    assert spend(budget, 0.001, neighboring="replace_one").entry == 1


def test_copies_are_the_same_ledger(address):
    budget = Budget(1.0, 1e-6, address)
    copies = [copy.copy(budget), copy.deepcopy(budget), clone(budget)]
    for one in [*copies, pickle.loads(pickle.dumps(budget))]:
        spend(one, 0.001)
    assert [entry.sequence for entry in budget.entries()] == [1, 2, 3, 4]


def test_labels_stand_before_those_of_estimators(address):
    budget = Budget(1.0, 1e-6, address)
    march = budget.labelled("readmissions, March")
    for one in (march, copy.deepcopy(march), clone(march), pickle.loads(pickle.dumps(march))):
        assert spend(one, 0.001, label="Lasso").entry
        assert repr(one).endswith(".labelled('readmissions, March')")
    spend(march.labelled("April"), 0.001, label="Lasso")
    spend(budget, 0.001, label="Lasso")
    labels = [entry.label for entry in march.entries()]
    assert labels == ["readmissions, March: Lasso"] * 4 + ["April: Lasso", "Lasso"]


@pytest.mark.parametrize("label", ["", "a\nb", 3, "x" * 151])
def test_labels_that_a_line_cannot_hold_are_refused_before_a_fit(tmp_path, label):
    budget = Budget(1.0, 1e-6, tmp_path / "budget.sqlite")
    with pytest.raises(ValueError, match="label must be"):
        budget.labelled(label)
    assert spend(budget.labelled("x" * 150), 0.001, label="PrivateLassoClassifier").entry == 1


def test_what_is_not_there_is_not_opened(tmp_path, server):
    for address in (tmp_path / "no.sqlite", server.url("none")):
        with pytest.raises(LedgerError, match="no ledger at .*budget init"):
            Budget.open(address)
    assert not list(tmp_path.iterdir())
    budget = Budget(1.0, 1e-6, tmp_path / "budget.sqlite")
    os.unlink(tmp_path / "budget.sqlite")
    with pytest.raises(LedgerError, match="no ledger"):
        spend(budget, 0.001)
    assert not list(tmp_path.iterdir())
    with pytest.raises(LedgerError, match="folder that does not exist"):
        Budget(1.0, 1e-6, tmp_path / "nowhere" / "budget.sqlite")


@pytest.mark.parametrize("content", [b"not a database at all" * 200, b"SQLite format 3\0" * 300])
def test_foreign_files_are_left_as_they_are(tmp_path, content):
    path = tmp_path / "budget.sqlite"
    path.write_bytes(content)
    for work in (lambda: Budget(1.0, 1e-6, path), lambda: Budget.open(path)):
        with pytest.raises(LedgerError, match="budget.sqlite"):
            work()
    assert path.read_bytes() == content and len(list(tmp_path.iterdir())) == 1


def test_a_database_of_others_is_left_as_it_is(tmp_path):
    path = tmp_path / "theirs.sqlite"
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("CREATE TABLE entries (sequence, id, line)")
    connection.close()
    before = path.read_bytes()
    for work in (lambda: Budget(1.0, 1e-6, path), lambda: Budget.open(path)):
        with pytest.raises(LedgerError, match="is not a ledger"):
            work()
    assert path.read_bytes() == before


@pytest.mark.parametrize("store", [1, None, b"a", "", "a/", "mysql://host/db", "a\0b", ":memory:"])
def test_other_stores_are_refused(store):
    with pytest.raises(ValueError, match="store must be"):
        Budget(1.0, 1e-6, store)


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("epsilon", (0.0, 1e-6)),
        ("epsilon", (float("inf"), 1e-6)),
        ("epsilon", ("1", 1e-6)),
        ("delta", (1.0, 0.0)),
        ("delta", (1.0, None)),
        ("neighboring", (1.0, 1e-6, "both")),
    ],
)
def test_bad_caps_create_nothing(tmp_path, name, numbers):
    with pytest.raises(ValueError, match=name):
        Budget(*numbers[:2], tmp_path / "budget.sqlite", *numbers[2:])
    assert not list(tmp_path.iterdir())


def test_a_line_is_in_the_one_file_for_good(tmp_path):
    """Whatever the file was set to: nothing is left in a journal that could undo a charge."""
    path = tmp_path / "budget.sqlite"
    budget = Budget(1.0, 1e-6, path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    spend(budget, 0.001)
    assert [found.name for found in tmp_path.iterdir()] == [path.name]
    with SQLiteStore(str(path))._connection("rw") as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (3,)  # EXTRA
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_ledger_that_is_locked_for_long_is_an_error(tmp_path, monkeypatch):
    budget = Budget(1.0, 1e-6, tmp_path / "budget.sqlite")
    monkeypatch.setattr("dplasso.ledger.stores.SECONDS_TO_WAIT", 0.1)
    other = sqlite3.connect(tmp_path / "budget.sqlite", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(LedgerError, match="locked.*Nothing was released"):
        spend(budget, 0.001)
    other.close()
    assert spend(budget, 0.001).entry == 1


def in_child(work):
    """The exit code of a child that does some work."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        work()
        os._exit(0)
    except LedgerError as error:
        os._exit(REFUSED if "Nothing was released" in str(error) else 8)
    finally:
        os._exit(9)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("hindrance", ["a full disk", "a file that may only be read"])
def test_charges_that_cannot_be_written_are_errors(hindrance):
    def hindered():
        if hindrance == "a full disk":
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        elif os.geteuid() == 0:
            os.setuid(65534)
        assert not Budget.open(path).entries()  # whoever may read can look
        spend(budget, 0.001)

    with tempfile.TemporaryDirectory() as folder:  # where nobody, too, may look
        os.chmod(folder, 0o755)
        path = Path(folder, "budget.sqlite")
        budget = Budget(1.0, 1e-6, path)
        os.chmod(path, 0o444)
        before = path.read_bytes()
        assert in_child(hindered) == REFUSED
        assert path.read_bytes() == before
        os.chmod(path, 0o644)
        assert spend(budget, 0.001).entry == 1


def test_passwords_are_not_shown(server):
    url = server.url("secret").replace("dplasso@", "dplasso:hunter2@")
    budget = Budget(1.0, 1e-6, url)
    assert "hunter2" not in repr(budget) + str(budget) + budget.shown
    assert spend(pickle.loads(pickle.dumps(budget)), 0.001).entry == 1
    wrong = url.replace("/postgres?", "/missing?")
    bad = [wrong, "postgresql://u:hunter2@h/db?sslmodus=x", "postgresql://u:hunter2#1@h/db"]
    for address in bad:
        with pytest.raises(ValueError) as refused:
            Budget(1.0, 1e-6, address)
        assert "hunter2" not in str(refused.value) and refused.value.__cause__ is None


def test_psycopg_is_asked_for_by_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ImportError, match=r"pip install 'dplasso\[postgres\]'"):
        Budget(1.0, 1e-6, "postgresql://host/database")


@pytest.mark.parametrize("committed", [True, False])
def test_a_connection_lost_in_a_commit_is_cleared_up(server, monkeypatch, committed):
    import psycopg

    budget = Budget(1.0, 1e-6, server.url(f"lost_{committed}"))
    commit, lost = psycopg.Connection.commit, []

    def losing(connection):
        if not lost:
            lost.append(connection)
            if committed:
                commit(connection)
            connection.close()
            raise psycopg.OperationalError("the connection is lost")
        commit(connection)

    monkeypatch.setattr(psycopg.Connection, "commit", losing)
    receipt = spend(budget, 0.001)
    monkeypatch.undo()
    assert lost and [entry.hash for entry in budget.entries()] == [receipt.hash]


def test_a_server_that_does_not_write_is_refused(server, monkeypatch):
    monkeypatch.setattr(
        "dplasso.ledger.postgres.PREPARE", "SELECT false, set_config('lock_timeout', %s, true)"
    )
    with pytest.raises(LedgerError, match="fsync off"):
        Budget(1.0, 1e-6, server.url("unsafe"))


def test_clients_need_no_more_than_to_read_and_add(server):
    import psycopg

    Budget(1.0, 1e-6, server.url("granted"))
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("CREATE ROLE analyst LOGIN")
        connection.execute("GRANT SELECT, INSERT ON dplasso_budget TO analyst")
    url = server.url("granted").replace("dplasso@", "analyst@")
    assert spend(Budget.open(url), 0.001).entry == 1
    assert spend(Budget(1.0, 1e-6, url), 0.001).entry == 2


def test_importing_the_ledger_is_light():
    heavy = "numba", "sklearn", "pandas", "psycopg", "typer", "joblib"
    told = f"import sys, dplasso.ledger; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_budget_without_delta_says_which_to_give(tmp_path):
    with pytest.raises(ValueError, match="delta is missing.* such as 1e-6"):
        Budget(1.0, store=tmp_path / "budget.sqlite")
    assert not (tmp_path / "budget.sqlite").exists()
