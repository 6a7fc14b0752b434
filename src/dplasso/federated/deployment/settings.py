"""The settings files of a party and of a server. Only their owners write them.

Keys, comments and checks come from the declarations: `PartySettings` and `ServerSettings`.
"""

import importlib
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from dplasso.federated.declaration import Declared, path, positive, term, terms_of, text
from dplasso.federated.party_settings import PartySettings
from dplasso.federated.roles import OpensCoordinator, OpensParty

PARTY_FILE, SERVER_FILE = "party.toml", "server.toml"


@dataclass(frozen=True, kw_only=True)
class ServerSettings(Declared):
    """How the server runs jobs. The fields are the keys of ``server.toml``; all are public."""

    patience: float = term(
        positive, "Seconds that a party may be away before its jobs end.", example=600.0
    )
    results: Path = term(path, "Folder with the model card of each job.", example="results")
    coordinates: str = term(
        text,
        "Function that opens the coordinator of a job.",
        example="dplasso.federated.service:open_coordinator",
    )


def write_party_settings(folder: Path, name: str) -> None:
    """Write the settings of a new party, which releases nothing until its owner sets limits."""
    title = f"What {name} holds, and what may ever leave it. The server never sees this file."
    (folder / PARTY_FILE).write_text(_new_file(PartySettings, title))


def write_server_settings(folder: Path) -> None:
    """Write the settings of a new server."""
    title = "How the server runs jobs. Nothing here is secret."
    (folder / SERVER_FILE).write_text(_new_file(ServerSettings, title))


def changed_party_settings(folder: Path, changes: Mapping[str, Any]) -> str:
    """Return the text of a party's settings with other values; comments stay as they are.

    The new values are checked one by one. The whole may still lack others.
    """
    place = folder / PARTY_FILE
    declared = {one.name: one for one in terms_of(PartySettings)}
    lines = place.read_text().splitlines()
    for name, value in changes.items():
        checked = declared[name].metadata["check"](name, value)
        written = f"{name} = {json.dumps(str(value) if isinstance(checked, Path) else checked)}"
        found = [k for k, line in enumerate(lines) if re.match(rf"{name}\s*=", line)]
        found += [k for k, line in enumerate(lines) if line.startswith(f"# {name} = ")]
        if found:
            lines[found[0]] = written
        else:  # before the first table
            lines.insert(0, written)
    text = "\n".join([*lines, ""])
    _parsed(place, text)
    return text


def party_ledger_of(folder: Path) -> Path:
    """Return where the ledger of a party is, also if other settings are still missing."""
    return folder / str(_toml(folder / PARTY_FILE).get("ledger", "ledger.db"))


def read_party_settings(
    folder: Path, name: str, data: Path | None = None
) -> tuple[PartySettings, OpensParty]:
    """Read the settings of a party, and the function that opens it.

    ``data`` replaces the table that the file names. Paths are relative to the folder.
    """
    place = folder / PARTY_FILE
    content = _toml(place) | ({} if data is None else {"data": str(data.absolute())})
    settings = PartySettings.read_file(str(place), content, party=name).within(folder)
    if not settings.data.exists():
        raise ValueError(f"{place}: data is {str(settings.data)!r}, and there is no such file")
    return settings, cast(OpensParty, _function(place, "answers", settings.answers))


def read_server_settings(folder: Path) -> tuple[ServerSettings, OpensCoordinator]:
    """Read the settings of a server, and the function that opens a coordinator."""
    place = folder / SERVER_FILE
    settings = ServerSettings.read_file(str(place), _toml(place))
    opened = cast(OpensCoordinator, _function(place, "coordinates", settings.coordinates))
    return replace(settings, results=folder / settings.results), opened


def _new_file(declared: type, title: str) -> str:
    """Write every term: its help and its example. Optional terms are commented out."""
    lines, tables = [f"# {title}", ""], []
    for one in terms_of(declared):
        example, help = one.metadata["example"], one.metadata["help"]
        if isinstance(example, dict):
            rows = [f"# {key} = {json.dumps(value)}" for key, value in example.items()]
            tables += [f"# {help}", f"[{one.name}]", *rows]
        else:
            mark = "# " if one.default is None else ""
            lines += [f"# {help}", f"{mark}{one.name} = {json.dumps(example)}", ""]
    return "\n".join([*lines, *tables, ""])


def _toml(place: Path) -> dict[str, Any]:
    try:
        return _parsed(place, place.read_text())
    except UnicodeDecodeError as error:
        raise ValueError(f"{place} is no TOML: {error}") from None


def _parsed(place: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{place} is no TOML: {error}") from None
    except RecursionError:
        raise ValueError(f"{place} is no TOML: it is nested too deep") from None


def _function(place: Path, name: str, reference: str) -> object:
    """Return the function of a reference module:function. Only the file's owner chooses it."""
    module, _, function = reference.partition(":")
    try:
        return getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, TypeError, ValueError):
        raise ValueError(f"{place}: {name} names no function that is installed here") from None
