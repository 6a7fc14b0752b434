"""All that leaves a party is releases; the rest follows from them, and no length tells more."""

import itertools

import numpy as np
import pytest

from dplasso.federated import Coordinator, holdings
from dplasso.federated.messages import PartyRelease, PartyRequest
from federations import agreed, made, parties_of, recorded, run_job

CASES = [
    {},
    {"sampling": "distributed", "tau": 3, "step": "universal"},
    {"sampling": "arbitrary", "probabilities": (0.4, 0.7), "rounds": 9},
    {"sampling": "nice", "tau": 4, "epsilon": float("inf")},
]


@pytest.mark.parametrize("case", CASES)
def test_every_answer_is_a_release_and_nothing_more(case):
    rounds, _ = run_job(agreed(**case), made())
    for message in itertools.chain(*rounds):
        assert message.release.to_bytes() == message.answer
        assert PartyRequest.from_bytes(message.request).to_bytes() == message.request


@pytest.mark.parametrize("case", CASES)
def test_requests_weights_and_card_follow_from_releases_and_terms(case):
    """A coordinator that never met a party, given the answers, comes to the same byte for byte."""
    terms = agreed(**case)
    rounds, coordinator = run_job(terms, made())
    again = Coordinator(terms)
    for messages in rounds:
        assert again.requests() == {m.party: m.request for m in messages}
        again.receive({m.party: m.answer for m in messages})
    assert again.done and again.requests() == {}
    assert again.result() == coordinator.result()
    assert np.array_equal(again.weights.values, coordinator.weights.values)


def test_releases_do_not_depend_on_who_else_asks():
    """The same questions get the same answers in a life of its own: parties never meet."""
    terms, data = agreed(sampling="distributed"), made()
    rounds, _ = run_job(terms, data, random_state=5)
    alone = parties_of(terms, data, random_state=5)["shop"]
    for message in itertools.chain(*rounds):
        if message.party == "shop":
            assert alone.answer(message.request) == message.answer


@pytest.mark.parametrize("case", CASES)
def test_sizes_follow_from_terms_and_choices(case, monkeypatch):
    """Other people, more of them, and other numbers: the same choices, the same sizes."""
    terms, sizes = agreed(**case), []
    monkeypatch.setattr(holdings, "draw_by_score", lambda scores, *_: len(scores) // 3)
    monkeypatch.setattr(holdings.np, "argmax", lambda scores: len(scores) // 3)
    for rows, seed in ((40, 0), (3, 1), (200, 2)):
        data = made(rows, seed=seed)
        data.blocks["bank"][:] *= 10.0**seed
        coordinator = Coordinator(terms)
        rounds = recorded(coordinator, parties_of(terms, data))
        sizes.append([(m.party, len(m.request), len(m.answer)) for m in itertools.chain(*rounds)])
        assert coordinator.card().uplink_bytes == {
            name: sum(size for party, _, size in sizes[-1] if party == name) for name in data.blocks
        }
    assert sizes[0] == sizes[1] == sizes[2]


def test_noise_is_in_every_number(monkeypatch):
    """Two lives of the same party, asked the same, agree in nothing but by chance."""
    terms, data = agreed(), made()
    monkeypatch.setattr(holdings, "draw_by_score", lambda scores, *_: 0)
    one, other = (run_job(terms, data)[0] for _ in range(2))
    for a, b in zip(itertools.chain(*one[:3]), itertools.chain(*other[:3]), strict=True):
        assert a.release.total != b.release.total
        assert np.mean(a.release.numbers == b.release.numbers) < 0.5


def test_the_last_answers_say_nothing():
    rounds, _ = run_job(agreed(), made())
    last = [message.release for message in rounds[-1]]
    for release in last:
        assert (release.sign, release.feature, release.total, len(release.numbers)) == (0, -1, 0, 0)
    assert {type(release) for release in last} == {PartyRelease}
