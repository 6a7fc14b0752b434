"""A real deployment, with certificates and processes: who is killed, lost, forged or refused."""

import json

import pytest

pytest.importorskip("nvflare")

import psutil  # noqa: E402

from drawing_parties import CORRUPTING, HONEST, MISBEHAVES_IN, REPLAYING  # noqa: E402
from federation import LONG, PARTIES, set_in, until  # noqa: E402

pytestmark = pytest.mark.xdist_group("federation")  # one federation for all of them


def assert_drawn_once(federation, job, card, rounds):
    for name in PARTIES:
        assert len(card["told"][name]) == rounds
        assert federation.drawn(name, job) == card["told"][name]


def test_a_job_of_three_parties_is_counted_told_and_drawn_once(federation, tmp_path):
    admin = federation.folder / "admin"
    terms = ("--rounds", 150, "--epsilon", 0.5, "--tau", HONEST, "--delta", 1e-6, "--n-rows", 100)
    job = federation.command("submit", admin, *terms, "--label-holder", "clinic").strip()
    until(lambda: federation.drawn("clinic", job), "the job starts")
    outcome, card = federation.outcome(job)
    assert (outcome["ended"], outcome["exchanges"]) == ("complete", 150)
    assert_drawn_once(federation, job, card, 150)
    seen = json.loads(
        federation.command(
            "status", federation.folder / "admin", "--follow", "--json"
        ).splitlines()[-1]
    )
    assert seen["parties"] == dict.fromkeys(PARTIES, True)
    (told,) = (told for told in seen["jobs"] if told["job"] == job)
    assert (told["state"], told["remarks"]) == ("ended", "complete")
    assert (told["rounds_done"], told["rounds"]) == (150, 150)
    federation.command("fetch", admin, job, "-o", tmp_path / "card.json")
    assert json.loads((tmp_path / "card.json").read_text()) == card


def test_whoever_is_killed_comes_back_and_nothing_is_drawn_twice(federation):
    (job,) = federation.submit({"rounds": 250})
    until(lambda: len(federation.drawn("insurer", job)) > 40, "the job is under way")
    federation.kill("insurer")
    before = len(federation.drawn("insurer", job))
    federation.start("insurer")
    until(lambda: len(federation.drawn("insurer", job)) > before + 40, "the party goes on")
    jobs_process = psutil.Process(federation.processes["server"].pid).children()
    federation.kill("server")
    until(
        lambda: not psutil.wait_procs(jobs_process, 0)[1], "the job's process ends with the server"
    )
    assert not federation.results(job).joinpath("outcome.json").exists()
    federation.start("server")
    outcome, card = federation.outcome(job)
    assert outcome["ended"] == "complete"
    assert_drawn_once(federation, job, card, 250)


def test_a_request_that_is_forged_replayed_or_beyond_the_limit_is_refused(federation):
    asked = {
        "the request is corrupt": {"tau": CORRUPTING},
        "the request is out of order": {"tau": REPLAYING},
        "epsilon is beyond what this party will ever release": {"epsilon": 2.0},
    }
    jobs = federation.submit(*({"rounds": 9, **terms} for terms in asked.values()))
    for why, job in zip(asked, jobs, strict=True):
        outcome, card = federation.outcome(job)
        beyond = "epsilon" in why
        refusing = {"clinic"} if beyond else set(PARTIES)
        assert card["lost"] == dict.fromkeys(refusing, why)
        assert all(f"party {name} {why}" in outcome["ended"] for name in refusing)
        for name in refusing:
            assert len(federation.drawn(name, job)) == (0 if beyond else MISBEHAVES_IN)


def test_a_party_that_does_not_come_back_ends_the_job_with_a_model_of_the_rounds_so_far(federation):
    settings = federation.folder / "server" / "server.toml"
    set_in(settings, patience=3.0)
    (job,) = federation.submit({"rounds": 100_000})
    until(lambda: len(federation.drawn("registry", job)) > 20, "the job is under way")
    assert federation.stop("registry") == 0
    outcome, card = federation.outcome(job)
    assert card["lost"] == {"registry": "did not answer for 3 seconds"}
    assert "party registry did not answer for 3 seconds" in outcome["ended"]
    assert 20 < len(card["told"]["registry"]) <= len(card["told"]["clinic"]) < 100_000
    set_in(settings, patience=LONG)
    federation.start("registry")
    until(lambda: federation.registrations("registry") == 2, "the party is back")


def test_a_job_that_is_stopped_has_a_model_of_the_rounds_so_far(federation):
    (job,) = federation.submit({"rounds": 100_000})
    until(lambda: len(federation.drawn("clinic", job)) > 20, "the job is under way")
    federation.command("stop", federation.folder / "admin", job)
    outcome, card = federation.outcome(job)
    assert outcome["ended"] == "stopped by an administrator"
    assert len(card["told"]["clinic"]) == outcome["exchanges"] > 20
