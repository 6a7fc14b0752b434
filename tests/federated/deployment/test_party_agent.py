"""A party obeys what the server has signed, and tells nothing of its rows when it fails."""

import logging
import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest

pytest.importorskip("nvflare")

from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: E402
from nvflare.fuel.f3.message import Message  # noqa: E402
from nvflare.lighter.utils import load_crt  # noqa: E402
from nvflare.private.fed.utils.identity_utils import TokenVerifier  # noqa: E402

from commanding import SECRET  # noqa: E402
from dplasso.federated.deployment import party_agent  # noqa: E402
from dplasso.federated.deployment.foreground import run_party  # noqa: E402
from dplasso.federated.deployment.kits import open_kit  # noqa: E402
from dplasso.federated.deployment.party_agent import PartyAgent  # noqa: E402
from dplasso.federated.deployment.replies import Mark, Reply  # noqa: E402
from dplasso.federated.framing import framed, unframed  # noqa: E402
from dplasso.federated.party_ledger import open_ledger  # noqa: E402
from dplasso.federated.requests import signed  # noqa: E402
from dplasso.federated.service import open_party  # noqa: E402
from drawing_parties import sealed  # noqa: E402
from federation import made, set_in  # noqa: E402

JOB = "job-1"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("agent") / "federation"
    made(folder, 4321)
    return folder


@pytest.fixture
def agent(project):
    made_by_nvflare = PartyAgent(str(project / "clinic"), str(project / "clinic" / "rows.csv"))
    server = load_crt(str(project / "server" / "startup" / "server.crt"))
    communicator = SimpleNamespace(token_verifier=TokenVerifier(server))
    made_by_nvflare._client = SimpleNamespace(communicator=communicator)
    return made_by_nvflare


def from_server(project, job, body, number=0, recipient="clinic", who="server"):
    """A message with a request, as the key of some participant would sign it."""
    pair = "server" if who == "server" else "client"
    pem = (project / who / "startup" / f"{pair}.key").read_bytes()
    return Message({}, signed(load_pem_private_key(pem, None), job, recipient, number, body))


def request(job=JOB, round=0):
    return sealed({"job": job, "round": round, "epsilon": 0.5})


def reply_to(agent, message):
    return Reply.read(agent._receive(message).payload)


def test_a_request_that_the_server_signed_is_answered_and_again_alike(agent, project):
    first, second = (reply_to(agent, from_server(project, JOB, request())) for _ in range(2))
    assert first.mark is Mark.ANSWERED
    assert first == second


@pytest.mark.parametrize("who", ["insurer", "clinic", "admin"])
def test_nobody_else_is_obeyed(agent, project, who):
    message = from_server(project, "other", request("other"), who=who)
    reply = reply_to(agent, message)
    assert reply == Reply(Mark.REFUSED, b"the request is not one that the server has signed")
    assert not list(project.rglob("other"))


def test_a_request_is_signed_as_a_whole(agent, project):
    """Its parts, put together in another way: no part may be exchanged, left out or added."""
    honest = unframed(from_server(project, "other", request("other"), 1).payload)
    parts = {0: b"more", 1: b"insurer", 2: bytes(8), 3: request("other", 1), 4: bytes(256)}
    forged = [framed(*honest[:k], part, *honest[k + 1 :]) for k, part in parts.items()]
    forged += [framed(*honest[1:]), framed(*honest, b""), b"", b"\xff" * 9, framed(*honest)[:-1]]
    for payload in forged:
        reply = reply_to(agent, Message({}, payload))
        assert reply == Reply(Mark.REFUSED, b"the request is not one that the server has signed")
    assert not list(project.rglob("other")) and not list(project.rglob("more"))


def test_a_request_to_another_party_is_refused(agent, project):
    reply = reply_to(agent, from_server(project, "other", request("other"), recipient="insurer"))
    assert reply == Reply(Mark.REFUSED, b"the server has not signed the request for clinic")


def test_a_replayed_or_contradicting_request_is_refused(agent, project):
    first, second = (
        from_server(project, "job-5", request("job-5", round), round) for round in (0, 1)
    )
    for message in (first, first, second, second):
        assert reply_to(agent, message).mark is Mark.ANSWERED
    for message in (first, from_server(project, "job-5", request("job-5", 2), 1)):
        reply = reply_to(agent, message)
        assert reply.mark is Mark.REFUSED and b"replay" in reply.body


def test_a_request_of_one_job_is_not_taken_for_another(agent, project):
    reply = reply_to(agent, from_server(project, "job-2", request(JOB)))
    assert reply == Reply(Mark.REFUSED, b"the request is of another job")
    reply = reply_to(agent, from_server(project, "../job", request("../job")))
    assert reply.mark is Mark.REFUSED and not list(project.rglob("job"))


def test_a_failure_tells_its_place_and_no_data(agent, project, caplog):
    class Broken:
        def answer(self, request):
            raise RuntimeError(f"row 7 has {SECRET}")

        def close(self):
            closed.append(self)
            raise OSError(SECRET)

    closed, opened = [], agent._open
    agent._open = lambda holdings, job: Broken()
    with caplog.at_level(logging.DEBUG):
        reply = reply_to(agent, from_server(project, "job-3", b"anything"))
    assert reply == Reply(Mark.FAILED, b"")
    assert "RuntimeError" in caplog.text
    assert SECRET not in caplog.text
    assert len(closed) == 1
    agent._open = opened
    again = reply_to(agent, from_server(project, "job-3", request(job="job-3"), 1))
    assert again.mark == Mark.ANSWERED


def test_limits_that_were_changed_are_refused_once_and_for_all(agent, project):
    """The server takes a refusal for an end; a failure it would ask for again and again."""
    agent._open = open_party
    before = agent._settings
    open_ledger(before)
    agent._settings = replace(before, max_epsilon=2.0)
    reply = reply_to(agent, from_server(project, "job-6", b"anything"))
    assert reply.mark is Mark.REFUSED and b"has max_epsilon 2" in reply.body
    kit = open_kit(project / "clinic", "party")
    set_in(kit.folder / "party.toml", max_epsilon=2.0)
    try:
        with pytest.raises(ValueError, match="has max_epsilon 2 .* restore these limits"):
            run_party(kit, None)
    finally:
        set_in(kit.folder / "party.toml", max_epsilon=1.0)


def test_a_table_that_was_changed_is_refused_once_and_for_all(agent, project):
    agent._open = open_party
    path = project / "clinic" / "rows.csv"
    text = path.read_text()
    path.write_text(text + text.splitlines()[1] + "\n")  # one person twice
    try:
        reply = reply_to(agent, from_server(project, "job-7", b"anything"))
    finally:
        path.write_text(text)
    assert reply.mark is Mark.REFUSED and b"was changed and cannot be read" in reply.body


def test_while_it_is_at_work_it_says_so(agent, project, monkeypatch):
    monkeypatch.setattr(party_agent, "_TURN", 0.01)
    begun, go_on = threading.Event(), threading.Event()

    class Slow:
        def answer(self, request):
            begun.set()
            go_on.wait()
            return b"done"

    agent._open = lambda holdings, job: Slow()
    message = from_server(project, "job-4", b"anything")
    replies = []
    worker = threading.Thread(target=lambda: replies.append(reply_to(agent, message)))
    worker.start()
    begun.wait()
    assert reply_to(agent, message).mark is Mark.BUSY
    go_on.set()
    worker.join()
    assert replies == [Reply(Mark.ANSWERED, b"done")]
