"""The permissions of each site, written at every start, so that no edited file can widen them.

No job may bring code. A server builds one class for a job, ours; a party builds none and starts no
process (see `attendance`). An administrator may submit, watch, stop and fetch jobs, and has no
rights on the machine of a party.
"""

import json
from pathlib import Path
from typing import Any

from dplasso.federated.deployment.kits import Kit

_HERE = "dplasso.federated.deployment"
COORDINATION = f"{_HERE}.coordination.Coordination"
_NOTHING = {
    "submit_job": "none",
    "clone_job": "none",
    "manage_job": "none",
    "download_job": "none",
    "view": "none",
    "operate": "none",
    "shell_commands": "none",
    "byoc": "none",
    "server-predeployed-flwr": "none",
}
_RIGHTS = {
    "server": {
        "submit_job": "any",
        "manage_job": "any",
        "download_job": "any",
        "view": "any",
        "app_command": "any",
    },
    "party": {"submit_job": "any"},  # to hear of a job; the party itself limits what it may ask
}
_JOBS_AT_ONCE = 4
_FORGOTTEN_AFTER = 60  # seconds of silence after which a party is not listed as connected


def write_policy(kit: Kit, **of_party: str) -> None:
    """Write what a server or a party permits, and what it logs."""
    resources = _of_server(kit) if kit.role == "server" else _of_party(kit, of_party)
    rights = {"project_admin": {**_NOTHING, **_RIGHTS[kit.role]}}
    _write(kit.local / "resources.json", resources)
    _write(kit.local / "authorization.json", {"format_version": "1.0", "permissions": rights})
    _write(kit.local / "log_config.json", _logging())
    # Processes of a site connect to each other over loopback only, never ad hoc to others.
    internal = {"scheme": "tcp", "resources": {"host": "localhost", "connection_security": "clear"}}
    _write(kit.local / "comm_config.json", {"allow_adhoc_conns": False, "internal": internal})


def _of_server(kit: Kit) -> dict[str, Any]:
    storage = "nvflare.app_common.storages.filesystem_storage.FilesystemStorage"
    snapshots = {"root_dir": str(kit.folder / "store" / "snapshots"), "uri_root": "/"}
    return {
        "format_version": 2,
        "class_list_enforcement_mode": "enforce",
        "class_allow_list": [COORDINATION],
        "servers": [
            {
                "admin_storage": "transfer",
                "max_num_clients": len(kit.parties),
                "heart_beat_timeout": _FORGOTTEN_AFTER,
                "admin_timeout": 10.0,
            }
        ],
        "snapshot_persistor": {
            "path": "nvflare.app_common.state_persistors.storage_state_persistor"
            ".StorageStatePersistor",
            "args": {"uri_root": "/", "storage": {"path": storage, "args": snapshots}},
        },
        "components": [
            _component(
                "job_scheduler",
                "nvflare.app_common.job_schedulers.job_scheduler.DefaultJobScheduler",
                max_jobs=_JOBS_AT_ONCE,
            ),
            _component(
                "job_manager",
                "nvflare.apis.impl.job_def_manager.SimpleJobDefManager",
                uri_root=str(kit.folder / "store" / "jobs"),
                job_store_id="job_store",
            ),
            _component("job_store", storage),
            _component("bookkeeping", f"{_HERE}.bookkeeping.Bookkeeping", kit=str(kit.folder)),
            _component(
                "process_launcher",
                "nvflare.app_common.job_launcher.server_process_launcher.ServerProcessJobLauncher",
            ),
        ],
    }


def _of_party(kit: Kit, given: dict[str, str]) -> dict[str, Any]:
    return {
        "format_version": 2,
        "class_list_enforcement_mode": "enforce",
        "class_allow_list": [],
        "allow_log_streaming": False,
        "client": {"retry_timeout": 30},
        "components": [
            _component(
                "resource_manager",
                "nvflare.app_common.resource_managers.passthrough_resource_manager"
                ".PassthroughResourceManager",
            ),
            _component(
                "resource_consumer",
                "nvflare.app_common.resource_consumers.passthrough_resource_consumer"
                ".PassthroughResourceConsumer",
            ),
            _component("attendance", f"{_HERE}.attendance.Attendance"),
            _component("party", f"{_HERE}.party_agent.PartyAgent", kit=str(kit.folder), **given),
        ],
    }


def _component(name: str, path: str, **arguments: Any) -> dict[str, Any]:
    return {"id": name, "path": path, "args": arguments}


def _logging() -> dict[str, Any]:
    """Log connections and jobs. Nothing below INFO, where NVFlare would show messages."""
    form = "%(asctime)s %(levelname)s %(name)s %(message)s"
    handler = {"class": "logging.StreamHandler", "formatter": "plain", "stream": "ext://sys.stderr"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"plain": {"format": form}},
        "handlers": {"console": handler},
        "loggers": {"root": {"level": "INFO", "handlers": ["console"]}},
    }


def _write(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=2) + "\n")
    path.chmod(0o600)
