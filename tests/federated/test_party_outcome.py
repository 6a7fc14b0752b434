"""What the owner of a party is told of a job, in its log: its end, its releases and its cost."""

import re

import pytest

from dplasso.federated.party_outcome import PartyOutcome
from party_folders import PARTIES, proposed, run, set_up


@pytest.fixture
def folder(tmp_path, caplog):
    caplog.set_level("INFO", logger="dplasso.federated")
    return set_up(tmp_path)


def test_the_log_says_what_was_charged_and_released_and_how_a_job_ended(folder, caplog):
    coordinator = run(folder, proposed(epsilon=0.5, min_overlap=0))
    assert coordinator.rounds == (6, 6)
    begun, ended = (
        [record.getMessage() for record in caplog.records if word in record.getMessage()]
        for word in ("is under way; released here: nothing", "has ended: complete")
    )
    cost = r"charged rho [\d.e-]+, which is epsilon 0.5 at delta 1e-06, for what all parties"
    assert len(begun) == len(ended) == len(PARTIES) == len(caplog.records) / 2
    assert all(re.search(cost, line) for line in (*begun, *ended))
    assert sum("labels 1, selections" in line for line in ended) == 1
    assert all("; the coefficients are in its folder of state" in line for line in ended)


def test_the_log_says_that_a_refused_job_cost_nothing(folder, caplog):
    coordinator = run(folder, proposed(epsilon=2.0))
    assert coordinator.rounds == (0, 6)
    for record in caplog.records:
        assert "released here: nothing; nothing was charged" in record.getMessage()


def test_what_a_server_says_cannot_imitate_a_line_of_the_log():
    ended = "complete\n2026-01-01 INFO all is well\x1b[2J"
    facts = {"model": False, "releases": {}, "rho": 0.0, "delta": 1e-6}
    words = PartyOutcome.of("job", ended, **facts).in_words
    assert words.isprintable() and "all is well" in words
