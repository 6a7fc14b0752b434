"""Parties that are closed, damaged or out of room: what was drawn is never drawn again."""

import numpy as np
import pytest

from dplasso.federated import Coordinator, Refused
from dplasso.federated.release_log import ReleaseLog
from dplasso.ledger import Budget
from dplasso.storage.journal import Journal
from federated_lives import END, TERMS, ask_bank, bank, living, rounds_on_disk
from federations import agreed


def test_a_party_goes_on_as_if_nothing_had_happened(tmp_path):
    """A life for every round: the same bytes again, and rows charged as they were."""
    coordinator = Coordinator(TERMS)
    while requests := coordinator.requests():
        with living(tmp_path) as party:
            answer = party.answer(requests["bank"])
            left = party._holdings._columns.left.copy()
        with living(tmp_path) as party:
            assert party.answer(requests["bank"]) == answer
            assert np.array_equal(party._holdings._columns.left, left)
        coordinator.receive({"bank": answer})
    card = coordinator.card()
    with living(tmp_path) as party:
        model = party.model
    assert (model.features, model.coefficients) == (card.features, card.coefficients)
    assert model.intercept == card.intercept
    assert rounds_on_disk(tmp_path) == list(range(END + 1))


def test_rows_give_no_more_in_two_lives_than_in_one(tmp_path):
    with living(tmp_path) as party:
        before = party._holdings._columns.left.copy()
        party.answer(ask_bank(1))
        after = party._holdings._columns.left.copy()
    assert (after <= before).all() and (after < before).any()
    with living(tmp_path) as party:
        assert np.array_equal(party._holdings._columns.left, after)


def test_a_party_that_is_closed_answers_nothing(tmp_path):
    with living(tmp_path) as party:
        party.answer(ask_bank(1))
    for at in (1, 2):
        with pytest.raises(Refused, match="is closed"):
            party.answer(ask_bank(at))
    party.close()
    assert rounds_on_disk(tmp_path) == [1]


def test_one_life_at_a_time(tmp_path):
    with living(tmp_path) as party:
        with pytest.raises(Refused, match="another process works on job"):
            bank(tmp_path)
        party.answer(ask_bank(1))
    with living(tmp_path):
        pass


def test_a_name_serves_one_job(tmp_path):
    with living(tmp_path) as party:
        party.answer(ask_bank(1))
    other = agreed({"bank": 6}, rounds=5, epsilon=2.5)
    for _ in range(2):  # refused the same way again: the lock is free
        with pytest.raises(Refused, match="begun on other terms"):
            ReleaseLog(other, "bank", tmp_path)
    with pytest.raises(Refused, match="begun on other terms"):
        ReleaseLog(TERMS, "shop", tmp_path)
    with living(tmp_path):
        pass


@pytest.fixture
def three_rounds(tmp_path):
    """A release log of rounds 0 to 2, its answers, and where its records end."""
    path, ends, answers = tmp_path / "job.notebook", [], []
    with living(tmp_path) as party:
        for at in range(3):
            answers.append(party.answer(ask_bank(at)))
            ends.append(path.stat().st_size)
    return path, answers, ends


def test_damage_is_never_taken_for_a_crash(three_rounds, tmp_path):
    """What follows a damaged record would be drawn again: the party refuses instead."""
    path, _, ends = three_rounds
    content = path.read_bytes()
    for place in (0, 3, 9, 24, ends[0] - 1, ends[0], ends[1] + 2, ends[1] + 60, ends[2] - 1):
        damaged = bytearray(content)
        damaged[place] ^= 4
        path.write_bytes(bytes(damaged))
        with pytest.raises(Refused, match="has lost releases"):
            bank(tmp_path)
    path.write_bytes(content)
    assert rounds_on_disk(tmp_path) == [0, 1, 2]


def test_a_release_log_that_was_cut_or_taken_away_is_missed(three_rounds, tmp_path):
    path, _, ends = three_rounds
    content = path.read_bytes()
    for length in (0, 5, ends[0], ends[1], ends[2] - 1):
        path.write_bytes(content[:length])
        with pytest.raises(Refused, match="has lost releases"):
            bank(tmp_path)
    path.unlink()
    with pytest.raises(Refused, match="has lost releases"):
        bank(tmp_path)


def test_half_a_record_of_a_crash_is_taken_off(three_rounds, tmp_path):
    path, answers, ends = three_rounds
    content = path.read_bytes()
    for length in (1, 11, 100):
        path.write_bytes(content + content[ends[1] : ends[1] + length])
        with living(tmp_path) as party:
            assert party.answer(ask_bank(2)) == answers[2]
    assert path.read_bytes() == content


def test_a_crash_before_the_count_is_written_loses_nothing(three_rounds, tmp_path):
    _, answers, _ = three_rounds
    count = tmp_path / "job.lock"
    # Terms, what the rows are, that the job is charged, and three releases.
    assert count.read_bytes() == (6).to_bytes(8, "little")
    for found in ((5).to_bytes(8, "little"), b""):
        count.write_bytes(found)
        with living(tmp_path) as party:
            assert party.answer(ask_bank(2)) == answers[2]


def test_a_full_disk_ends_the_life_and_not_the_job(tmp_path, monkeypatch):
    """Half a record is written: another behind it would be lost with it."""

    def fails(journal, record):
        journal._file.write(b"half of it")
        raise OSError("no room")

    with living(tmp_path) as party:
        party.answer(ask_bank(0))
        with monkeypatch.context() as full:
            full.setattr(Journal, "append", fails)
            with pytest.raises(OSError, match="no room"):
                party.answer(ask_bank(1))
        with pytest.raises(Refused, match="is closed"):
            party.answer(ask_bank(1))
    with living(tmp_path) as party:
        answer = party.answer(ask_bank(1))
    with living(tmp_path) as party:
        assert party.answer(ask_bank(1)) == answer
    assert rounds_on_disk(tmp_path) == [0, 1]


def test_a_job_is_charged_once_over_restarts(tmp_path, monkeypatch):
    budget = Budget(5.0, 1e-6, tmp_path / "budget.sqlite")
    with monkeypatch.context() as killed, living(tmp_path, accountant=budget) as party:
        killed.setattr(ReleaseLog, "begin", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            party.answer(ask_bank(0))
    # Between the charge and the release log a crash wastes a charge, and never loses one.
    for at in (0, 0, 1, 2, 5):
        with living(tmp_path, accountant=budget) as party:
            party.answer(ask_bank(at))
        assert len(budget.entries()) == 2


def test_without_a_folder_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bank(None).answer(ask_bank(1))
    assert list(tmp_path.iterdir()) == []
