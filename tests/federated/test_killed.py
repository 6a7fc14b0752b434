"""A party killed with SIGKILL again and again: the same rounds, the same bytes."""

import itertools
from functools import partial

import numpy as np
import pytest

from dplasso.federated import Coordinator
from dplasso.federated.messages import Gave, PartyRelease
from federated_lives import END, TERMS, Life, bank, living, rounds_on_disk


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_killed_again_and_again_a_party_never_answers_a_round_in_two_ways(tmp_path):
    rng, kills, heard = np.random.default_rng(0), 0, {}
    coordinator = Coordinator(TERMS)
    open_bank = partial(bank, tmp_path)
    life = Life(open_bank)
    for at in itertools.count():
        if not (requests := coordinator.requests()):
            break
        # Killed before, while or after it answers, until it was heard twice.
        hearings = 0
        while hearings < 2:
            answer = life.ask(requests["bank"], None if kills > 24 else rng.uniform(0.0, 0.06))
            if answer is not None:
                hearings += 1
                assert heard.setdefault(at, answer) == answer
            if kills <= 24 and (answer is None or rng.random() < 0.7):
                life.close()
                kills += 1
                life = Life(open_bank)
        coordinator.receive({"bank": heard[at]})
    life.close()
    assert kills >= 10 and coordinator.card().ended == "complete"
    assert rounds_on_disk(tmp_path) == list(range(END + 1))
    with living(tmp_path) as party:
        model, card = party.model, coordinator.card()
    shared = [r for r in map(PartyRelease.from_bytes, heard.values()) if r.kind == Gave.SHARED]
    assert model.features == card.features == [release.feature for release in shared]
    assert (model.coefficients, model.intercept) == (card.coefficients, card.intercept)
