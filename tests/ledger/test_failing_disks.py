"""Full disks, read-only files and folders: nothing lost, nothing half-written, a clear error."""

import os
import sqlite3
import tempfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from dplasso import PrivateLassoClassifier
from dplasso.ledger import Budget, LedgerError
from dplasso.privacy.events import Gaussian
from failing_disks import NOBODY, an_ordinary_user, no_file_beyond, small_disk

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs limits and modes")
LONGEST_LABEL = "a" * 200


def charge(budget, label="release"):
    return budget.charge(Gaussian(2000.0), delta=1e-6, neighboring="add_remove", label=label).hash


def charged(path):
    """The hashes of all entries, once the whole ledger was verified."""
    return [entry.hash for entry in Budget.open(path).entries()]


def test_a_disk_that_is_full_at_any_byte_loses_and_half_writes_nothing(tmp_path):
    """Wherever a write fails, the charge is an error and the ledger what it was."""
    path = tmp_path / "budget.sqlite"
    budget = Budget(1.0, 1e-6, path)
    returned = [charge(budget, LONGEST_LABEL)]
    refused = 0
    for size in range(0, 3 * path.stat().st_size, 512):
        try:
            with no_file_beyond(size):
                returned.append(charge(budget, LONGEST_LABEL))
        except LedgerError as error:
            assert "Nothing was released" in str(error) and "disk" in str(error)
            refused += 1
        assert charged(path) == returned
    assert refused > 10 and len(returned) > 10
    assert [found.name for found in tmp_path.iterdir() if found.is_file()] == [path.name]


def test_a_ledger_that_could_not_be_created_can_be_later(tmp_path):
    path = tmp_path / "budget.sqlite"
    for size in range(0, 16384, 1024):
        try:
            with no_file_beyond(size):
                Budget(1.0, 1e-6, path)
        except LedgerError:
            continue
        break
    else:
        pytest.fail("a ledger is not as large")
    charge(Budget(1.0, 1e-6, path))
    assert len(charged(path)) == 1


def test_charges_until_a_disk_is_full_are_all_there(tmp_path):
    with small_disk(tmp_path / "disk", 96 * 1024) as disk:
        if disk is None:
            pytest.skip("needs the right to mount a file system")
        path, returned = disk / "budget.sqlite", []
        budget = Budget(1.0, 1e-6, path)
        with pytest.raises(LedgerError, match="full.*Nothing was released"):
            while True:
                returned.append(charge(budget, LONGEST_LABEL))
        with pytest.raises(LedgerError, match="full"):  # and so for another process
            charge(Budget.open(path), LONGEST_LABEL)
        assert len(returned) > 20 and charged(path) == returned


@pytest.fixture
def folder():
    """One that an ordinary user can reach and owns."""
    with tempfile.TemporaryDirectory() as name:
        if os.geteuid() == 0:
            os.chown(name, NOBODY, NOBODY)
        yield Path(name)
        os.chmod(name, 0o700)


def read_only_file(path):
    path.chmod(0o400)


def read_only_folder(path):
    path.parent.chmod(0o500)


def read_only_file_and_folder(path):
    path.chmod(0o400)
    path.parent.chmod(0o500)


def writable_again(path):
    path.parent.chmod(0o700)
    path.chmod(0o600)


@pytest.mark.parametrize("harm", [read_only_file, read_only_folder, read_only_file_and_folder])
def test_what_may_not_be_written_is_read_and_not_charged(folder, harm):
    path = folder / "budget.sqlite"
    with an_ordinary_user():
        budget = Budget(1.0, 1e-6, path)
        returned = [charge(budget)]
        harm(path)
        for victim in (budget, Budget.open(path)):
            with pytest.raises(LedgerError, match=r"readonly.*Nothing was released.*permissions"):
                charge(victim)
        assert charged(path) == returned
        assert budget.spent_rho == Budget.open(path).spent_rho > 0.0
        writable_again(path)
        returned.append(charge(budget))
        assert charged(path) == returned


def test_a_fit_that_cannot_be_charged_releases_nothing(folder):
    X, y = np.eye(40), np.arange(40) % 2
    path = folder / "budget.sqlite"
    model = PrivateLassoClassifier(
        1.0, classes=[0, 1], n_rows=40, x_bound=1.0, accountant=Budget(2.0, 1e-6, path)
    )
    clone(model).set_params(accountant=None).fit(X, y)  # compiled code is cached on the same disk
    with no_file_beyond(0), pytest.raises(LedgerError, match="Nothing was released"):
        model.fit(X, y)
    assert not hasattr(model, "privacy_") and charged(path) == []
    assert model.fit(X, y).privacy_["ledger"]["entry"] == 1


def test_a_write_ahead_log_keeps_no_charge_to_itself(tmp_path):
    """Someone turned it on; what is only in the log when a ledger is opened comes to the file."""
    path = tmp_path / "budget.sqlite"
    budget = Budget(1.0, 1e-6, path)
    returned = [charge(budget)]
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    returned.append(charge(budget))
    assert charged(path) == returned
    copy = tmp_path / "copy.sqlite"
    copy.write_bytes(path.read_bytes())
    assert charged(copy) == returned
    assert not path.with_name("budget.sqlite-wal").exists()


def test_a_server_that_may_only_be_read_is_read_and_not_charged(server):
    address = server.url("read_only")
    returned = [charge(Budget(1.0, 1e-6, address))]
    url, _, name = address.partition("#")
    read_only = f"{url}&options=-c%20default_transaction_read_only%3Don#{name}"
    with pytest.raises(LedgerError, match=r"read-only.*Nothing was released"):
        charge(Budget.open(read_only))
    assert charged(read_only) == charged(address) == returned
