"""A kit: the folder of one participant, with its key, its certificate and the server's address."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

_CARD = "federation.json"


@dataclass(frozen=True, kw_only=True)
class Kit:
    """One participant's folder. ``name`` is the name in its certificate."""

    folder: Path
    role: str
    name: str
    server: str
    port: int
    parties: tuple[str, ...]

    @property
    def startup(self) -> Path:
        """The provisioned files: keys, certificates, addresses."""
        return self.folder / "startup"

    @property
    def local(self) -> Path:
        """The participant's own policy, written at every start."""
        return self.folder / "local"

    @property
    def certificate(self) -> Path:
        """The participant's certificate."""
        return self.startup / ("server.crt" if self.role == "server" else "client.crt")

    def write(self) -> None:
        """Write the facts of the kit into its folder."""
        facts = {name: value for name, value in asdict(self).items() if name != "folder"}
        (self.folder / _CARD).write_text(json.dumps(facts, indent=2) + "\n")


def open_kit(folder: Path, role: str) -> Kit:
    """Open the kit in a folder, which must be one for this role."""
    kit = read_kit(folder)
    if kit.role != role:
        raise ValueError(
            f"{folder} is the kit of the {kit.role} {kit.name}; give the kit of a {role}"
        )
    return kit


def read_kit(folder: Path) -> Kit:
    """Open the kit in a folder, for whatever role."""
    path = folder / _CARD
    if not path.is_file():
        raise ValueError(
            f"{folder} is no kit of a federation: there is no {_CARD}; give a folder made by "
            "dplasso federated init"
        )
    try:
        facts = json.loads(path.read_text())
        parties = tuple(facts.pop("parties"))
        return Kit(folder=folder.absolute(), parties=parties, **facts)
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{path} cannot be read; ask for a new copy of the kit") from None
