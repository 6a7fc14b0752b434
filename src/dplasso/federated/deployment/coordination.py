"""The server's end of the line: a process for each job, with its coordinator."""

import dataclasses
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.signal import Signal
from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey, ReturnCode
from nvflare.private.defs import new_cell_message

from dplasso.federated.deployment.conduct import Conductor, Progress, Stopped
from dplasso.federated.deployment.kits import open_kit
from dplasso.federated.deployment.settings import ServerSettings, read_server_settings
from dplasso.federated.deployment.wire import CHANNEL, TOPIC, Reply
from dplasso.federated.roles import Coordinates, Terms
from dplasso.storage.atomic import replace_file

CARD, OUTCOME, PROGRESS = "model_card.json", "outcome.json", "progress"
_TRY = 10.0  # seconds for one reply; a party that is at work says so before


class Coordination(Controller):
    """Runs one job: the terms come with it, everything else from the server's own files."""

    def __init__(self, terms: dict[str, Any], parties: Sequence[str]) -> None:
        super().__init__()
        self._terms, self._parties = Terms(**terms), list(parties)
        self._progress = Progress()
        self._stop = threading.Event()

    def start_controller(self, fl_ctx: FLContext) -> None:
        fl_ctx.get_engine().register_app_command(PROGRESS, self._tell_progress)

    def stop_controller(self, fl_ctx: FLContext) -> None:
        self._stop.set()

    def control_flow(self, abort_signal: Signal, fl_ctx: FLContext) -> None:
        job, workspace = fl_ctx.get_job_id(), fl_ctx.get_workspace()
        kit = open_kit(Path(workspace.get_root_dir()), "server")
        settings = read_server_settings(kit.folder)
        results = settings.results / job
        results.mkdir(parents=True, exist_ok=True)
        coordinator = settings.open_coordinator(self._terms, self._parties, job, results)
        watcher = threading.Thread(target=self._heed, args=(abort_signal,), daemon=True)
        watcher.start()
        ended = self._conduct(coordinator, settings, fl_ctx.get_engine().get_cell())
        self._stop.set()
        outcome = {"job": job, "ended": ended, **_facts(self._progress)}
        for folder in (results, Path(workspace.get_run_dir(job))):
            replace_file(folder / CARD, coordinator.result())
            replace_file(folder / OUTCOME, json.dumps(outcome, indent=2).encode())

    def _conduct(self, coordinator: Coordinates, settings: ServerSettings, cell: Any) -> str:
        def ask(party: str, request: bytes) -> Reply | None:
            reply = cell.send_request(
                channel=CHANNEL,
                topic=TOPIC,
                target=party,
                request=new_cell_message({}, request),
                timeout=_TRY,
                optional=True,
            )
            fine = reply.get_header(MessageHeaderKey.RETURN_CODE) == ReturnCode.OK
            return Reply.read(reply.payload) if fine else None

        conductor = Conductor(coordinator, ask, settings.patience, self._stop)
        self._progress = conductor.progress
        try:
            conductor.run()
        except Stopped:
            return "stopped by an administrator"
        lost = self._progress.lost
        told = "; ".join(f"party {party} {why}" for party, why in lost.items())
        return f"ended early: {told}" if lost else "complete"

    def _heed(self, abort_signal: Signal) -> None:
        while not self._stop.wait(0.5):
            if abort_signal.triggered:
                self._stop.set()

    def _tell_progress(self, topic: str, data: Any, fl_ctx: FLContext) -> dict[str, Any]:
        return _facts(self._progress)


def _facts(progress: Progress) -> dict[str, Any]:
    facts = dataclasses.asdict(progress)
    return {**facts, "away": sorted(progress.away)}
