"""The files in which a party and a server lay down what they will do; nobody else writes them."""

import importlib
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from dplasso.federated.roles import Holdings, OpensCoordinator, OpensParty

PARTY_FILE, SERVER_FILE = "party.toml", "server.toml"

_PARTY = """\
# What {name} holds, and what may ever leave it. The server never sees this file.

data = ""            # a table with a row for each person: .csv, .tsv or .parquet
id_column = "id"     # which people the rows are, the same for all parties
row_bound = 1.0      # features of a row are scaled down to this Euclidean length
# label_column = "y" # only at the party that holds the labels
# label_bound = 1.0  # labels are cut to this; public

# Of all jobs together, for ever. What is beyond is refused, whatever the server asks.
max_epsilon = 0.0
max_delta = 0.0

ledger = "ledger.sqlite" # every charge, durably
state = "state"          # everything drawn so far: without it a job cannot go on
answers = "dplasso.federated.party:open_party"
"""

_SERVER = """\
# How the server runs jobs. Nothing of this is secret.

patience = 600.0     # seconds a party may be away before a job goes on, or ends, without it
results = "results"  # a folder for each job, with its model card
coordinates = "dplasso.federated.coordinator:open_coordinator"
"""


@dataclass(frozen=True)
class ServerSettings:
    patience: float
    results: Path
    open_coordinator: OpensCoordinator


def write_party_settings(folder: Path, name: str) -> None:
    (folder / PARTY_FILE).write_text(_PARTY.format(name=name))


def write_server_settings(folder: Path) -> None:
    (folder / SERVER_FILE).write_text(_SERVER)


def read_party_settings(
    folder: Path, name: str, data: Path | None = None
) -> tuple[Holdings, OpensParty]:
    """What a party holds, and how its answers are made. Paths are seen from its folder."""
    file = _File(folder / PARTY_FILE, {} if data is None else {"data": str(data.absolute())})
    holdings = Holdings(
        party=name,
        data=file.path("data"),
        id_column=file.text("id_column"),
        label_column=file.text("label_column") if "label_column" in file else None,
        label_bound=file.number("label_bound") if "label_bound" in file else None,
        row_bound=file.number("row_bound"),
        max_epsilon=file.number("max_epsilon"),
        max_delta=file.number("max_delta"),
        ledger=file.path("ledger"),
        state=file.path("state"),
    )
    opened = cast(OpensParty, _named(file, "answers"))
    file.check_all_known()
    if holdings.max_delta >= 1.0:
        raise ValueError(f"{file.place}: max_delta must be below 1")
    if not holdings.data.exists():
        raise ValueError(f"{file.place}: data is {str(holdings.data)!r}, and there is no such file")
    return holdings, opened


def read_server_settings(folder: Path) -> ServerSettings:
    file = _File(folder / SERVER_FILE)
    opened = cast(OpensCoordinator, _named(file, "coordinates"))
    settings = ServerSettings(file.number("patience"), file.path("results"), opened)
    file.check_all_known()
    return settings


class _File:
    """Values of a TOML file by name, each of the kind it must be."""

    def __init__(self, place: Path, instead: Mapping[str, Any] | None = None) -> None:
        self.place = place
        try:
            self._values: dict[str, Any] = {**tomllib.loads(place.read_text()), **(instead or {})}
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{place} is no TOML: {error}") from None
        self._asked: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def number(self, name: str) -> float:
        value = self._value(name)
        fit = isinstance(value, int | float) and not isinstance(value, bool)
        if not fit or not 0.0 < value < math.inf:
            raise ValueError(f"{self.place}: {name} must be a finite number above 0; set it")
        return float(value)

    def text(self, name: str) -> str:
        value = self._value(name)
        if not isinstance(value, str) or not value:
            raise ValueError(f"{self.place}: {name} must be a text in quotes; set it")
        return value

    def path(self, name: str) -> Path:
        return self.place.parent / self.text(name)

    def check_all_known(self) -> None:
        if unknown := sorted(set(self._values) - self._asked):
            raise ValueError(f"{self.place}: {unknown[0]} is not known; correct or remove it")

    def _value(self, name: str) -> Any:
        self._asked.add(name)
        if name not in self._values:
            raise ValueError(f"{self.place}: {name} is missing; set it")
        return self._values[name]


def _named(file: _File, name: str) -> object:
    """The function that a setting names as module:function. Only the owner of the file chooses."""
    module, _, function = file.text(name).partition(":")
    try:
        return getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError):
        raise ValueError(f"{file.place}: {name} names no function that is installed here") from None
