"""The server's side of a job: one process per job, with its coordinator."""

import contextlib
import json
import os
import shutil
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.serialization import load_pem_private_key
from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.signal import Signal
from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey, ReturnCode
from nvflare.private.defs import new_cell_message

from dplasso.federated.deployment.conduct import Conductor, JobProgress, Send, Stopped
from dplasso.federated.deployment.kits import open_kit
from dplasso.federated.deployment.replies import CHANNEL, TOPIC, Reply
from dplasso.federated.deployment.results import CARD, OUTCOME, PROGRESS
from dplasso.federated.deployment.settings import read_server_settings
from dplasso.federated.deployment.transcript import Transcript
from dplasso.federated.moments.at_server import SEED
from dplasso.federated.requests import signed
from dplasso.federated.roles import Coordinates
from dplasso.federated.server_side import TRANSCRIPT
from dplasso.federated.terms import Proposal
from dplasso.storage.atomic import replace_file
from dplasso.storage.private_files import make_folder

_TRY = 10.0  # seconds for one reply; a busy party replies earlier

Sign = Callable[[str, int, bytes], bytes]


class Coordination(Controller):
    """Runs one job. Its terms come with the job, everything else from the server's own files.

    Jobs of the previous version name their ``parties`` apart from the other terms.
    """

    def __init__(self, terms: dict[str, Any], parties: Sequence[str] = ()) -> None:
        super().__init__()
        content = {**terms, "parties": parties} if parties else terms
        self._proposal = Proposal.read_file("terms of the job", content)
        self._progress = JobProgress()
        self._stop = threading.Event()
        self._server = os.getppid()

    def start_controller(self, fl_ctx: FLContext) -> None:
        fl_ctx.get_engine().register_app_command(PROGRESS, self._report_progress)

    def stop_controller(self, fl_ctx: FLContext) -> None:
        self._stop.set()

    def control_flow(self, abort_signal: Signal, fl_ctx: FLContext) -> None:
        job, workspace = fl_ctx.get_job_id(), fl_ctx.get_workspace()
        kit = open_kit(Path(workspace.get_root_dir()), "server")
        settings, open_coordinator = read_server_settings(kit.folder)
        results = settings.results / job
        make_folder(results)
        ended_before = (results / OUTCOME).exists()  # the server was stopped just after
        if not ended_before:
            threading.Thread(target=self._watch, args=(abort_signal,), daemon=True).start()
            coordinator = open_coordinator(replace(self._proposal, job=job), results)
            key = load_pem_private_key(kit.certificate.with_suffix(".key").read_bytes(), None)
            send = partial(_send, fl_ctx.get_engine().get_cell(), partial(signed, key, job))
            ended = self._conduct(coordinator, send, results / TRANSCRIPT, settings.patience)
            self._stop.set()
            outcome = {"job": job, "ended": ended, **_facts(self._progress)}
            replace_file(results / CARD, coordinator.result())
            replace_file(results / OUTCOME, json.dumps(outcome, indent=2).encode())
        for path in (results / TRANSCRIPT, results / f"{job}.{SEED}"):
            path.unlink(missing_ok=True)
        for name in (CARD, OUTCOME):  # from here an administrator can fetch them
            shutil.copy(results / name, workspace.get_run_dir(job))

    def _conduct(self, coordinator: Coordinates, send: Send, path: Path, patience: float) -> str:
        """Run the job; return how it ended, in words."""
        with Transcript(path) as transcript:
            conductor = Conductor(coordinator, send, transcript, patience, self._stop)
            self._progress = conductor.progress
            try:
                conductor.run()
            except Stopped:
                self._end_with_server()
                return _ended_early(conductor, "stopped by an administrator")
            except ValueError as error:  # invalid answers, or a transcript of other requests
                return _ended_early(conductor, f"failed: {error}")
        lost = self._progress.lost
        reasons = "; ".join(f"party {party} {why}" for party, why in lost.items())
        return f"not all parties stayed to the end: {reasons}" if lost else coordinator.ended

    def _watch(self, abort_signal: Signal) -> None:
        while not self._stop.wait(0.25):
            self._end_with_server()
            if abort_signal.triggered:
                self._stop.set()

    def _end_with_server(self) -> None:
        """Exit if the server's process is gone: the job is interrupted, and will be resumed."""
        if os.getppid() != self._server:
            os._exit(1)

    def _report_progress(self, topic: str, data: Any, fl_ctx: FLContext) -> dict[str, Any]:
        return _facts(self._progress)


def _ended_early(conductor: Conductor, why: str) -> str:
    # An answer that is invalid, once more, changes nothing: the job ends for the first reason.
    with contextlib.suppress(ValueError):
        conductor.take_leave(why)
    return why


def _facts(progress: JobProgress) -> dict[str, Any]:
    return {**asdict(progress), "away": sorted(progress.away)}


def _send(cell: Any, sign: Sign, party: str, number: int, request: bytes) -> Reply | None:
    reply = cell.send_request(
        channel=CHANNEL,
        topic=TOPIC,
        target=party,
        request=new_cell_message({}, sign(party, number, request)),
        timeout=_TRY,
        optional=True,
    )
    arrived = reply.get_header(MessageHeaderKey.RETURN_CODE) == ReturnCode.OK
    return Reply.read(reply.payload) if arrived else None
