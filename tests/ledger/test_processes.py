"""Many processes, killed processes, restarted servers: what is released was charged, exactly."""

import os
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

import spending
from dplasso import load
from dplasso.ledger import Budget, BudgetError
from dplasso.ledger.fixed_point import price
from dplasso.privacy import zcdp
from dplasso.privacy.events import ZeroConcentrated

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),
]
FITS = 96
SHARE = zcdp.rho_of(1.0, 1e-6) / FITS


def charge(budget, rho, label="release"):
    return budget.charge(ZeroConcentrated(rho), delta=1e-6, neighboring="add_remove", label=label)


def check_all_charged(budget, released):
    """Every release has an entry of its own, and the entries add up below the cap."""
    chain = budget.verify()
    hashes = {entry.hash for entry in chain.charges}
    assert len(released) == len(set(released))
    assert set(released) <= hashes
    assert sum(entry.cost for entry in chain.charges) == chain.head.total <= chain.genesis.cap
    return chain


def test_32_processes_spend_all_of_it_and_no_more(address, tmp_path):
    budget = Budget(**spending.CAP, store=address)
    assert spending.run("together", address, tmp_path, 32, SHARE) == "refused 32\n"
    released = spending.releases(tmp_path)
    chain = check_all_charged(budget, released)
    assert len(released) == len(chain.charges) == FITS
    assert chain.head.total == FITS * price(ZeroConcentrated(SHARE))
    exact = Fraction(SHARE) * FITS
    assert 0 <= Fraction(chain.head.total, 10**50) - exact < Fraction(FITS, 10**50)


def test_300_kills_release_nothing_uncharged(tmp_path):
    address = str(tmp_path / "budget.sqlite")
    assert spending.run("killed", address, tmp_path, 300, 1) == "killed 300\n"
    released = spending.releases(tmp_path)
    chain = check_all_charged(Budget.open(address), released)
    assert len(released) > spending.timed(300) + 20  # some were let live for long enough
    assert charge(Budget.open(address), 1e-9).entry == len(chain.charges) + 1


def test_kills_of_fits_leave_no_model_uncharged(tmp_path):
    address = str(tmp_path / "budget.sqlite")
    assert spending.run("fitted", address, tmp_path, 60, 4) == "killed 60\n"
    hashes = [load(path).privacy_["ledger"]["hash"] for path in tmp_path.glob("released-*.dpl")]
    check_all_charged(Budget.open(address), hashes)
    assert len(hashes) > spending.timed(60) + 5


def test_kills_of_clients_of_a_server_release_nothing_uncharged(server, tmp_path):
    address = server.url("killed_clients")
    assert spending.run("killed", address, tmp_path, 40, 2) == "killed 40\n"
    released = spending.releases(tmp_path)
    check_all_charged(Budget.open(address), released)
    assert len(released) > spending.timed(40) + 5
    assert charge(Budget.open(address), 1e-9).entry > len(released)


def test_a_kill_while_ledgers_are_created_leaves_none_that_cannot_be_used(tmp_path):
    assert spending.run("created", tmp_path / "made", tmp_path, 30, 3) == "killed 30\n"
    made = [path for path in tmp_path.glob("made-*") if not path.name.endswith("-journal")]
    assert len(made) > spending.timed(30) + 4
    for path in made:
        assert charge(Budget(**spending.CAP, store=path), SHARE).entry == 1


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_server_that_restarts_loses_and_doubles_nothing(server, tmp_path, mode):
    address = server.url(f"restarted_{mode}")
    budget = Budget(**spending.CAP, store=address)
    spenders = spending.start("together", address, tmp_path, 8, SHARE)
    try:
        while len(spending.releases(tmp_path)) < FITS // 4:
            assert spenders.poll() is None
            time.sleep(0.01)
        server.stop(mode)
        time.sleep(0.3)
        server.start()
    finally:
        told, _ = spenders.communicate(timeout=120)
    assert told == "refused 8\n"
    released = spending.releases(tmp_path)
    chain = check_all_charged(budget, released)
    assert len(released) == len(chain.charges) == FITS  # no charge was made twice


def test_a_server_that_stays_away_is_an_error(server, monkeypatch):
    budget = Budget(**spending.CAP, store=server.url("away"))
    monkeypatch.setattr("dplasso.ledger.stores.SECONDS_TO_WAIT", 0.5)
    server.stop()
    try:
        with pytest.raises(ValueError, match="could not be reached.*Nothing was released"):
            charge(budget, SHARE)
    finally:
        server.start()
    assert budget.spent_rho == 0.0
    assert charge(budget, SHARE).entry == 1


def test_threads_share_a_budget(address):
    budget = Budget(**spending.CAP, store=address)

    def work(_):
        try:
            return charge(budget, SHARE * 8).hash
        except BudgetError:
            return None

    with ThreadPoolExecutor(8) as pool:
        released = [found for found in pool.map(work, range(24)) if found]
    assert len(check_all_charged(budget, released).charges) == len(released) == FITS // 8


def test_forks_in_the_midst_of_charges_of_other_threads(address):
    budget, done = Budget(**spending.CAP, store=address), threading.Event()

    def keep_charging():
        while not done.is_set():
            charge(budget, 1e-9)

    thread = threading.Thread(target=keep_charging)
    thread.start()
    try:
        children = []
        for _ in range(12):
            child = os.fork()
            if child == 0:
                try:
                    os._exit(0 if charge(budget, 1e-9, "child").entry > 0 else 1)
                finally:
                    os._exit(2)
            children.append(child)
        assert [os.waitpid(child, 0)[1] for child in children] == [0] * 12
    finally:
        done.set()
        thread.join()
    assert [entry.label for entry in budget.entries()].count("child") == 12


def test_a_copy_in_another_folder_is_the_same_ledger(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    budget = Budget(**spending.CAP)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    charge(pickle.loads(pickle.dumps(budget)), SHARE)
    assert len(budget.entries()) == 1
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["dplasso-budget.sqlite"]
