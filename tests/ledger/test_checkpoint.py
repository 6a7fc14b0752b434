"""A checkpoint saves the walk over what was verified before, and hides nothing."""

import json
import os
import random
import subprocess
import sys
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import broken_ledgers
from dplasso.ledger import Budget, LedgerError, chain, checkpoint
from dplasso.privacy.events import Gaussian

LINES = broken_ledgers.sound_lines(12)


@pytest.fixture(autouse=True)
def every_walk_is_kept(monkeypatch):
    monkeypatch.setattr(checkpoint, "_WORTH_KEEPING", 0)


@pytest.fixture
def walked(monkeypatch):
    """The entries that were walked one by one, by their numbers."""
    numbers, walk = [], chain._next

    def noted(genesis, head, entry):
        numbers.append(entry.sequence)
        return walk(genesis, head, entry)

    monkeypatch.setattr(chain, "_next", noted)
    return numbers


def charge(budget, label="release"):
    return budget.charge(Gaussian(200.0), delta=1e-6, neighboring="add_remove", label=label)


def kept(cache):
    (path,) = (cache / "dplasso" / "ledgers").iterdir()
    return path


def outcome(lines):
    """What a walk over lines comes to: its end, or its error."""
    try:
        return checkpoint.walked(lines).head.line
    except LedgerError as error:
        return str(error)


def test_what_was_verified_before_is_not_walked_again(address, walked):
    budget = Budget(1.0, 1e-6, address)
    for _ in range(5):
        charge(budget)
    walked.clear()
    Budget.open(address)
    assert walked == [1, 2, 3, 4, 5]
    charge(budget)
    walked.clear()
    assert Budget.open(address).spent_rho == budget.spent_rho
    assert walked == [6]
    walked.clear()
    Budget.open(address)
    assert walked == []


def test_a_whole_verification_walks_all_of_it(address, walked):
    budget = Budget(1.0, 1e-6, address)
    charge(budget)
    Budget.open(address)
    walked.clear()
    Budget.open(address).verify()
    assert walked == [1]


def test_small_ledgers_leave_nothing_in_the_cache(address, cache, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    charge(Budget(1.0, 1e-6, address))
    Budget.open(address)
    assert not cache.exists()


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(0, 10**9), st.integers(1, len(LINES)))
def test_every_change_shows_as_it_would_without_a_checkpoint(cache, seed, known):
    outcome(LINES[:known])
    rng = random.Random(seed)
    altered, place = list(LINES), rng.randrange(len(LINES))
    match rng.randrange(5):
        case 0:
            altered[place] = broken_ledgers.bent(rng, altered[place])
        case 1:
            del altered[place]
        case 2:
            altered.insert(place, rng.choice(LINES))
        case 3:
            altered[place] = LINES[place].encode()
        case 4:
            other = rng.randrange(len(LINES))
            altered[place], altered[other] = altered[other], altered[place]
    found = outcome(altered)
    for path in cache.rglob("*.json"):
        path.unlink()
    assert found == outcome(altered)


def test_lines_are_known_by_their_bytes_alone():
    genesis = chain.begun(LINES).genesis
    checkpoint.keep(genesis, LINES[:8], 0)
    assert checkpoint.lines_known(genesis, LINES) == 8
    assert checkpoint.lines_known(genesis, LINES[:7]) == 0
    broken = ["\n".join(LINES[:2]), *LINES[2:8], "", *LINES[8:]]
    assert checkpoint.lines_known(genesis, broken) == 0


def exposed_file(path):
    path.chmod(0o622)


def exposed_folder(path):
    path.parent.chmod(0o722)


def linked_file(path):
    path.rename(path.with_suffix(".moved"))
    path.symlink_to(path.with_suffix(".moved"))


def linked_folder(path):
    path.parent.rename(path.parent.with_name("moved"))
    path.parent.symlink_to(path.parent.with_name("moved"))


def another_owner(path):
    if os.geteuid() != 0:
        pytest.skip("needs root, to give a file away")
    os.chown(path, 65534, 65534)


def by_other_rules(path):
    path.write_text(path.read_text().replace(checkpoint._rules(), "0" * 64))


def no_json(path):
    path.write_bytes(b"\xff{")


def another_shape(path):
    path.write_text(json.dumps([1, 2]))


def a_count_beyond_the_end(path):
    path.write_text(json.dumps({**json.loads(path.read_text()), "lines": 10**9}))


def a_pipe(path):
    path.unlink()
    os.mkfifo(path)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs owners and modes of files")
@pytest.mark.parametrize(
    "harm",
    [
        exposed_file,
        exposed_folder,
        linked_file,
        linked_folder,
        another_owner,
        by_other_rules,
        no_json,
        another_shape,
        a_count_beyond_the_end,
        a_pipe,
    ],
)
def test_a_checkpoint_that_others_may_have_written_is_not_used(tmp_path, cache, walked, harm):
    address = tmp_path / "budget.sqlite"
    charge(Budget(1.0, 1e-6, address))
    Budget.open(address)
    harm(kept(cache))
    walked.clear()
    assert charge(Budget.open(address)).entry == 2
    assert walked[0] == 1


def test_a_cache_that_cannot_be_written_costs_time_only(tmp_path, monkeypatch, walked):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    address = tmp_path / "budget.sqlite"
    charge(Budget(1.0, 1e-6, address))
    walked.clear()
    assert len(Budget.open(address).entries()) == 1
    assert walked[0] == 1


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_checkpoints_are_for_their_user_alone(tmp_path, cache, umask):
    before = os.umask(umask)
    try:
        charge(Budget(1.0, 1e-6, tmp_path / "budget.sqlite"))
        Budget.open(tmp_path / "budget.sqlite")
    finally:
        os.umask(before)
    found = [path for path in (kept(cache), *kept(cache).parents) if path.is_relative_to(cache)]
    assert [path.name for path in found[1:]] == ["ledgers", "dplasso", cache.name]
    assert not any(path.stat().st_mode & 0o077 for path in found)


def test_a_user_without_a_home_keeps_nothing_where_the_command_stands(
    tmp_path, cache, walked, monkeypatch
):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as where nobody has the number
    monkeypatch.chdir(tmp_path)
    charge(Budget(1.0, 1e-6, tmp_path / "budget.sqlite"))
    assert len(Budget.open(tmp_path / "budget.sqlite").entries()) == 1
    assert not os.path.lexists(tmp_path / "~")


LONG_WALK = """
import sys, time
from pathlib import Path
from dplasso.ledger import Budget, chain
from dplasso.privacy.events import Gaussian

walk, walking, go_on = chain._next, Path(sys.argv[2]), Path(sys.argv[3])

def waiting(genesis, head, entry):
    walking.touch()
    while not go_on.exists():
        time.sleep(0.01)
    return walk(genesis, head, entry)

chain._next = waiting
budget = Budget._at(sys.argv[1], None)
print(budget.charge(Gaussian(200.0), delta=1e-6, neighboring="add_remove", label="slow").entry)
"""


def test_a_long_verification_keeps_no_other_process_waiting(address, tmp_path, monkeypatch):
    """Another process is in the midst of its walk until the charge of this one is through."""
    monkeypatch.setattr("dplasso.ledger.stores.SECONDS_TO_WAIT", 5.0)
    budget = Budget(1.0, 1e-6, address)
    for _ in range(3):
        charge(budget)
    walking, go_on = tmp_path / "walking", tmp_path / "go on"
    command = [sys.executable, "-c", LONG_WALK, address, str(walking), str(go_on)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 60
        while not walking.exists():
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
        assert charge(budget, "meanwhile").entry == 4
        go_on.touch()
        told, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert told == "5\n"
    assert [entry.label for entry in budget.entries()][3:] == ["meanwhile", "slow"]
