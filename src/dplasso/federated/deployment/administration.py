"""The administrator's commands to a running federation: submit, watch, stop and fetch."""

import json
import logging
import os
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

from nvflare.apis.fl_exception import FLCommunicationError
from nvflare.fuel.flare_api.api_spec import (
    AuthenticationError,
    InternalError,
    InvalidArgumentError,
    JobNotDone,
    JobNotFound,
    JobNotRunning,
    NoReply,
)
from nvflare.fuel.flare_api.flare_api import Session, new_secure_session
from nvflare.fuel.hci.client import api
from nvflare.private.fed.authenticator import Authenticator

from dplasso.federated.deployment.certificates import check_certificate
from dplasso.federated.deployment.kits import Kit
from dplasso.federated.deployment.permissions import COORDINATION
from dplasso.federated.deployment.results import CARD, OUTCOME, OUTCOME_KEY, PROGRESS
from dplasso.federated.terms import Proposal

_JOB, _APP = "dplasso", "federation"
_UNUSED_DRIVERS = [
    f"nvflare.fuel.f3.drivers.{name}_driver" for name in ("aio_http", "aio_grpc", "grpc", "file")
]  # kits speak TLS over TCP (`provisioning`)
_CONNECT = 20.0  # seconds
_ASK_AGAIN = 0.05  # seconds between two challenges of the server
_PROGRESS = 0.5  # seconds; a job that is under way replies in a hundredth of that
_TRIES = 5  # for a request that a busy server does not answer


@dataclass(frozen=True)
class JobStatus:
    """One job, as the server sees it."""

    job: str
    state: str
    submitted: str
    rounds_done: int
    rounds: int | None  # of how many; None before the terms are agreed
    remarks: str

    @property
    def is_active(self) -> bool:
        """Whether the job has not ended yet."""
        return self.state in ("waiting", "starting", "running")


@dataclass(frozen=True)
class Status:
    """The server, its parties and its jobs."""

    server: str
    up_since: str
    parties: dict[str, bool]  # whether it is connected
    jobs: list[JobStatus]


class Administration:
    """A session of an administrator with the server."""

    def __init__(self, kit: Kit, session: Session) -> None:
        self._kit, self._session = kit, session

    def submit(self, proposal: Proposal) -> str:
        """Submit a job and return its id. A job has no code, only its proposal."""
        with tempfile.TemporaryDirectory() as folder:
            job = _write_job(Path(folder), proposal)
            return str(self._session.submit_job(str(job)))

    def status(self) -> Status:
        """Return the state of the server, the parties and all jobs."""
        info = _answer(self._session.get_system_info)
        connected = {client.name for client in info.client_info}
        jobs = [self._status_of(job) for job in _answer(self._session.list_jobs)]
        parties = {name: name in connected for name in self._kit.parties}
        started = datetime.fromtimestamp(info.server_info.start_time, UTC)
        address = f"{self._kit.server}:{self._kit.port}"
        return Status(address, f"{started:%Y-%m-%d %H:%M:%S}", parties, jobs)

    def stop(self, job: str) -> None:
        """End a job. Its model card covers the rounds so far."""
        self._known(job)
        _answer(self._session.abort_job, job)

    def fetch(self, job: str) -> tuple[bytes, dict[str, Any]]:
        """Return the model card of a job that has ended, and how it ended."""
        self._known(job)
        with tempfile.TemporaryDirectory() as folder:
            try:
                place = Path(self._session.download_job_result(job, folder))
                found = {path.name: path.read_bytes() for path in place.rglob("*.json")}
                return found[CARD], json.loads(found[OUTCOME])
            except (InternalError, JobNotDone, KeyError, OSError):
                raise ValueError(
                    f"job {job} has no model card yet; see dplasso federated status"
                ) from None

    def _known(self, job: str) -> dict[str, Any]:
        try:
            return dict(_answer(self._session.get_job_meta, job))
        except (JobNotFound, InternalError, InvalidArgumentError):
            raise ValueError(f"there is no job {job}; see dplasso federated status") from None

    def _status_of(self, listed: dict[str, Any]) -> JobStatus:
        job, status = str(listed["job_id"]), str(listed["status"])
        if status == "RUNNING":
            facts = self._progress_of(job)
        else:
            meta = self._known(job)
            failure = "; ".join(meta.get("job_deploy_detail") or []) if "FAIL" in status else ""
            facts = meta.get(OUTCOME_KEY, {"ended": failure})
        away = ", ".join(facts.get("away", []))
        remarks = str(facts.get("ended", f"waits for {away}" if away else ""))
        submitted = datetime.fromisoformat(listed["submit_time"]).astimezone(UTC)
        state, rounds = _STATES.get(status, status), facts.get("rounds")
        when, done = f"{submitted:%Y-%m-%d %H:%M:%S}", int(facts.get("rounds_done", 0))
        return JobStatus(job, state, when, done, rounds, remarks)

    def _progress_of(self, job: str) -> dict[str, Any]:
        """Ask the process of a job. One that is about to begin, or has just ended, is silent."""
        self._session.set_timeout(_PROGRESS)
        try:
            return dict(self._session.do_app_command(job, PROGRESS, {}))
        except (InternalError, JobNotRunning, NoReply, TypeError, ValueError):
            return {}
        finally:
            self._session.unset_timeout()


_STATES = {
    "SUBMITTED": "waiting",
    "APPROVED": "waiting",
    "DISPATCHED": "starting",
    "RUNNING": "running",
    "FINISHED:COMPLETED": "ended",
    "FINISHED:ABORTED": "stopped",
    "FINISHED:EXECUTION_EXCEPTION": "failed",
    "FINISHED:ABNORMAL": "failed",
    "FINISHED:FAILED_TO_RUN": "failed",
}


@contextmanager
def administering(kit: Kit) -> Iterator[Administration]:
    """Log in over mutual TLS, and out again."""
    check_certificate(kit)
    before = os.getcwd()  # NVFlare changes to the kit's folder
    logging.disable(logging.CRITICAL)  # errors that matter are raised
    try:
        session = _log_in(kit)
        try:
            yield Administration(kit, session)
        finally:
            session.close()
    finally:
        logging.disable(logging.NOTSET)
        os.chdir(before)


class _PromptAuthenticator(Authenticator):
    """Asks again soon. The first challenge always comes before the connection stands, and NVFlare
    would wait for a second before the next one."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**{**given, "retry_interval": _ASK_AGAIN})


@contextmanager
def _prompt_authentication() -> Iterator[None]:
    usual, api.Authenticator = api.Authenticator, _PromptAuthenticator
    try:
        yield
    finally:
        api.Authenticator = usual


def _log_in(kit: Kit) -> Session:
    # NVFlare imports every driver. Those that no kit uses would take a third of the time.
    for driver in _UNUSED_DRIVERS:
        sys.modules.setdefault(driver, ModuleType(driver))
    try:
        # NVFlare would try for long before it reports that nobody listens.
        socket.create_connection((kit.server, kit.port), _CONNECT).close()
        with redirect_stdout(StringIO()), _prompt_authentication():
            return new_secure_session(
                kit.name, str(kit.folder), timeout=_CONNECT, auto_login_max_tries=1
            )
    except AuthenticationError:
        raise ValueError(f"the server at {kit.server} does not accept this kit") from None
    except (OSError, FLCommunicationError, InternalError):
        raise ValueError(
            f"the server at {kit.server}:{kit.port} cannot be reached; is it running "
            "(dplasso federated server)?"
        ) from None


def _answer(ask: Callable[..., Any], *about: Any) -> Any:
    """Return the server's answer; ask again while it is too busy to reply."""
    for _ in range(_TRIES):
        try:
            return ask(*about)
        except NoReply:
            continue
    raise ValueError("the server is running but does not answer; try again later")


def _write_job(folder: Path, proposal: Proposal) -> Path:
    """Write a job as NVFlare expects it: its participants, and one workflow with its arguments."""
    job = folder / _JOB
    config = job / _APP / "config"
    config.mkdir(parents=True)
    meta = {"name": _JOB, "deploy_map": {_APP: ["server", *proposal.parties]}, "resource_spec": {}}
    terms = json.loads(proposal.to_json())
    workflow = {"id": "coordination", "path": COORDINATION, "args": {"terms": terms}}
    server = {"format_version": 2, "workflows": [workflow], "components": []}
    client: dict[str, Any] = {"format_version": 2, "executors": [], "components": []}
    for path, document in (
        (job / "meta.json", meta),
        (config / "config_fed_server.json", server),
        (config / "config_fed_client.json", client),
    ):
        path.write_text(json.dumps(document, indent=2))
    return job
