"""The server's list of jobs: how each ended, and which were interrupted."""

import json
import threading
from pathlib import Path

from nvflare.apis.event_type import EventType
from nvflare.apis.fl_component import FLComponent
from nvflare.apis.fl_constant import FLContextKey, SystemComponents
from nvflare.apis.fl_context import FLContext
from nvflare.apis.job_def import RunStatus

from dplasso.federated.deployment.results import OUTCOME, OUTCOME_KEY
from dplasso.federated.deployment.settings import read_server_settings

# The server is fully up by then, which it is not yet at its own SYSTEM_START.
_PARTY_CONNECTED = (EventType.CLIENT_REGISTER_PROCESSED, EventType.CLIENT_HEARTBEAT_PROCESSED)


class Bookkeeping(FLComponent):
    """Runs in the server's own process, which outlives the processes of jobs."""

    def __init__(self, kit: str) -> None:
        super().__init__()
        self._results = read_server_settings(Path(kit))[0].results
        self._first = threading.Lock()  # never released

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        if event_type in _PARTY_CONNECTED and self._first.acquire(blocking=False):
            self._resume(fl_ctx)
        elif event_type == EventType.JOB_COMPLETED:
            self._note_outcome(str(fl_ctx.get_prop(FLContextKey.CURRENT_JOB_ID)), fl_ctx)

    def _resume(self, fl_ctx: FLContext) -> None:
        """Resume, from their transcripts, the jobs that ran when the server was stopped."""
        engine = fl_ctx.get_engine()
        manager = engine.get_component(SystemComponents.JOB_MANAGER)
        for job in manager.get_jobs_by_status([RunStatus.DISPATCHED, RunStatus.RUNNING], fl_ctx):
            engine.job_runner.restore_running_job(job.job_id, {}, None, fl_ctx)

    def _note_outcome(self, job: str, fl_ctx: FLContext) -> None:
        path = self._results / job / OUTCOME
        if path.is_file():
            manager = fl_ctx.get_engine().get_component(SystemComponents.JOB_MANAGER)
            manager.update_meta(job, {OUTCOME_KEY: json.loads(path.read_text())}, fl_ctx)
