"""A server or a party in the foreground. It leaves no process behind when it ends."""

import argparse
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import psutil
from nvflare.fuel.f3.mpm import MainProcessMonitor
from nvflare.private.fed.app.client import client_train
from nvflare.private.fed.app.server import server_train

from dplasso.federated.deployment.certificates import check_certificate
from dplasso.federated.deployment.kits import Kit
from dplasso.federated.deployment.party_agent import PartyAgent
from dplasso.federated.deployment.permissions import write_policy
from dplasso.federated.deployment.provisioning import CONFIG, ORGANISATION
from dplasso.federated.deployment.settings import read_party_settings, read_server_settings
from dplasso.federated.party_ledger import open_ledger
from dplasso.federated.rows import read_party

_GRACE = 3.0  # seconds for an orderly end


class _Signalled(BaseException):
    """SIGTERM or SIGINT. NVFlare would take an `Exception` for a failure, and continue."""


def run_server(kit: Kit) -> NoReturn:
    """Coordinate jobs until a signal arrives. Jobs that run then continue at the next start."""
    check_certificate(kit)
    read_server_settings(kit.folder)  # invalid settings are reported before anything starts
    write_policy(kit)
    _run(server_train.main, kit, fed_server="fed_server.json")


def run_party(kit: Kit, data: Path | None) -> NoReturn:
    """Answer until a signal arrives. A party may be stopped, killed and restarted at any time."""
    check_certificate(kit)
    settings, _ = read_party_settings(kit.folder, kit.name, data)
    # An invalid table is reported here, and not to the server by a failure.
    read_party(settings.data, settings.table, settings.id_column)
    if settings.ledger.exists():
        open_ledger(settings)  # and so are limits that were changed
    write_policy(kit, data=str(settings.data))
    _run(client_train.main, kit, fed_client="fed_client.json", local_rank=0)


def _run(main: Callable[..., Any], kit: Kit, **arguments: Any) -> NoReturn:
    given = [f"uid={kit.name}"] if kit.role == "party" else []
    given += ["secure_train=true", f"org={ORGANISATION}", f"config_folder={CONFIG}"]
    args = argparse.Namespace(workspace=str(kit.folder), set=given, **arguments)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    os.umask(0o077)
    code = 1
    try:
        MainProcessMonitor.run(main_func=main, run_dir=str(kit.folder), args=args)
    except _Signalled:
        code = 0
        _within_grace(PartyAgent.disconnect)
    finally:
        _end_children()
        sys.stderr.flush()
        os._exit(code)  # threads of NVFlare would keep the process alive


def _leave(*_: object) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # one signal is enough
    raise _Signalled


def _within_grace(action: Callable[[], None]) -> None:
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    thread.join(_GRACE)


def _end_children() -> None:
    """End the processes of running jobs, which are in sessions of their own."""
    children = psutil.Process().children(recursive=True)
    for child in children:
        child.terminate()
    for child in psutil.wait_procs(children, timeout=_GRACE)[1]:
        child.kill()
