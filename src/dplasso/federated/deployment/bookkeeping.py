"""How a job ended, put beside it in the server's list of jobs."""

import json
from pathlib import Path

from nvflare.apis.event_type import EventType
from nvflare.apis.fl_component import FLComponent
from nvflare.apis.fl_constant import FLContextKey, SystemComponents
from nvflare.apis.fl_context import FLContext

from dplasso.federated.deployment.coordination import OUTCOME
from dplasso.federated.deployment.settings import read_server_settings

OUTCOME_KEY = "dplasso_outcome"


class Bookkeeping(FLComponent):
    """Runs in the server's own process, which outlives those of jobs."""

    def __init__(self, kit: str) -> None:
        super().__init__()
        self._results = read_server_settings(Path(kit)).results

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        if event_type != EventType.JOB_COMPLETED:
            return
        job = str(fl_ctx.get_prop(FLContextKey.CURRENT_JOB_ID))
        path = self._results / job / OUTCOME
        if path.is_file():
            manager = fl_ctx.get_engine().get_component(SystemComponents.JOB_MANAGER)
            manager.update_meta(job, {OUTCOME_KEY: json.loads(path.read_text())}, fl_ctx)
