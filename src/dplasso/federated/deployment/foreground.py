"""A server or a party in the foreground: one process, and none left behind when it ends."""

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
from dplasso.federated.deployment.policy import write_policy
from dplasso.federated.deployment.provisioning import CONFIG, ORGANISATION
from dplasso.federated.deployment.settings import read_party_settings, read_server_settings
from dplasso.federated.rows import read_party

_GRACE = 3.0  # seconds to say goodbye in


class _Asked(BaseException):
    """SIGTERM or SIGINT. No Exception: NVFlare would take it for a failure and go on."""


def run_server(kit: Kit) -> NoReturn:
    """Coordinate until told to stop; jobs that run then are ended."""
    check_certificate(kit)
    read_server_settings(kit.folder)
    write_policy(kit)
    _run(server_train.main, kit, fed_server="fed_server.json")


def run_party(kit: Kit, data: Path | None) -> NoReturn:
    """Answer until told to stop. May be stopped, or killed, and started again at any time."""
    check_certificate(kit)
    holdings, _ = read_party_settings(kit.folder, kit.name, data)
    # What is wrong with the table is told here, where it is, and not to the server by a failure.
    read_party(holdings.data, holdings.plan, holdings.id_column)
    write_policy(kit, data=str(holdings.data))
    _run(client_train.main, kit, fed_client="fed_client.json", local_rank=0)


def _run(main: Callable[..., Any], kit: Kit, **arguments: Any) -> NoReturn:
    told = [f"uid={kit.name}"] if kit.role == "party" else []
    told += ["secure_train=true", f"org={ORGANISATION}", f"config_folder={CONFIG}"]
    args = argparse.Namespace(workspace=str(kit.folder), set=told, **arguments)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _leave)
    os.umask(0o077)
    code = 1
    try:
        MainProcessMonitor.run(main_func=main, run_dir=str(kit.folder), args=args)
    except _Asked:
        code = 0
        _within_grace(PartyAgent.say_goodbye)
    finally:
        _end_children()
        sys.stderr.flush()
        os._exit(code)  # threads of NVFlare would keep the process


def _leave(*_: object) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # once is enough
    raise _Asked


def _within_grace(action: Callable[[], None]) -> None:
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    thread.join(_GRACE)


def _end_children() -> None:
    """End the processes of running jobs, which have sessions of their own."""
    children = psutil.Process().children(recursive=True)
    for child in children:
        child.terminate()
    for child in psutil.wait_procs(children, timeout=_GRACE)[1]:
        child.kill()
