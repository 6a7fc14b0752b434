"""Ledgers that were altered are found out, by the database, by the chain, or by an export."""

import hashlib
import json
import os
import pickle
import sqlite3
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import broken_ledgers
from dplasso.ledger import Budget, Genesis, LedgerError, fixed_point
from dplasso.ledger.chain import verified
from dplasso.ledger.entry import parse
from dplasso.privacy.events import Gaussian, PureDP

SOUND = broken_ledgers.sound_lines(6)


def rechained(entries):
    """Lines of entries whose hashes were computed anew, as by someone who knows how."""
    lines, previous, total = [], None, 0
    for number, entry in enumerate(entries):
        if not isinstance(entry, Genesis):
            total += entry.cost
            entry = replace(entry, sequence=number, previous=previous, total=total)
        previous = entry.hash
        lines.append(entry.line)
    return lines


def test_a_sound_chain_is_read_back():
    chain = verified(SOUND)
    assert [chain.genesis.line, *(charge.line for charge in chain.charges)] == SOUND
    assert rechained(map(parse, SOUND)) == SOUND


def test_the_hash_of_a_line_is_that_of_its_text_without_it():
    for line in SOUND:
        body, _, rest = line.rpartition(',"hash":"')
        assert rest == hashlib.sha256(f"{body}}}".encode()).hexdigest() + '"}'
        assert json.loads(line)["hash"] == rest[:-2]


def test_every_change_of_the_lines_shows():
    for k in range(1, len(SOUND)):
        for altered in (
            SOUND[:k] + SOUND[k + 1 :] if k < len(SOUND) - 1 else [],
            SOUND[:k] + [SOUND[k]] + SOUND[k:],
            SOUND[: k - 1] + [SOUND[k], SOUND[k - 1]] + SOUND[k + 1 :],
            SOUND[:k] + [SOUND[0]] + SOUND[k:],
        ):
            with pytest.raises(LedgerError):
                verified(altered)


@settings(max_examples=300)
@given(st.integers(0, 10**9))
def test_every_change_of_a_character_shows(seed):
    assert broken_ledgers.check_line(SOUND, seed)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"cost": 0}, "not what its event costs"),
        ({"event": PureDP(1e-9)}, "not what its event costs"),
        ({"neighboring": "replace_one"}, "relation"),
    ],
)
def test_forgers_who_chain_anew_must_keep_the_rules(change, told):
    entries = [parse(line) for line in SOUND]
    entries[3] = replace(entries[3], **change)
    with pytest.raises(LedgerError, match=f"entry 3 .*{told}"):
        verified(rechained(entries))


def test_a_raised_cap_shows():
    entries = [parse(line) for line in SOUND]
    entries[0] = replace(entries[0], cap=2 * entries[0].cap)
    with pytest.raises(LedgerError, match="entry 0 .*cap"):
        verified(rechained(entries))


def test_more_than_the_cap_shows():
    entries = [parse(line) for line in SOUND]
    dear = PureDP(3.0)
    entries.append(replace(entries[-1], event=dear, cost=fixed_point.price(dear), id="0" * 32))
    with pytest.raises(LedgerError, match=r"entry 7 .*exceeds the cap"):
        verified(rechained(entries))


@pytest.fixture(params=["no checkpoint", "a checkpoint"])
def budget(address, request, monkeypatch):
    """A ledger of four charges; of all that shows, a checkpoint hides nothing."""
    budget = Budget(1.0, 1e-6, address)
    for k in range(4):
        charge(budget, f"release {k}")
    if request.param == "a checkpoint":
        monkeypatch.setattr("dplasso.ledger.checkpoint._WORTH_KEEPING", 0)
        Budget.open(address)
    return budget


def charge(budget, label):
    budget.charge(Gaussian(50.0), delta=1e-6, neighboring="add_remove", label=label)


def execute(budget, *statements):
    """What someone with the database open can do."""
    if budget.shown.startswith("postgresql"):
        import psycopg

        with psycopg.connect(budget._store.address.partition("#")[0]) as connection:
            for statement in statements:
                named = statement.replace("entries", "dplasso_budget")
                if "TRIGGER" not in statement and "TRUNCATE" not in statement:
                    named += f" AND ledger = '{budget._store._ledger}'"
                connection.execute(named)
        return
    connection = sqlite3.connect(budget.shown)
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def without_triggers(budget, *statements):
    """What someone can do who goes round the safeguards and puts them back."""
    if budget.shown.startswith("postgresql"):
        off, on = (f"ALTER TABLE entries {how} TRIGGER USER" for how in ("DISABLE", "ENABLE"))
        return execute(budget, off, *statements, on)
    connection = sqlite3.connect(budget.shown)
    with connection:
        triggers = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
        for _, statement in triggers:
            connection.execute(statement)
    return connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET line = 'x' WHERE sequence = 2",
        "UPDATE entries SET sequence = sequence + 10 WHERE sequence = 4",
        "DELETE FROM entries WHERE sequence = 4",
    ],
)
def test_the_database_refuses_to_change_entries(budget, statement):
    with pytest.raises(Exception, match="never"):
        execute(budget, statement)
    assert len(budget.entries()) == 4


def test_sqlite_refuses_replacements_and_gaps(tmp_path):
    budget = Budget(1.0, 1e-6, tmp_path / "budget.sqlite")
    charge(budget, "first")
    for sequence in (0, 1, 3):
        with pytest.raises(sqlite3.IntegrityError, match="at its end"):
            execute(budget, f"INSERT OR REPLACE INTO entries VALUES ({sequence}, 'a', 'b')")
    assert len(budget.entries()) == 1


def test_postgresql_refuses_gaps_and_truncation(server):
    import psycopg

    budget = Budget(1.0, 1e-6, server.url("gaps"))
    with psycopg.connect(server.url()) as connection:
        for sequence in (0, 2):
            with pytest.raises(psycopg.errors.UniqueViolation), connection.transaction():
                connection.execute(
                    "INSERT INTO dplasso_budget VALUES ('gaps', %s, 'a', 'b')", [sequence]
                )
    with pytest.raises(psycopg.errors.RaiseException, match="never"):
        execute(budget, "TRUNCATE entries")


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        (
            "UPDATE entries SET line = replace(line, 'release 1', 'release 9') WHERE sequence = 2",
            "entry 2",
        ),
        ("UPDATE entries SET line = replace(line, '50.0', '99.0') WHERE sequence = 3", "entry 3"),
        ("UPDATE entries SET line = replace(line, ':1.0', ':9.0') WHERE sequence = 0", "altered"),
        ("DELETE FROM entries WHERE sequence = 1", "entr"),
    ],
)
def test_changes_behind_its_back_show_when_a_ledger_is_read(budget, statement, told):
    without_triggers(budget, statement)
    with pytest.raises(LedgerError, match=told):
        Budget.open(budget._store.address).entries()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET line = replace(line, '50.0', '99.0') WHERE sequence = 4",
        "UPDATE entries SET line = replace(line, ':1.0', ':9.0') WHERE sequence = 0",
        "DELETE FROM entries WHERE sequence = 2",
    ],
)
def test_no_charge_is_added_to_ends_that_were_altered(budget, statement):
    without_triggers(budget, statement)
    before = budget._store.lines()
    unaware = Budget._at(budget._store.address, None)  # as in another process
    with pytest.raises(LedgerError, match="cannot be trusted"):
        charge(unaware, "more")
    assert budget._store.lines() == before


@pytest.mark.parametrize("aware", [True, False])
def test_a_line_that_someone_forged_is_not_built_upon(budget, aware):
    """It follows from the last one and has a sound hash, but claims that little was spent."""
    head = budget.entries()[-1]
    forged = replace(head, sequence=5, id="0" * 32, previous=head.hash, total=head.cost)
    places = "ledger, sequence, id, line" if "postgresql" in budget.shown else "sequence, id, line"
    values = f"5, '{forged.id}', '{forged.line}'"
    if "postgresql" in budget.shown:
        values = f"'{budget._store._ledger}', {values}"
    add = f"INSERT INTO entries ({places}) SELECT {values} WHERE 1 = 1"
    execute(budget, add.replace("WHERE 1 = 1", "FROM entries WHERE sequence = 0"))
    victim = budget if aware else Budget._at(budget._store.address, None)
    with pytest.raises(LedgerError, match="entry 5 .* does not add up"):
        charge(victim, "more")


def test_safeguards_that_are_gone_show(budget):
    if budget.shown.startswith("postgresql"):
        execute(budget, "ALTER TABLE entries DISABLE TRIGGER dplasso_budget_keep")
    else:
        execute(budget, "DROP TRIGGER no_delete")
    try:
        for work in (budget.entries, lambda: charge(budget, "more")):
            with pytest.raises(LedgerError, match="safeguards"):
                work()
    finally:
        if budget.shown.startswith("postgresql"):
            execute(budget, "ALTER TABLE entries ENABLE TRIGGER USER")


def test_only_an_export_shows_a_ledger_cut_short(budget, tmp_path):
    assert len(budget.export(tmp_path / "full.jsonl").charges) == 4
    budget.verify(tmp_path / "full.jsonl")
    charge(budget, "later")
    budget.verify(tmp_path / "full.jsonl")
    without_triggers(budget, "DELETE FROM entries WHERE sequence >= 3")
    unaware = Budget.open(budget._store.address)
    assert len(unaware.entries()) == 2
    for aware in (budget, pickle.loads(pickle.dumps(budget))):  # whoever saw more knows
        for work in (aware.entries, lambda aware=aware: charge(aware, "more")):
            with pytest.raises(LedgerError, match="entry 5, which was seen before, is gone"):
                work()
    with pytest.raises(LedgerError, match="entries 3 to 4 .* cut short"):
        unaware.verify(tmp_path / "full.jsonl")


def test_an_export_shows_a_ledger_written_anew(budget, tmp_path):
    budget.export(tmp_path / "full.jsonl")
    without_triggers(budget, "DELETE FROM entries WHERE sequence >= 2")
    unaware = Budget.open(budget._store.address)
    for label in ("forged", "forged", "forged"):
        charge(unaware, label)
    with pytest.raises(LedgerError, match="entry 2 is not the one that was exported"):
        unaware.verify(tmp_path / "full.jsonl")


def test_exports_are_kept_and_checked(budget, tmp_path):
    path = tmp_path / "full.jsonl"
    budget.export(path)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="not overwritten"):
        budget.export(path)
    assert path.read_bytes() == before
    path.write_bytes(before[:-30])
    with pytest.raises(LedgerError, match="line 5: it was cut off"):
        budget.verify(path)
    path.write_bytes(before.replace(b"release 2", b"release 8"))
    with pytest.raises(LedgerError, match="entry 3"):
        budget.verify(path)
    path.write_bytes(b"")
    with pytest.raises(LedgerError, match="no entry"):
        budget.verify(path)


def test_another_ledger_does_not_take_its_place(budget):
    """Whoever holds a budget does not go on with a new one of the same name."""
    without_triggers(budget, "DELETE FROM entries WHERE sequence >= 0")
    if not budget.shown.startswith("postgresql"):
        os.unlink(budget.shown)
    Budget(1.0, 1e-6, budget._store.address)
    with pytest.raises(LedgerError, match="is not what it was: entry 4"):
        charge(budget, "more")
