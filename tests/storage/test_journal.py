"""A journal after a crash: whole records, and nothing else."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.storage.journal import Journal


@settings(max_examples=60, deadline=None)
@given(records=st.lists(st.binary(max_size=50), min_size=1, max_size=6), data=st.data())
def test_a_journal_cut_anywhere_has_its_first_records(tmp_path_factory, records, data):
    path = tmp_path_factory.mktemp("journal") / "rows"
    ends = [0]
    with Journal(path) as journal:
        for record in records:
            journal.append(record)
            ends.append(path.stat().st_size)
    cut = data.draw(st.integers(0, ends[-1]))
    with open(path, "r+b") as file:
        file.truncate(cut)
    whole = sum(end <= cut for end in ends[1:])
    with Journal(path) as journal:
        assert list(journal.records()) == records[:whole]
        journal.append(b"more")
        assert list(journal.records()) == [*records[:whole], b"more"]


@pytest.mark.parametrize("place", [0, 8, 13, 30])
def test_damage_ends_a_journal(tmp_path, place):
    path = tmp_path / "rows"
    with Journal(path) as journal:
        for record in (b"first", b"second"):
            journal.append(record)
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(bytes(content))
    with Journal(path) as journal:
        assert list(journal.records()) == ([] if place < 17 else [b"first"])
