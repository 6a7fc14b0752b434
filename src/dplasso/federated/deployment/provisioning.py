"""How a federation is made: an authority, and a kit with key and certificate per participant."""

import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path

from nvflare.lighter.constants import CtxKey
from nvflare.lighter.entity import Project
from nvflare.lighter.impl.cert import CertBuilder
from nvflare.lighter.impl.signature import SignatureBuilder
from nvflare.lighter.impl.static_file import StaticFileBuilder
from nvflare.lighter.impl.workspace import WorkspaceBuilder
from nvflare.lighter.provisioner import Provisioner

from dplasso.base import checks
from dplasso.federated.deployment.kits import Kit
from dplasso.federated.deployment.names import DEFAULT_PORT, check_host, check_parties
from dplasso.federated.deployment.renewal import AUTHORITY_DAYS
from dplasso.federated.deployment.settings import write_party_settings, write_server_settings

NAME, ORGANISATION = "federation", "federation"
ADMIN = "admin@federation.org"  # NVFlare wants an address; nobody writes to it
CONFIG = "config"


def make_federation(
    folder: Path, server: str, parties: Sequence[str], port: int = DEFAULT_PORT
) -> list[Kit]:
    """Make a folder with the authority and all kits, complete or not at all.

    Only the owner may read it, since it has every key. ``authority`` can issue certificates for
    anyone, and running the federation does not need it: store it safely.
    """
    names = check_parties(parties)
    check_host(server)
    checks.count("port", port, 1, 65_535)
    if folder.exists():
        raise ValueError(f"{folder} exists; a federation needs a new folder")
    above = folder.absolute().parent
    above.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=above, prefix=".dplasso-") as temporary:
        made = Path(temporary) / "made"
        made.mkdir()
        provisioned = _provision(Path(temporary), server, names, port)
        _keep_authority(provisioned.parent / "state" / "cert.json", made / "authority")
        participants = [("server", "server", server), *(("party", name, name) for name in names)]
        participants.append(("admin", "admin", ADMIN))
        kits = [
            Kit(folder=made / place, role=role, name=name, server=server, port=port,
                parties=tuple(names))
            for role, place, name in participants
        ]  # fmt: skip
        secret = secrets.token_hex(32)  # for the parties only: the server must not have it
        for kit in kits:
            _lay_out(provisioned / kit.name, kit)
            if kit.role == "party":
                (kit.folder / "secret").write_text(f"{secret}\n")
        _close_to_others(made)
        os.rename(made, folder)
    return [replace(kit, folder=folder / kit.folder.name) for kit in kits]


def _provision(folder: Path, server: str, parties: Sequence[str], port: int) -> Path:
    """NVFlare's own provisioning: certificates by one authority, mutual TLS everywhere."""
    project = Project(NAME, "vertical federation", props={"api_version": 3})
    ports = {"fed_learn_port": port, "admin_port": port}
    project.set_server(server, ORGANISATION, ports)
    for name in parties:
        project.add_client(name, ORGANISATION, {})
    project.add_admin(ADMIN, ORGANISATION, {"role": "project_admin"})
    builders = [
        WorkspaceBuilder(),
        StaticFileBuilder(config_folder=CONFIG, scheme="tcp"),
        CertBuilder(root_valid_days=AUTHORITY_DAYS),
        SignatureBuilder(),
    ]
    provisioner = Provisioner(str(folder), builders)
    with redirect_stdout(StringIO()) as said:
        context = provisioner.provision(project)
    if context.get(CtxKey.BUILD_ERROR):
        raise OSError(f"the certificates could not be made: {said.getvalue().strip()}")
    return Path(context[CtxKey.CURRENT_PROD_DIR])


def _keep_authority(state: Path, folder: Path) -> None:
    """Keep the authority's key and certificate. NVFlare's state also has the participants' keys,
    which must not stay here."""
    known = json.loads(state.read_text())
    folder.mkdir()
    (folder / "rootCA.pem").write_text(known["root_cert"])
    (folder / "rootCA.key").write_text(known["root_pri_key"])


def _lay_out(provisioned: Path, kit: Kit) -> None:
    """Keep the provisioned files that our commands need: no scripts, no sample policies."""
    kit.folder.mkdir()
    shutil.move(provisioned / "startup", kit.startup)
    kit.local.mkdir()
    for pattern in ("*.sh", "*.txt", "*.ipynb"):
        for path in kit.startup.glob(pattern):
            path.unlink()
    kit.write()
    if kit.role == "party":
        write_party_settings(kit.folder, kit.name)
    elif kit.role == "server":
        write_server_settings(kit.folder)


def _close_to_others(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o700 if path.is_dir() else 0o600)
