"""Deployed jobs of moments: alignment, restarts, losses, and what each side sees."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.stats import chi2

pytest.importorskip("cryptography")

from dplasso.federated import Refused  # noqa: E402
from dplasso.federated.deployment.settings import read_party_settings  # noqa: E402
from dplasso.federated.framing import framed, unframed  # noqa: E402
from dplasso.federated.messages import Ask, Gave, PartyRelease, PartyRequest  # noqa: E402
from dplasso.federated.moments import MomentTerms, layout, moment_plan  # noqa: E402
from dplasso.federated.moments.job_party import MomentJobParty  # noqa: E402
from dplasso.federated.moments.party import MomentParty  # noqa: E402
from dplasso.federated.moments.used_once import UsedOnce  # noqa: E402
from dplasso.federated.party_outcome import PartyOutcome  # noqa: E402
from dplasso.federated.release_log import ReleaseLog  # noqa: E402
from dplasso.federated.rows import read_party  # noqa: E402
from dplasso.federated.server_side import TRANSCRIPT  # noqa: E402
from dplasso.privacy import zcdp  # noqa: E402
from federated_lives import Life  # noqa: E402
from moment_folders import PEOPLE, Job, opened, proposed, some_rows, write_rows  # noqa: E402
from party_folders import PARTIES, set_up  # noqa: E402
from recording_parties import (  # noqa: E402
    NOISE,
    draws,
    expected_model,
    open_coordinator,
    share_noise,
)


@pytest.fixture
def folder(tmp_path):
    return set_up(tmp_path, rows=PEOPLE, epsilon=1.0)


@pytest.fixture
def job(folder, monkeypatch):
    """A job whose messages are cut into several slices."""
    monkeypatch.setattr(layout, "_LEAST_SLICE", 2**10)
    monkeypatch.setattr(layout, "SLICE", 2**11)
    made = Job(folder)
    yield made
    made.close()


def terms_of(job):
    return MomentTerms.from_json(json.dumps(job.card["terms"]))


def assert_exact(job):
    """The card has the model of the exact matrix plus the noise that was drawn, once: that of all
    parties, and that of the server."""
    terms, rows, noise, folders = terms_of(job), {}, {}, {}
    for name in PARTIES:
        settings, _ = read_party_settings(job.folder / name, name)
        rows[name], folders[name] = (
            read_party(settings.data, settings.table, settings.id_column),
            settings.state / "job",
        )
        noise[name] = share_noise(folders[name], terms, name)
    noise["the server"] = share_noise(job.folder / "server", terms)
    assert all(map(np.any, noise.values()))
    model = expected_model(terms, rows, noise, folders)
    assert job.card["coefficients"] == {name: model.part(name).tolist() for name in PARTIES}
    assert job.card["ended"] == "complete"


def test_a_job_opens_the_exact_matrix_plus_noise_whoever_has_which_rows(job):
    rng = np.random.default_rng(1)
    for name, people in zip(PARTIES, (range(40), range(10, 60), range(5, 45)), strict=True):
        write_rows(job.folder, name, some_rows(rng, rng.permutation(people)))
    job.close()
    job.__init__(job.folder)
    job.finish()
    assert_exact(job)
    kinds = [PartyRequest.from_bytes(asked["clinic"]).kind for asked in job.requests]
    assert min(map(kinds.count, (Ask.ALIGN, Ask.DEAL, Ask.MASK))) > 1  # messages were cut
    plan = moment_plan(terms_of(job))
    for name in PARTIES:
        assert job.charges(name) == [plan.count_event, plan.model_event]
    assert zcdp.epsilon_of(zcdp.rho(plan.event), 1e-6) == pytest.approx(1.0)
    uplink = job.card["uplink_bytes"]  # it does not tell how many rows a party has
    assert uplink["insurer"] == uplink["registry"]
    privacy = job.card["privacy"]
    assert privacy["epsilon_to_outsiders"] < privacy["epsilon_to_a_party"] <= 1.0
    assert privacy["epsilon_to_server"] == privacy["epsilon_to_a_party"]


def test_parties_and_server_go_on_after_a_restart_at_every_exchange(job):
    """The same request gets the same bytes from the next life, and nothing is drawn again."""
    while job.coordinator.requests():
        answers = job.answers()
        for name in PARTIES:
            job.restart(name)
        assert job.answers() == answers
        job.step()
        assert job.past[-1] == answers
        job.restart_server()
    assert_exact(job)
    for name in PARTIES:
        assert len(job.charges(name)) == 2
        drawn = draws(job.folder / name / "state" / "job")
        assert [len(each) for each in drawn.values()] == [1] * 4  # the same again, if at all
    drawn = (job.folder / "server" / NOISE).read_text().splitlines()
    assert len(drawn) > 1 and len(set(drawn)) == 1


@pytest.mark.parametrize(
    ("owner", "moment"),
    [
        (UsedOnce, "claim"),
        (MomentJobParty, "_charge"),
        (ReleaseLog, "keep_step"),
        (MomentParty, "share"),
    ],
)
def test_a_party_that_is_killed_inside_a_step_goes_on(folder, monkeypatch, owner, moment):
    for name in PARTIES:
        path = folder / name / "party.toml"
        path.write_text(path.read_text().replace("max_epsilon = 1.0", "max_epsilon = 9.0"))
    job = Job(folder)
    honest = getattr(owner, moment)
    left = [5]

    def killed(self, *given, **more):
        found = honest(self, *given, **more)
        left[0] -= 1
        if left[0] in (3, 1, 0):
            raise KeyboardInterrupt  # after it was done, before anybody heard of it
        return found

    monkeypatch.setattr(owner, moment, killed)
    while job.coordinator.requests():
        try:
            job.step()
        except KeyboardInterrupt:
            for name in PARTIES:
                job.restart(name)
    assert_exact(job)
    for name in PARTIES:  # a crash between charge and log wastes a charge, and never loses one
        assert len(job.charges(name)) >= 2
    job.close()


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_party_that_is_killed_at_every_exchange_draws_no_other_noise(folder, monkeypatch):
    """SIGKILL, at a random moment of its work and after its answer, in a process of its own."""
    monkeypatch.setattr(layout, "_LEAST_SLICE", 2**10)
    monkeypatch.setattr(layout, "SLICE", 2**11)
    killed, rng = "insurer", np.random.default_rng(0)
    path = folder / killed / "party.toml"  # a crash between charge and log wastes a charge
    path.write_text(path.read_text().replace("max_epsilon = 1.0", "max_epsilon = 99.0"))
    job = Job(folder)
    job.parties.pop(killed).close()
    life = Life(partial(opened, job.folder, killed))
    at, interrupted = [], 0
    while requests := job.coordinator.requests():
        at.append(job.kind)
        heard = []
        while len(heard) < 2:
            patience = rng.uniform(0.0, 0.08) if rng.random() < 0.5 else None
            answer = life.ask(requests[killed], patience)
            assert patience is not None or answer is not None
            heard += [] if answer is None else [answer]
            interrupted += answer is None
            life.close()
            life = Life(partial(opened, job.folder, killed))
        assert heard[0] == heard[1]
        own = {name: party.answer(requests[name]) for name, party in job.parties.items()}
        job.coordinator.receive({**own, killed: heard[0]})
    life.close()
    job.close()
    assert {Ask.AGREE, Ask.ALIGN, Ask.DEAL, Ask.MASK, Ask.SHARE, Ask.FINISH} <= set(at)
    assert interrupted > 5
    assert_exact(job)
    drawn = draws(job.folder / killed / "state" / "job")
    assert [len(each) for each in drawn.values()] == [1] * 4
    assert len(job.charges(killed)) >= 2


@pytest.mark.parametrize(
    ("kind", "charged"),
    [
        (Ask.AGREE, 0),
        (Ask.ALIGN, 1),
        (Ask.DEAL, 1),
        (Ask.MASK, 1),
        (Ask.SHARE, 2),
        (Ask.FINISH, 2),
    ],
)
def test_a_party_that_never_returns_costs_the_others_no_more_than_was_begun(job, kind, charged):
    job.until(kind)
    answers = job.answers()
    answers.pop("registry")
    job.coordinator.lose("registry", "did not answer")
    job.coordinator.receive(answers)
    while requests := job.coordinator.requests():
        answers = {name: job.parties[name].answer(one) for name, one in requests.items()}
        job.coordinator.receive(answers)
    card = job.card
    assert "registry: did not answer" in card["ended"]
    has_model = kind is Ask.FINISH
    assert (card.get("coefficients") is not None) == has_model
    for name in ("clinic", "insurer"):
        assert len(job.charges(name)) == charged
        outcome = PartyOutcome.load(job.folder / name / "state" / "job")
        assert outcome.ended == ("complete" if has_model else card["ended"])
        assert outcome.has_coefficients == has_model
        assert outcome.rho == pytest.approx(sum(map(zcdp.rho, job.charges(name))))
    if charged < 2:
        assert card["privacy"]["epsilon"] < 0.3


def test_a_server_that_has_lost_its_seed_draws_no_other(job):
    """It would add a second noise to the same shares."""
    job.until(Ask.FINISH)
    server = job.folder / "server"
    (server / TRANSCRIPT).write_bytes(b"")  # as a deployed server has it from the first exchange on
    job.restart_server()
    (server / "job.seed").unlink()
    again = open_coordinator(job.proposal, server)
    with pytest.raises(ValueError, match="job.seed is gone"):
        for answers in job.past:
            again.receive(answers)
    assert not (server / "job.seed").exists()
    again.end("failed: the seed is gone")
    for name, request in again.requests().items():
        assert PartyRequest.from_bytes(request).kind is Ask.END, name


def test_everything_but_the_sum_is_the_same_to_the_server_whatever_the_rows_are(tmp_path):
    """Two jobs with the same identifiers, keys and seeds, on other rows: the server gets the same
    bytes, but for sealed rows and shares, which have the same lengths and are uniform."""
    sent = {}
    for which in (0, 1):
        folder = tmp_path / str(which)
        folder.mkdir()
        set_up(folder, rows=PEOPLE)
        for k, name in enumerate(PARTIES):
            extreme = [f"p{i},{(0, 100)[which]},{('no', 'yes')[which]}" for i in range(PEOPLE)]
            write_rows(folder, name, extreme)
            state = folder / name / "state" / "job"
            state.mkdir(parents=True)
            (state / "job.key").write_bytes(bytes([k + 1] * 32))
            for path in (state, state / "job.key"):
                path.chmod(0o700 if path.is_dir() else 0o600)
        (folder / "server").mkdir()
        (folder / "server" / "job.seed").write_bytes(bytes(32))
        job = Job(folder)
        job.finish()
        sent[which] = [[job.releases(name) for name in PARTIES], job]
        job.close()
    hidden = {0: b"", 1: b""}
    for ours, theirs in zip(sent[0][0], sent[1][0], strict=True):
        for one, other in zip(ours, theirs, strict=True):
            assert (one.kind, one.round) == (other.kind, other.round)
            assert len(one.to_bytes()) == len(other.to_bytes())
            if one.kind in (Gave.MASKED, Gave.PART):
                body = slice(128, -32)  # without the head of a message and its checksum
                for which, release in ((0, one), (1, other)):
                    hidden[which] += release.content[body]
            else:
                assert one.to_bytes() == other.to_bytes()
    for which in (0, 1):
        counts = np.bincount(np.frombuffer(hidden[which], np.uint8), minlength=256)
        expected = counts.sum() / 256
        assert expected > 100
        assert chi2.sf(((counts - expected) ** 2 / expected).sum(), 255) > 1e-6
    assert hidden[0] != hidden[1]


@pytest.mark.parametrize("change", ["repeated", "too large", "too few"])
def test_numbers_that_are_not_one_to_one_are_refused(job, change):
    job.until(Ask.DEAL)
    preparation = job.coordinator._preparation
    deal, places = unframed(preparation._dealt["clinic"])
    numbers = np.frombuffer(places, "<u4").copy()
    if change == "repeated":
        numbers[3] = numbers[7]
    elif change == "too large":
        numbers[3] = preparation._terms.n_rows
    else:
        numbers = numbers[1:]
    preparation._dealt["clinic"] = framed(deal, numbers.tobytes())
    job.until(Ask.MASK)
    with pytest.raises(Refused, match="the numbers of its rows|no complete deal"):
        job.parties["clinic"].answer(job.coordinator.requests()["clinic"])


def test_more_people_than_fit_end_the_job_before_the_model_is_charged(folder):
    write_rows(folder, "clinic", some_rows(np.random.default_rng(0), range(3000)))
    job = Job(folder, proposed(n_rows=PEOPLE))
    card = job.finish()
    job.close()
    assert "more people than n_rows" in card["ended"] and "3,000" not in card["ended"]
    assert card["alignment"]["capacity"] < 3000 and "trust" in card
    assert card["privacy"]["covers"] == "about how many people there are"
    for name in PARTIES:
        (charge,) = job.charges(name)
        assert zcdp.rho(charge) == pytest.approx(card["privacy"]["rho"])
        assert PartyOutcome.load(folder / name / "state" / "job").ended == card["ended"]


def test_a_mask_serves_one_deal_and_one_set_of_rows(job):
    job.until(Ask.MASK)
    job.step()
    preparation = job.coordinator._preparation
    deal, places = unframed(preparation._dealt["clinic"])
    numbers = np.roll(np.frombuffer(places, "<u4"), 1)
    job.restart("clinic")
    place = preparation._terms.digest, 0
    blob = framed(deal, numbers.tobytes())
    for at in range(preparation._layout.deals):
        content = layout.sliced(blob, at, 2**11)
        job.parties["clinic"].answer(PartyRequest(*place, at, Ask.DEAL, content=content).to_bytes())
    with pytest.raises(Refused, match="used before, with other data"):
        job.parties["clinic"].answer(job.requests[-1]["clinic"])


def test_a_party_that_has_lost_the_file_of_what_it_used_does_not_go_on(job):
    """With its files gone, another deal of the server would get other masked rows of the table."""
    job.until(Ask.MASK)
    job.step()
    job.parties["clinic"].close()
    for path in (job.folder / "clinic" / "state" / "job").glob("job.used*"):
        path.unlink()
    with pytest.raises(Refused, match="has lost some of it"):
        opened(job.folder, "clinic")


def test_nothing_is_sent_before_it_is_due(job):
    job.until(Ask.CONFIRM)
    terms = job.coordinator._terms
    for kind in (Ask.ALIGN, Ask.DEAL, Ask.MASK, Ask.SHARE, Ask.FINISH, Ask.COUNT):
        asked = PartyRequest(terms.digest, 0, 0, kind).to_bytes()
        with pytest.raises(Refused):
            job.parties["clinic"].answer(asked)
    job.until(Ask.MASK)
    for kind in (Ask.SHARE, Ask.FINISH):
        asked = PartyRequest(terms.digest, 0, 0, kind).to_bytes()
        with pytest.raises(Refused, match="before all parties have paid"):
            job.parties["clinic"].answer(asked)
    asked = PartyRequest(terms.digest, 0, 0, Ask.BEGIN, text="model").to_bytes()
    with pytest.raises(Refused, match="not due"):
        job.parties["clinic"].answer(asked)
    assert len(job.charges("clinic")) == 1


def test_no_share_leaves_a_party_before_all_have_said_that_they_have_paid(job):
    job.until(Ask.START)  # of the first part
    job.step()
    job.until(Ask.START)
    terms = job.coordinator._terms
    honest = PartyRequest.from_bytes(job.coordinator.requests()["clinic"])
    forged = replace(honest, letters={**honest.letters, "registry": bytes(32)})
    earlier = PartyRequest.from_bytes(
        next(
            one["clinic"]
            for one in job.requests
            if PartyRequest.from_bytes(one["clinic"]).kind == Ask.START
        )
    )
    for letters in (forged.letters, earlier.letters, {}):  # of another key, or another part
        with pytest.raises(Refused, match="has not said that it has paid|needs a letter"):
            job.parties["clinic"].answer(replace(honest, letters=letters).to_bytes())
    with pytest.raises(Refused, match="before all parties have paid"):
        job.parties["clinic"].answer(PartyRequest(terms.digest, 0, 0, Ask.SHARE).to_bytes())


@pytest.mark.parametrize(
    "change", [{"colluders": 2}, {"epsilon": 0.9}, {"n_people": 50}, {"label_weight": 3.0}]
)
def test_a_server_that_tells_parties_different_terms_of_moments_gets_nothing(job, change):
    job.until(Ask.AGREE)
    asked = {name: PartyRequest.from_bytes(one) for name, one in job.coordinator.requests().items()}
    terms = MomentTerms.from_json(asked["clinic"].text)
    other = replace(terms, **change)  # with the capacity that an honest server makes of it
    other = replace(other, n_rows=other.n_people + moment_plan(other).capacity.room)
    told = {name: terms if name == "clinic" else other for name in PARTIES}
    letters = {}
    for number, name in enumerate(PARTIES):
        given = {"text": told[name].to_json(), "letters": asked[name].letters}
        request = PartyRequest(told[name].digest, number, 0, Ask.AGREE, **given)
        letters[name] = PartyRelease.from_bytes(
            job.parties[name].answer(request.to_bytes())
        ).letters
    heard = {one: letters[one]["clinic"] for one in PARTIES if one != "clinic"}
    request = PartyRequest(terms.digest, 0, 0, Ask.CONFIRM, letters=heard)
    with pytest.raises(Refused, match="has not confirmed the same terms"):
        job.parties["clinic"].answer(request.to_bytes())
    assert job.charges("clinic") == []


@pytest.mark.parametrize("change", [{"colluders": 0}, {"neighboring": "replace_one"}])
def test_terms_that_protect_from_outsiders_only_are_refused(job, change):
    job.until(Ask.AGREE)
    asked = PartyRequest.from_bytes(job.coordinator.requests()["clinic"])
    terms = replace(MomentTerms.from_json(asked.text), **change)
    given = {"text": terms.to_json(), "letters": asked.letters}
    with pytest.raises(Refused, match="outsiders only"):
        job.parties["clinic"].answer(
            PartyRequest(terms.digest, 0, 0, Ask.AGREE, **given).to_bytes()
        )


def test_another_secret_is_noticed_before_anything_is_charged(folder):
    (folder / "insurer" / "secret").write_text("cd" * 32)
    job = Job(folder)
    job.until(Ask.AGREE)
    with pytest.raises(Refused, match="does not have the same secret"):
        job.parties["clinic"].answer(job.coordinator.requests()["clinic"])
    assert all(job.charges(name) == [] for name in PARTIES)
    job.close()


def test_a_party_may_keep_to_sketches(folder):
    path = folder / "insurer" / "party.toml"
    path.write_text('protocols = ["sketches"]\n' + path.read_text())
    job = Job(folder)
    job.until(Ask.AGREE)
    with pytest.raises(
        Refused, match="its protocol is moments, and insurer takes part in sketches"
    ):
        job.parties["insurer"].answer(job.coordinator.requests()["insurer"])
    job.close()


def test_the_protocol_follows_from_a_public_rule(folder):
    assert (
        Job(folder, proposed(rounds=3)).until(Ask.AGREE).coordinator._terms.protocol == "sketches"
    )
    with pytest.raises(ValueError, match="rounds is a term of sketches"):
        proposed(rounds=3, protocol="moments")


def test_several_classes_and_numbers_are_predicted_by_parts(folder):
    rng = np.random.default_rng(3)
    for kind in ("classes", "numbers"):
        labels = (
            'label_column = "sick"\nclasses = ["no", "so", "yes"]'
            if kind == "classes"
            else 'label_column = "sick"'
        )
        path = folder / "clinic" / "party.toml"
        lines = path.read_text().splitlines()
        kept = [one for one in lines if not one.startswith(("classes", "label_column"))]
        path.write_text("\n".join([labels, *kept]) + "\n")
        values = ("no", "so", "yes") if kind == "classes" else ("0.5", "-1", "0.25")
        write_rows(folder, "clinic", some_rows(rng, classes=values))
        for name in PARTIES:
            toml = folder / name / "party.toml"
            toml.write_text(toml.read_text().replace("max_epsilon = 1.0", "max_epsilon = 9.0"))
        job = Job(folder, replace(proposed(epsilon=4.0), job="job"))
        card = job.finish()
        assert card["ended"] == "complete"
        scores = 0.0
        for name in PARTIES:
            settings, _ = read_party_settings(folder / name, name)
            rows = read_party(settings.data, settings.table, settings.id_column)
            model = job.parties[name].model
            scores = scores + model.margins(rows.in_own_units)
            weights, intercepts = model.in_own_units
            away = rows.in_own_units.toarray() / 50.0 - 1.0 - model.centre
            short = np.abs(away) < 0.56  # not shortened
            assert 0.2 < np.mean(short) < 1.0
            linear = rows.in_own_units.toarray() @ weights + intercepts
            near = model.margins(rows.in_own_units)[short[:, 0]]
            assert np.allclose(near, linear[short[:, 0]], atol=1e-3)
        holder = job.parties["clinic"].model
        if kind == "classes":
            assert scores.shape == (PEOPLE, 3) and holder.classes == ["no", "so", "yes"]
            chances = holder.odds.probabilities(scores)
            assert np.allclose(chances.sum(axis=1), 1.0)
            assert np.array_equal(np.argmax(chances, axis=1), holder.odds.classes(scores))
        else:
            assert scores.shape == (PEOPLE, 1)
        job.close()
        for name in (*PARTIES, "server"):  # the next job has the same name
            for path in (folder / name).rglob("*"):
                if path.is_file() and path.name not in ("rows.csv", "secret", "party.toml"):
                    path.unlink()
