"""Malformed input: clear errors, nothing corrupted. benchmarks/fuzz_ledger.py tries a million."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import broken_ledgers
from dplasso.ledger import Budget, LedgerError
from dplasso.ledger.entry import parse
from dplasso.ledger.event_form import from_form, to_form
from dplasso.privacy.events import Composed, PureDP, Repeated
from ledger_events import events

seeds = st.integers(0, 2**64)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda parts: st.lists(parts, max_size=4) | st.dictionaries(st.text(max_size=9), parts),
    max_leaves=10,
)


@given(events)
def test_events_survive_json(event):
    assert from_form(to_form(event)) == event


@given(values)
def test_other_values_are_no_events(value):
    with pytest.raises(ValueError, match="event"):
        from_form(value)


@given(seeds)
def test_bent_events_are_refused_or_taken_for_what_they_are(seed):
    assert broken_ledgers.check_event(seed)


@given(st.one_of(st.text(), st.binary(), st.none(), values.map(repr)))
def test_other_texts_are_no_lines(text):
    with pytest.raises(LedgerError, match="line of the ledger"):
        parse(text)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"format":' * 50_000, "9" * 5000, "x" * 300_000])
def test_texts_that_are_too_much_are_no_lines(text):
    with pytest.raises(LedgerError):
        parse(text)


def test_events_that_are_too_much_are_refused(tmp_path):
    budget, deep = Budget(1.0, 1e-6, tmp_path / "budget.sqlite"), PureDP(0.0)
    for _ in range(3000):
        deep = Composed((deep,))
    for event in (deep, Composed((PureDP(0.0),) * 3000), Repeated(PureDP(0.0), 10**5000)):
        with pytest.raises(ValueError, match="parts|63 bits"):
            budget.charge(event, delta=1e-6, neighboring="add_remove", label="much")
    assert not budget.entries()


@settings(max_examples=60, deadline=None)
@given(seed=seeds)
def test_odd_charges_are_refused_or_entered_for_what_they_are(tmp_path_factory, seed):
    budget = Budget(1.0, 1e-6, tmp_path_factory.getbasetemp() / "odd.sqlite")
    assert broken_ledgers.check_charge(budget, seed)


def test_odd_charges_to_a_server(server):
    budget = Budget(1.0, 1e-6, server.url("odd"))
    assert all(broken_ledgers.check_charge(budget, seed) for seed in range(40))
    budget.verify()


def test_damaged_files_are_refused_or_hold_what_they_held(tmp_path):
    path, copy = tmp_path / "budget.sqlite", tmp_path / "copy.sqlite"
    budget = Budget(1.0, 1e-6, path)
    for _ in range(8):
        budget.charge(broken_ledgers.EVENT, delta=1e-6, neighboring="add_remove", label="a release")
    before = path.read_bytes()
    assert all(broken_ledgers.check_file(path, copy, seed) for seed in range(120))
    assert path.read_bytes() == before
