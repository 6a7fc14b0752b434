"""A coordinator that is stopped, or loses parties: it ends the job with what it was given."""

import itertools

import pytest

from dplasso.federated import Coordinator, Refused
from dplasso.federated.messages import PartyRequest
from federations import FEATURES, agreed, made, parties_of, run_job

CASES = [{}, {"sampling": "distributed", "step": "universal"}]


def answers_of(coordinator, parties):
    return {name: parties[name].answer(asked) for name, asked in coordinator.requests().items()}


def step(coordinator, parties):
    coordinator.receive(answers_of(coordinator, parties))


def finish(coordinator, parties):
    while coordinator.requests():
        step(coordinator, parties)


def told_again(terms, past):
    """A new coordinator that hears what another one heard."""
    coordinator = Coordinator(terms)
    for answers in past:
        coordinator.receive(answers)
    return coordinator


@pytest.mark.parametrize("case", CASES)
def test_a_coordinator_made_anew_in_every_round_comes_to_the_same(case):
    terms = agreed(**case)
    parties = parties_of(terms, made(), random_state=4)
    coordinator, past = Coordinator(terms), []
    while coordinator.requests():
        past.append(answers_of(coordinator, parties))
        coordinator.receive(past[-1])
        again = told_again(terms, past)
        assert again.requests() == coordinator.requests()
        assert again.result() == coordinator.result()
    assert again.done and again.card().rounds_done == terms.rounds


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("at", range(8))
def test_a_loss_ends_the_job_with_what_was_answered(case, at):
    terms = agreed(**case)
    parties = parties_of(terms, made(), random_state=4)
    coordinator = Coordinator(terms)
    for _ in range(at):
        step(coordinator, parties)
    answers = answers_of(coordinator, parties)
    answers.pop("shop", None)
    coordinator.lose("shop", "gone")
    coordinator.receive(answers)
    card = coordinator.card()
    assert card.ended == "shop: gone"
    assert card.rounds_done == max(0, min(at, terms.rounds))
    if at <= terms.rounds:  # else the others were told in this very round
        assert set(coordinator.requests()) == {"bank"}
    finish(coordinator, parties)
    assert coordinator.done
    own = [c for c, party in zip(card.coefficients, card.parties, strict=True) if party == "bank"]
    assert parties["bank"].model.coefficients == own


def test_parties_that_were_told_are_told_again():
    terms = agreed()
    parties = parties_of(terms, made(), random_state=4)
    coordinator = Coordinator(terms)
    for _ in range(1 + terms.rounds):
        step(coordinator, parties)
    parties["bank"].answer(coordinator.requests()["bank"])  # half of the round, and then again
    finish(coordinator, parties)
    card = coordinator.card()
    assert coordinator.done and card.ended == "complete"
    for name, party in parties.items():
        pairs = zip(card.coefficients, card.parties, strict=True)
        assert party.model.coefficients == [w for w, owner in pairs if owner == name]


def test_all_may_be_lost():
    coordinator = Coordinator(agreed())
    for name in FEATURES:
        assert not coordinator.done
        coordinator.lose(name, "no answer")
        coordinator.lose(name, "told twice")
    coordinator.receive({})
    assert coordinator.done and coordinator.requests() == {}
    coordinator.lose("bank", "after the end")
    assert coordinator.card().ended == "bank: no answer; shop: no answer"
    assert coordinator.card().weights == []


def test_nothing_is_taken_after_the_end():
    _, coordinator = run_job(agreed(), made())
    with pytest.raises(Refused, match="all parties that were asked"):
        coordinator.receive({})
    coordinator.lose("bank", "too late")
    assert coordinator.card().ended == "complete"


def test_who_is_no_party_cannot_be_lost():
    with pytest.raises(ValueError, match="party must be one of bank, shop"):
        Coordinator(agreed()).lose("mill", "who?")


def test_rounds_that_ask_nobody_do_not_end_a_job():
    terms = agreed(sampling="arbitrary", probabilities=(0.05, 0.05), rounds=40)
    rounds, coordinator = run_job(terms, made())
    asked = [PartyRequest.from_bytes(m.request).round for m in itertools.chain(*rounds)]
    assert len(set(asked)) < 20 and asked[-1] == 41
    assert coordinator.card().rounds_done == 40 and coordinator.card().ended == "complete"
