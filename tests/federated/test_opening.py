"""How a job opens: nobody takes part in terms that it did not see, or beyond its caps."""

from dataclasses import replace

import pytest

from dplasso.federated import Caps, Party, Refused
from dplasso.federated.messages import Ask, Gave, PartyRelease, PartyRequest
from dplasso.federated.opening_coordinator import OpeningCoordinator
from dplasso.federated.opening_party import OpeningParty
from dplasso.federated.terms import Proposal
from federations import FEATURES, made

SECRET = b"of all parties, not the server's"
PROPOSAL = Proposal(
    parties=tuple(FEATURES), label_holder="bank", n_rows=40, epsilon=4.0, delta=1e-6, rounds=6,
    sketch_size=16,
)  # fmt: skip
LIMITS = {"max_epsilon": 5.0, "max_delta": 1e-5}


def opened(tmp_path, caps=None, **options):
    """Parties of a job, each with a folder of its own."""
    data = made()

    def party(name):
        def begin(terms, folder, keys):
            block, y = data.blocks[name], data.y if name == "bank" else None
            rows = data.identifiers[name]
            return Party(terms, name, block, rows, SECRET, y=y, folder=folder)

        bound = 1.0 if name == "bank" else None
        given = {"y_bound": bound, **options}
        limits = caps or Caps(**LIMITS)
        folder = tmp_path / name
        return OpeningParty(name, "job", FEATURES[name], limits, folder, SECRET, begin, **given)

    return {name: party(name) for name in FEATURES}


def close(parties):
    for party in parties.values():
        party.close()


def step(coordinator, parties):
    requests = coordinator.requests()
    coordinator.receive({name: parties[name].answer(asked) for name, asked in requests.items()})


def test_a_job_opens_runs_and_ends_with_coefficients(tmp_path):
    told = []
    parties, coordinator = opened(tmp_path, ended=told.append), OpeningCoordinator(PROPOSAL)
    while coordinator.requests():
        step(coordinator, parties)
    assert coordinator.coordinator.card().ended == "complete"
    assert {model.party for model in told} == set(FEATURES)
    assert [parties[model.party].model for model in told] == told
    close(parties)


def test_a_party_that_fails_to_open_can_be_opened_again(tmp_path, monkeypatch):
    parties, coordinator = opened(tmp_path), OpeningCoordinator(PROPOSAL)
    for _ in range(6):
        step(coordinator, parties)
    close(parties)

    def fail(self, release):
        raise RuntimeError("out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(Party, "_replay", fail)
        with pytest.raises(RuntimeError):
            opened(tmp_path)
    close(opened(tmp_path))


def test_a_party_that_starts_again_keeps_to_its_terms(tmp_path):
    parties, coordinator = opened(tmp_path), OpeningCoordinator(PROPOSAL)
    for _ in range(7):
        step(coordinator, parties)
    request = coordinator.requests()
    (name,) = request
    with pytest.raises(Refused, match="before all parties have paid"):
        opened(tmp_path / "elsewhere")[name].answer(request[name])
    answer = parties[name].answer(request[name])
    close(parties)
    again = opened(tmp_path)
    assert again[name].answer(request[name]) == answer
    terms = coordinator.coordinator.terms
    other = replace(terms, radius=2.0)
    asked = PartyRequest(other.digest, terms.number_of(name), 0, Ask.AGREE, text=other.to_json())
    with pytest.raises(Refused, match="agreed to other terms"):
        again[name].answer(asked.to_bytes())
    close(again)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"epsilon": 6.0}, "epsilon is 6, its cap is 5"),
        ({"delta": 1e-3}, "delta is 0.001, its cap is 1e-05"),
        ({"job": "another"}, "terms of another job"),
        ({"parties": ("shop", "mill"), "label_holder": "shop"}, "or for other parties"),
        ({"y_bound": 3.0}, "labels within 1, the job has y_bound 3"),
    ],
)
def test_a_proposal_that_is_not_for_it_is_refused(tmp_path, change, why):
    proposal = replace(PROPOSAL, **change)
    asked = PartyRequest(proposal.digest, 0, 0, Ask.INTRODUCE, text=proposal.to_json()).to_bytes()
    with pytest.raises(Refused, match=why):
        opened(tmp_path)["bank"].answer(asked)
    assert not list((tmp_path / "bank").iterdir())


def test_who_has_no_labels_does_not_hold_them(tmp_path):
    proposal = replace(PROPOSAL, label_holder="shop")
    asked = PartyRequest(proposal.digest, 1, 0, Ask.INTRODUCE, text=proposal.to_json()).to_bytes()
    with pytest.raises(Refused, match="has no labels"):
        opened(tmp_path)["shop"].answer(asked)


def test_terms_beyond_a_cap_are_refused_though_the_proposal_was_not(tmp_path):
    parties = opened(tmp_path, caps=Caps(**LIMITS, max_row_budget=1e-3))
    coordinator = OpeningCoordinator(PROPOSAL)
    step(coordinator, parties)
    with pytest.raises(Refused, match="row_budget"):
        parties["bank"].answer(coordinator.requests()["bank"])


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"epsilon": "x"}', "null"])
@pytest.mark.parametrize("kind", [Ask.INTRODUCE, Ask.AGREE])
def test_what_is_no_proposal_and_no_terms_is_refused(tmp_path, kind, text):
    with pytest.raises(Refused):
        opened(tmp_path)["bank"].answer(PartyRequest(bytes(32), 0, 0, kind, text=text).to_bytes())


def test_a_coordinator_takes_only_what_opens_a_job():
    coordinator = OpeningCoordinator(PROPOSAL)
    wrong = PartyRelease(PROPOSAL.digest, 0, 0, Gave.AGREED).to_bytes()
    with pytest.raises(Refused, match="does not open this job"):
        coordinator.receive(dict.fromkeys(FEATURES, wrong))
    with pytest.raises(Refused, match="all parties"):
        coordinator.receive({})
    assert b"not ended" in coordinator.result()
    for name in FEATURES:
        coordinator.lose(name, "gone")
    coordinator.receive({})
    assert coordinator.requests() == {} and b"shop: gone" in coordinator.result()
