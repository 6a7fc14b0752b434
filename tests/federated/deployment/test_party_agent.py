"""A party answers jobs that the server has signed, and tells nothing of its rows when it fails."""

import logging
import threading
from types import SimpleNamespace

import pytest

pytest.importorskip("nvflare")

from nvflare.fuel.f3.message import Message  # noqa: E402
from nvflare.lighter.utils import load_crt  # noqa: E402
from nvflare.private.defs import AUTH_CLIENT_NAME_FOR_SJ, CellMessageHeaderKeys  # noqa: E402
from nvflare.private.fed.utils.identity_utils import IdentityAsserter, TokenVerifier  # noqa: E402

from commanding import SECRET  # noqa: E402
from dplasso.federated.deployment import party_agent  # noqa: E402
from dplasso.federated.deployment.party_agent import PartyAgent  # noqa: E402
from dplasso.federated.deployment.replies import Mark, Reply  # noqa: E402
from drawing_parties import sealed  # noqa: E402
from federation import made  # noqa: E402

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


def signed(project, who, job, payload, name=AUTH_CLIENT_NAME_FOR_SJ, claimed=None):
    """A message of a job, as the key of some participant would sign it."""
    pair = {"server": "server"}.get(who, "client")
    startup = project / who / "startup"
    signer = IdentityAsserter(str(startup / f"{pair}.key"), str(startup / f"{pair}.crt"))
    headers = {
        CellMessageHeaderKeys.CLIENT_NAME: name,
        CellMessageHeaderKeys.TOKEN: claimed or job,
        CellMessageHeaderKeys.TOKEN_SIGNATURE: signer.sign(name + job, return_str=True),
    }
    return Message(headers, payload)


def request(job=JOB, round=0):
    return sealed({"job": job, "round": round, "epsilon": 0.5})


def reply_to(agent, message):
    return Reply.read(agent._receive(message).payload)


def test_a_job_that_the_server_signed_is_answered_and_again_alike(agent, project):
    first, second = (reply_to(agent, signed(project, "server", JOB, request())) for _ in range(2))
    assert first.mark is Mark.ANSWERED
    assert first == second


def test_nobody_else_is_answered(agent, project):
    for message in (
        Message({}, request("other")),
        signed(project, "insurer", "other", request("other")),
        signed(project, "admin", "other", request("other")),
        signed(project, "server", "one", request("other"), claimed="other"),
        signed(project, "server", "other", request("other"), name="clinic"),
        signed(project, "server", "../other", request("../other")),
    ):
        reply = reply_to(agent, message)
        assert reply.mark is Mark.REFUSED
        assert b"not of a job that the server has signed" in reply.body
    assert not list(project.rglob("other"))


def test_a_request_of_one_job_is_not_taken_for_another(agent, project):
    reply = reply_to(agent, signed(project, "server", "job-2", request(JOB)))
    assert reply == Reply(Mark.REFUSED, b"the request is of another job")


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
        reply = reply_to(agent, signed(project, "server", "job-3", b"anything"))
    assert reply == Reply(Mark.FAILED, b"")
    assert "RuntimeError" in caplog.text
    assert SECRET not in caplog.text
    assert len(closed) == 1
    agent._open = opened
    again = reply_to(agent, signed(project, "server", "job-3", request(job="job-3")))
    assert again.mark == Mark.ANSWERED


def test_while_it_is_at_work_it_says_so(agent, project, monkeypatch):
    monkeypatch.setattr(party_agent, "_TURN", 0.01)
    begun, go_on = threading.Event(), threading.Event()

    class Slow:
        def answer(self, request):
            begun.set()
            go_on.wait()
            return b"done"

    agent._open = lambda holdings, job: Slow()
    message = signed(project, "server", "job-4", b"anything")
    replies = []
    worker = threading.Thread(target=lambda: replies.append(reply_to(agent, message)))
    worker.start()
    begun.wait()
    assert reply_to(agent, message).mark is Mark.BUSY
    go_on.set()
    worker.join()
    assert replies == [Reply(Mark.ANSWERED, b"done")]
