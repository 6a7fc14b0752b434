"""A hostile party or server in a deployed job of moments: what it gets, what it costs others."""

import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("cryptography")

from dplasso.federated import Refused  # noqa: E402
from dplasso.federated.messages import Ask, Gave, PartyRelease, PartyRequest  # noqa: E402
from dplasso.federated.moments import MomentTerms, layout, messages  # noqa: E402
from dplasso.federated.moments.entries import entry_count  # noqa: E402
from dplasso.federated.moments.messages import Kind  # noqa: E402
from dplasso.federated.service import open_coordinator  # noqa: E402
from moment_folders import PEOPLE, Job, proposed, write_rows  # noqa: E402
from party_folders import PARTIES, set_up  # noqa: E402


@pytest.fixture
def job(tmp_path, monkeypatch):
    """A job whose messages are cut into several slices."""
    monkeypatch.setattr(layout, "_LEAST_SLICE", 2**10)
    monkeypatch.setattr(layout, "SLICE", 2**11)
    made = Job(set_up(tmp_path, rows=PEOPLE, epsilon=1.0))
    yield made
    made.close()


def settled(job):
    return job.coordinator._terms


def asked_of(job, name):
    return PartyRequest.from_bytes(job.coordinator.requests()[name])


@pytest.mark.parametrize("place", [100, 2000, -40])
def test_masked_rows_that_do_not_open_cost_the_others_nothing_more(job, place):
    """A hostile party seals nonsense, in a message that is whole: each recipient must see it before
    it pays for the model."""
    job.until(Ask.MASK)
    job.step()
    sharing = job.parties["registry"]._party
    body = bytearray(sharing._masked[messages._HEAD.size : -32])
    body[place] ^= 1
    sharing._masked = messages.packed(Kind.MASKED, settled(job), "registry", bytes(body))
    with pytest.raises(Refused, match="refuses the masked rows of registry"):
        while job.kind is Ask.MASK:
            job.step()
    for name in PARTIES:
        assert len(job.charges(name)) <= 1


def test_a_server_that_skips_masked_rows_makes_nobody_pay_for_the_model(job):
    job.until(Ask.MASK)
    last = job.coordinator._preparation._layout.masks
    request = PartyRequest(settled(job).digest, 0, last, Ask.MASK)
    with pytest.raises(Refused, match="refuses the masked rows of insurer"):
        job.parties["clinic"].answer(request.to_bytes())
    begin = PartyRequest(settled(job).digest, 0, 0, Ask.BEGIN, text="model")
    with pytest.raises(Refused, match="not due"):
        job.parties["clinic"].answer(begin.to_bytes())
    assert len(job.charges("clinic")) == 1


def test_no_weights_are_taken_before_the_share_is_sent(job):
    """A server that finishes early would hand out weights that follow from nothing."""
    job.until(Ask.SHARE)
    forged = PartyRequest(
        settled(job).digest, 1, 0, Ask.FINISH, numbers=np.ones(1), text="complete"
    )
    with pytest.raises(Refused, match="before it has sent its share"):
        job.parties["insurer"].answer(forged.to_bytes())
    assert job.finish()["ended"] == "complete" and job.parties["insurer"].outcome.has_coefficients


@pytest.mark.parametrize(
    "change",
    [
        {"n_people": 0},  # the number of people would be tested without noise
        {"account": "exact"},  # ledgers add up in rho
        {"n_people": PEOPLE - 10},  # more room than the test of capacity needs
    ],
)
def test_terms_that_no_honest_server_makes_are_refused(job, change):
    job.until(Ask.AGREE)
    asked = asked_of(job, "clinic")
    terms = replace(MomentTerms.from_json(asked.text), **change)
    request = replace(asked, digest=terms.digest, text=terms.to_json())
    with pytest.raises(Refused, match="no honest server"):
        job.parties["clinic"].answer(request.to_bytes())


@pytest.mark.parametrize("bound", [1e160, 1e300])
def test_bounds_beyond_all_numbers_are_refused_and_not_an_error(job, bound):
    job.until(Ask.AGREE)
    asked = asked_of(job, "clinic")
    content = json.loads(asked.text)
    content["parties"][1]["row_bound"] = bound
    terms = MomentTerms.from_json(json.dumps(content))
    request = replace(asked, digest=terms.digest, text=terms.to_json())
    with pytest.raises(Refused, match="cannot be kept|no honest server"):
        job.parties["clinic"].answer(request.to_bytes())


@pytest.mark.parametrize("declared", [[0, 0], [-3, 0], [2**40, 0], [10, -1]])
def test_a_party_cannot_drown_the_others_in_noise_by_what_it_declares(job, declared):
    """The noise grows with the declared attributes: more than there are features are a lie."""
    answers = job.answers()
    honest = PartyRelease.from_bytes(answers["registry"])
    answers["registry"] = replace(honest, numbers=np.array(declared)).to_bytes()
    with pytest.raises(Refused, match="registry"):
        job.coordinator.receive(answers)


@pytest.mark.parametrize("change", ["too long", "not a share", "of another party"])
def test_a_share_that_is_none_ends_the_job_and_names_its_sender(job, change):
    job.until(Ask.SHARE)
    terms = settled(job)
    shares = dict.fromkeys(PARTIES, b"")
    with pytest.raises(Refused, match="registry"):
        while job.kind is Ask.SHARE:
            answers = job.answers()
            releases = {name: PartyRelease.from_bytes(one) for name, one in answers.items()}
            shares = {name: shares[name] + one.content for name, one in releases.items()}
            content = {
                "too long": bytes(2**12),
                "not a share": bytes(len(releases["registry"].content)),
                "of another party": releases["clinic"].content,
            }[change]
            answers["registry"] = replace(releases["registry"], content=content).to_bytes()
            job.coordinator.receive(answers)
    job.coordinator.end("failed: a share is no share")
    for name, request in job.coordinator.requests().items():
        assert PartyRelease.from_bytes(job.parties[name].answer(request)).kind is Gave.ENDED
    assert job.card["coefficients"] is None and "failed" in job.card["ended"]
    assert len(shares["clinic"]) <= 8 * terms.n_columns**2


def test_masks_that_do_not_cancel_give_no_model(job):
    """A party that has lost its keys, or sends random numbers: the sum is noise without end."""
    job.until(Ask.SHARE)
    sharing, terms = job.parties["registry"]._party, settled(job)
    body = np.random.default_rng(0).bytes(8 * entry_count(terms))
    job.parties["registry"].answer(job.coordinator.requests()["registry"])
    sharing._share = messages.packed(Kind.SHARE, terms, "registry", body)
    with pytest.raises(Refused, match="do not cancel"):
        job.finish()
    job.coordinator.end("failed: the shares add up to no matrix")
    for name, request in job.coordinator.requests().items():
        job.parties[name].answer(request)
        outcome = job.parties[name].outcome
        assert not outcome.has_coefficients and "failed" in outcome.ended
    assert job.card["coefficients"] is None and job.card["rounds_done"] == 0


def test_a_party_without_rows_takes_part(job):
    write_rows(job.folder, "registry", [])
    job.close()
    job.__init__(job.folder)
    assert job.finish()["ended"] == "complete"


def test_an_end_of_another_job_or_with_other_terms_ends_nothing(job):
    job.until(Ask.MASK)
    stranger = PartyRequest(bytes(32), 0, 0, Ask.END, text="over")
    with pytest.raises(Refused, match="another job"):
        job.parties["clinic"].answer(stranger.to_bytes())
    assert job.finish()["ended"] == "complete"


def test_a_job_that_has_ended_goes_on_in_no_way(job):
    """Its deal, its key and its noise are gone: a share would need other ones."""
    job.until(Ask.SHARE)
    requests = job.coordinator.requests()
    end = PartyRequest(settled(job).digest, 0, 0, Ask.END, text="over").to_bytes()
    job.parties["clinic"].answer(end)
    for _ in range(2):
        with pytest.raises(Refused, match="has ended"):
            job.parties["clinic"].answer(requests["clinic"])
        job.restart("clinic")
    state = job.folder / "clinic" / "state" / "job"
    left = {path.suffix for path in state.iterdir()}
    assert not left & {".dealt", ".noise"} and not list(state.glob("job.from-*"))


def test_a_second_job_of_one_name_gets_nothing_of_the_first(job):
    """The same name with other people declared: a party that has agreed keeps to its terms."""
    job.until(Ask.SHARE)
    other = Job.__new__(Job)
    other.folder, other.proposal = job.folder / "other", proposed(n_rows=PEOPLE + 1)
    (other.folder / "server").mkdir(parents=True)
    other.coordinator = open_coordinator(other.proposal, other.folder / "server")
    other.parties, other.past, other.requests = job.parties, [], []
    other.step()  # introductions are public
    with pytest.raises(Refused, match="has agreed to other terms"):
        other.step()
    assert job.finish()["ended"] == "complete"
