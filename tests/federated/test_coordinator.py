"""A coordinator that is stopped, or loses parties: it ends the job with what it was given."""

import itertools

import numpy as np
import pytest

from dplasso.federated import Coordinator, Refused
from dplasso.federated.messages import Request
from federations import FEATURES, agreed, made, parties_of, run_job

CASES = [{}, {"sampling": "distributed", "step": "universal"}]


def answers_of(coordinator, parties):
    return {name: parties[name].answer(asked) for name, asked in coordinator.requests().items()}


def step(coordinator, parties):
    coordinator.receive(answers_of(coordinator, parties))


def finish(coordinator, parties):
    while coordinator.requests():
        step(coordinator, parties)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("heard", [True, False])
def test_a_coordinator_made_anew_in_every_round_comes_to_the_same(tmp_path, case, heard):
    """Whether it is stopped before answers are kept, or after."""
    terms, path = agreed(**case), tmp_path / "journal"
    expected, watched = Coordinator(terms), []
    parties = parties_of(terms, made(), random_state=4)
    while True:
        coordinator = Coordinator(terms, journal=path)
        assert coordinator.requests() == expected.requests()
        assert coordinator.result() == expected.result()
        watched.append(coordinator.rounds_done)
        if coordinator.done:
            break
        answers = answers_of(coordinator, parties)
        if heard:
            coordinator.receive(answers)
        coordinator.close()
        if not heard:
            again = Coordinator(terms, journal=path)
            assert answers_of(again, parties) == answers
            again.receive(answers)
            again.close()
        expected.receive(answers)
    coordinator.close()
    assert watched[-1] == terms.rounds and watched == sorted(watched)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("at", range(8))
def test_a_loss_ends_the_job_with_the_rounds_so_far_also_over_a_restart(tmp_path, case, at):
    terms = agreed(**case)
    parties = parties_of(terms, made(), random_state=4)
    coordinator = Coordinator(terms, journal=tmp_path / "journal")
    for _ in range(at):
        step(coordinator, parties)
    # Some may have answered when the other is lost: their answers are not used.
    answers_of(coordinator, parties)
    weights = coordinator.weights.values.copy()
    coordinator.lose("shop", "gone")
    coordinator.close()
    coordinator = Coordinator(terms, journal=tmp_path / "journal")
    assert coordinator.card().ended == "shop: gone"
    assert set(coordinator.requests()) == {"bank"}
    finish(coordinator, parties)
    coordinator.close()
    again = Coordinator(terms, journal=tmp_path / "journal")
    again.close()
    assert again.done and again.result() == coordinator.result()
    card = again.card()
    assert card.rounds_done == max(0, min(at - 1, terms.rounds))
    assert np.array_equal(card.weights, weights)
    own = [c for c, party in zip(card.coefficients, card.parties, strict=True) if party == "bank"]
    assert parties["bank"].model.coefficients == own


def test_parties_are_told_before_and_after_a_restart_of_the_last_round(tmp_path):
    terms = agreed()
    parties = parties_of(terms, made(), random_state=4)
    coordinator = Coordinator(terms, journal=tmp_path / "journal")
    for _ in range(1 + terms.rounds):
        step(coordinator, parties)
    parties["bank"].answer(coordinator.requests()["bank"])  # half of the round, and then no more
    coordinator.close()
    again = Coordinator(terms, journal=tmp_path / "journal")
    assert again.requests() == coordinator.requests()
    finish(again, parties)
    again.close()
    assert again.done and again.card().ended == "complete"
    for name, party in parties.items():
        own = [w for w, k in zip(again.card().coefficients, again.card().parties, strict=True)
               if k == name]  # fmt: skip
        assert party.model.coefficients == own


def test_all_may_be_lost(tmp_path):
    coordinator = Coordinator(agreed(), journal=tmp_path / "journal")
    for name in FEATURES:
        assert not coordinator.done
        coordinator.lose(name, "no answer")
        coordinator.lose(name, "told twice")
    assert coordinator.done and coordinator.requests() == {}
    coordinator.lose("bank", "after the end")
    coordinator.close()
    again = Coordinator(agreed(), journal=tmp_path / "journal")
    again.close()
    assert again.card() == coordinator.card()
    assert again.card().ended == "bank: no answer; shop: no answer"
    assert again.card().weights == []


def test_nothing_is_taken_after_the_end():
    _, coordinator = run_job(agreed(), made())
    with pytest.raises(Refused, match="all that were asked"):
        coordinator.receive({})
    coordinator.lose("bank", "too late")
    assert coordinator.card().ended == "complete"


def test_who_is_no_party_cannot_be_lost():
    with pytest.raises(ValueError, match="party must be one of bank, shop"):
        Coordinator(agreed()).lose("mill", "who?")


def test_a_journal_serves_one_job(tmp_path):
    path = tmp_path / "journal"
    Coordinator(agreed(), journal=path).close()
    with pytest.raises(Refused, match="not of job job on these terms"):
        Coordinator(agreed(epsilon=3.0), journal=path)
    Coordinator(agreed(), journal=str(path)).close()


def test_half_a_round_of_a_crash_is_asked_again(tmp_path):
    terms, path = agreed(), tmp_path / "journal"
    parties = parties_of(terms, made(), random_state=4)
    coordinator, sizes, cards = Coordinator(terms, journal=path), [], []
    while coordinator.requests():
        step(coordinator, parties)
        sizes.append(path.stat().st_size)
        cards.append(coordinator.result())
    coordinator.close()
    content = path.read_bytes()
    for round_, size in enumerate(sizes[:-1]):
        path.write_bytes(content[: size + 20])
        again = Coordinator(terms, journal=path)
        again.close()
        assert again.result() == cards[round_]


def test_rounds_that_ask_nobody_do_not_end_a_job():
    terms = agreed(sampling="arbitrary", probabilities=(0.05, 0.05), rounds=40)
    rounds, coordinator = run_job(terms, made())
    asked = [Request.from_bytes(m.request).round for m in itertools.chain(*rounds)]
    assert len(set(asked)) < 20 and asked[-1] == 41
    assert coordinator.rounds_done == 40 and coordinator.card().ended == "complete"
