"""Kits: a folder for each participant, with its key and certificate and the server's address."""

import json
from dataclasses import dataclass
from pathlib import Path

ROLES = ("server", "party", "admin")
_CARD = "federation.json"


@dataclass(frozen=True)
class Kit:
    """One participant's folder. `name` is the one in its certificate."""

    folder: Path
    role: str
    name: str
    server: str
    port: int
    parties: tuple[str, ...]

    @property
    def startup(self) -> Path:
        """What was provisioned: keys, certificates, addresses."""
        return self.folder / "startup"

    @property
    def local(self) -> Path:
        """What the participant itself lays down; written anew at every start."""
        return self.folder / "local"

    @property
    def certificate(self) -> Path:
        return self.startup / ("server.crt" if self.role == "server" else "client.crt")

    def write(self) -> None:
        facts = {
            "role": self.role,
            "name": self.name,
            "server": self.server,
            "port": self.port,
            "parties": list(self.parties),
        }
        (self.folder / _CARD).write_text(json.dumps(facts, indent=2) + "\n")


def open_kit(folder: Path, role: str) -> Kit:
    """The kit in a folder, which must be one for this role."""
    path = folder / _CARD
    if not path.is_file():
        raise ValueError(
            f"{folder} is no kit of a federation: there is no {_CARD}; give a folder that dplasso "
            "federated init has made"
        )
    try:
        facts = json.loads(path.read_text())
        parties = tuple(facts.pop("parties"))
        kit = Kit(folder=folder.absolute(), parties=parties, **facts)
    except (KeyError, TypeError, ValueError):
        raise ValueError(
            f"{path} cannot be read; take the kit again from whoever made the federation"
        ) from None
    if kit.role != role:
        raise ValueError(
            f"{folder} is the kit of the {kit.role} {kit.name}; give one of the {role}"
        )
    return kit
