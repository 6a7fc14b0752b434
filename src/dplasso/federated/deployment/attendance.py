"""How a party takes part in a job of NVFlare: it hears of the job, and starts nothing."""

from typing import Any

from nvflare.apis.event_type import EventType
from nvflare.apis.fl_context import FLContext
from nvflare.apis.job_launcher_spec import (
    JobHandleSpec,
    JobLauncherSpec,
    JobReturnCode,
    add_launcher,
)


class Attendance(JobLauncherSpec):
    """The only launcher of a party: it launches nothing.

    NVFlare would start a process for each job and run the code that the job names or brings. Here
    the party's one process (`PartyAgent`) answers for all jobs, so that a job has nothing to run. A
    party that was away is back in every job as soon as it is connected.
    """

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        if event_type == EventType.BEFORE_JOB_LAUNCH:
            add_launcher(self, fl_ctx)

    def launch_job(self, job_meta: dict[str, Any], fl_ctx: FLContext) -> JobHandleSpec:
        return _NothingStarted()


class _NothingStarted(JobHandleSpec):
    def terminate(self) -> None:
        pass

    def poll(self) -> int:
        return int(JobReturnCode.SUCCESS)

    def wait(self) -> None:
        pass
