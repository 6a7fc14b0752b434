"""Messages that are damaged, cut, foreign or replayed: refused by name, and by nothing else."""

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.federated import Coordinator, Refused
from dplasso.federated.messages import VERSION, Ask, Gave, PartyRelease, PartyRequest, _seal
from federations import agreed, made, parties_of, run_job

TERMS = agreed(sketch_size=8)


@pytest.fixture(scope="module")
def rounds():
    return run_job(TERMS, made(), random_state=1)[0]


@pytest.fixture
def party():
    """The shop, before its first round."""
    return parties_of(TERMS, made(), random_state=1)["shop"]


@pytest.fixture
def coordinator(rounds):
    """One that waits for the shop's first answer, to round 2."""
    found = Coordinator(TERMS)
    for messages in rounds[:2]:
        found.receive({m.party: m.answer for m in messages})
    assert set(found.requests()) == {"shop"}
    return found


def refused(call, *args):
    with pytest.raises(Refused) as told:
        call(*args)
    return str(told.value)


def test_every_damaged_byte_is_found(rounds, party, coordinator):
    (message,) = rounds[2]
    for content, take in (
        (message.request, party.answer),
        (message.answer, lambda answer: coordinator.receive({"shop": answer})),
    ):
        for place in range(len(content)):
            damaged = bytearray(content)
            damaged[place] ^= 1 << (place % 8)
            refused(take, bytes(damaged))
    assert party.answer(message.request) == message.answer  # nothing was drawn meanwhile
    coordinator.receive({"shop": message.answer})


def test_every_cut_is_found(rounds, party, coordinator):
    (message,) = rounds[2]
    for length in range(len(message.request)):
        refused(party.answer, message.request[:length])
    for length in range(len(message.answer)):
        refused(coordinator.receive, {"shop": message.answer[:length]})
    refused(party.answer, message.request + b"\0")
    refused(coordinator.receive, {"shop": message.answer + b"\0"})


@pytest.mark.parametrize("content", [None, "text", 7, bytearray(500), b"", b"GET / HTTP/1.1" * 20])
def test_what_is_no_message_is_refused(party, coordinator, content):
    refused(party.answer, content)
    refused(coordinator.receive, {"shop": content})


@pytest.fixture(scope="module")
def unasked():
    """Both sides before anything was said; what is refused leaves them so."""
    return parties_of(TERMS, made(), random_state=1)["shop"], Coordinator(TERMS)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=120), st.integers(0, 3), st.booleans())
def test_sealed_nonsense_is_refused(unasked, body, what, own):
    """Whoever can seal can write anything: a body of any bytes, right terms or not."""
    party, coordinator = unasked
    content = _seal(what, TERMS.digest if own else bytes(32), body)
    refused(party.answer, content)
    refused(coordinator.receive, {"bank": content})


HUGE = [np.nan, np.inf, -np.inf, 1e101, -1.8e308]


@pytest.mark.parametrize("number", HUGE)
def test_numbers_that_would_overflow_are_refused(party, rounds, number):
    honest = PartyRequest.from_bytes(rounds[2][0].request)
    numbers = honest.numbers.copy()
    numbers[3] = number
    asked = PartyRequest(honest.digest, honest.party, honest.round, Ask.SELECT, 1.0, numbers)
    assert "not finite" in refused(party.answer, asked.to_bytes())


@pytest.mark.parametrize("clip", [np.nan, np.inf, -1.0, 1e-320, 1e-200, 1e300])
def test_clips_that_would_overflow_are_refused(party, rounds, clip):
    honest = PartyRequest.from_bytes(rounds[2][0].request)
    asked = PartyRequest(
        honest.digest, honest.party, honest.round, Ask.SELECT, clip, honest.numbers
    )
    assert "not finite" in refused(party.answer, asked.to_bytes())


def changed(content, **fields):
    release = PartyRelease.from_bytes(content)
    return PartyRelease(**{**vars(release), **fields}).to_bytes()


@pytest.mark.parametrize(
    "fields",
    [
        {"digest": bytes(32)},
        {"party": 0},
        {"party": 9},
        {"round": 1},
        {"round": 3},
        {"kind": Gave.LABELS},
        {"kind": Gave.STORED},
        {"kind": Gave.AGAIN},
        {"kind": Gave.NOTHING},
        {"sign": 0},
        {"sign": 5},
        {"feature": -1},
        {"feature": 5},
        {"feature": 2**62},
        {"numbers": np.zeros(7, np.int64)},
        {"numbers": np.zeros(0, np.int64)},
        {"width": 8},
    ],
)
def test_releases_that_were_not_asked_for_are_refused(rounds, coordinator, fields):
    (message,) = rounds[2]
    refused(coordinator.receive, {"shop": changed(message.answer, **fields)})
    coordinator.receive({"shop": message.answer})


def test_replays_and_answers_of_others_are_refused(rounds, coordinator):
    for place, messages in enumerate(rounds):
        for message in messages:
            if place != 2:
                refused(coordinator.receive, {"shop": message.answer})
    answer = rounds[2][0].answer
    for answers in ({}, {"bank": answer}, {"bank": answer, "shop": answer}, {"nobody": answer}):
        assert "all parties that were asked" in refused(coordinator.receive, answers)


def test_a_feature_is_shared_once(rounds, coordinator):
    coordinator.receive({"shop": rounds[2][0].answer})
    coordinator.receive({"bank": rounds[3][0].answer})
    again = changed(rounds[2][0].answer, round=4)
    assert "did not ask for" in refused(coordinator.receive, {"shop": again})


def test_another_version_says_which_it_is(party, rounds):
    content = bytearray(rounds[2][0].request)
    content[4:6] = struct.pack("<H", VERSION + 1)
    assert f"version {VERSION + 1}" in refused(party.answer, bytes(content))


@settings(max_examples=50, deadline=None)
@given(
    st.integers(0, 2**16 - 1),
    st.integers(0, 2**32 - 1),
    st.sampled_from(list(Gave)),
    st.integers(-128, 127),
    st.integers(-(2**63), 2**63 - 1),
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5),
)
def test_releases_come_back_as_they_were(party, at, kind, sign, number, numbers):
    release = PartyRelease(
        bytes(32), party, at, kind, sign, number, number, np.array(numbers, np.int64), 8
    )
    again = PartyRelease.from_bytes(release.to_bytes())
    assert again.to_bytes() == release.to_bytes()
    assert (again.party, again.round, again.kind, again.sign) == (party, at, kind, sign)
    assert again.numbers.tolist() == numbers and again.feature == again.total == number
