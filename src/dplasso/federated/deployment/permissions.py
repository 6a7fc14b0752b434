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
_RIGHTS = (
    *("submit_job", "clone_job", "manage_job", "download_job", "view", "operate"),
    *("shell_commands", "byoc", "server-predeployed-flwr"),
)
# A party has to hear of a job; it limits itself what a job may ask.
_GIVEN = {
    "server": ("submit_job", "manage_job", "download_job", "view", "app_command"),
    "party": ("submit_job",),
}
_NVFLARE = "nvflare.app_common"
_JOBS_AT_ONCE = 4
_FORGOTTEN_AFTER = 60  # seconds of silence after which a party is not listed as connected


def write_policy(kit: Kit, **of_party: str) -> None:
    """Write what a server or a party permits, and what it logs."""
    resources = _of_server(kit) if kit.role == "server" else _of_party(kit, of_party)
    rights = dict.fromkeys(_RIGHTS, "none") | dict.fromkeys(_GIVEN[kit.role], "any")
    permissions = {"format_version": "1.0", "permissions": {"project_admin": rights}}
    _write(kit.local / "resources.json", resources)
    _write(kit.local / "authorization.json", permissions)
    _write(kit.local / "log_config.json", _logging())
    # Processes of a site connect to each other over loopback only, never ad hoc to others.
    internal = {"scheme": "tcp", "resources": {"host": "localhost", "connection_security": "clear"}}
    _write(kit.local / "comm_config.json", {"allow_adhoc_conns": False, "internal": internal})


def _of_server(kit: Kit) -> dict[str, Any]:
    storage = f"{_NVFLARE}.storages.filesystem_storage.FilesystemStorage"
    store = kit.folder / "store"
    snapshots = {"root_dir": str(store / "snapshots"), "uri_root": "/"}
    server = {
        "admin_storage": "transfer",
        "max_num_clients": len(kit.parties),
        "heart_beat_timeout": _FORGOTTEN_AFTER,
        "admin_timeout": 10.0,
    }
    persistor = {
        "path": f"{_NVFLARE}.state_persistors.storage_state_persistor.StorageStatePersistor",
        "args": {"uri_root": "/", "storage": {"path": storage, "args": snapshots}},
    }
    scheduler = f"{_NVFLARE}.job_schedulers.job_scheduler.DefaultJobScheduler"
    manager = "nvflare.apis.impl.job_def_manager.SimpleJobDefManager"
    launcher = f"{_NVFLARE}.job_launcher.server_process_launcher.ServerProcessJobLauncher"
    jobs = {"uri_root": str(store / "jobs"), "job_store_id": "job_store"}
    return {
        **_resources([COORDINATION]),
        "servers": [server],
        "snapshot_persistor": persistor,
        "components": [
            _component("job_scheduler", scheduler, max_jobs=_JOBS_AT_ONCE),
            _component("job_manager", manager, **jobs),
            _component("job_store", storage),
            _component("bookkeeping", f"{_HERE}.bookkeeping.Bookkeeping", kit=str(kit.folder)),
            _component("process_launcher", launcher),
        ],
    }


def _of_party(kit: Kit, given: dict[str, str]) -> dict[str, Any]:
    manager = "resource_managers.passthrough_resource_manager.PassthroughResourceManager"
    consumer = "resource_consumers.passthrough_resource_consumer.PassthroughResourceConsumer"
    return {
        **_resources([]),
        "allow_log_streaming": False,
        "client": {"retry_timeout": 30},
        "components": [
            _component("resource_manager", f"{_NVFLARE}.{manager}"),
            _component("resource_consumer", f"{_NVFLARE}.{consumer}"),
            _component("attendance", f"{_HERE}.attendance.Attendance"),
            _component("party", f"{_HERE}.party_agent.PartyAgent", kit=str(kit.folder), **given),
        ],
    }


def _resources(allowed: list[str]) -> dict[str, Any]:
    """What a job may build: the allowed classes, and nothing else."""
    enforced = {"class_list_enforcement_mode": "enforce", "class_allow_list": allowed}
    return {"format_version": 2, **enforced}


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
