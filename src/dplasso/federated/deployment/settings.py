"""The files in which a party and a server lay down what they will do; nobody else writes them."""

import importlib
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from dplasso.federated.roles import OpensCoordinator, OpensParty, PartySettings
from dplasso.federated.rows import NO_LABELS
from dplasso.reading.plans import TablePlan

PARTY_FILE, SERVER_FILE = "party.toml", "server.toml"

_NUMBER = r"\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*"
_BOUNDS = re.compile(f"{_NUMBER}:{_NUMBER}")
_BUCKETS = re.compile(r"(hash|text)\s+([0-9]+)")

_PARTY = """\
# What {name} holds, and what may ever leave it. The server never sees this file.

data = ""            # a table with a row for each person: .csv, .tsv or .parquet
id_column = "id"     # which people the rows are, the same for all parties
# label_column = "y" # only at the party that holds the labels
# classes = ["no", "yes"] # labels that are texts; else they are numbers
label_bound = 1.0    # labels that are numbers are cut to this; public

# Of all jobs together, for ever. What is beyond is refused, whatever the server asks.
max_epsilon = 0.0
max_delta = 0.0
row_budget = 10.0    # the most that a row's shared entries may add up to in a job, squared

secret = "secret"    # the same for all parties, unknown to the server: it hides who the rows are of
ledger = "ledger.db" # every charge, durably
state = "state"      # everything drawn so far: without it a job cannot go on
answers = "dplasso.federated.service:open_party"

[columns]            # what the columns are taken as: public, and decided without looking at rows
# age = "0:120"      # a number, clipped to these bounds
# town = "hash 100"  # a category, in so many buckets
# note = "text 1000" # a text, its words in so many buckets
# name = "ignore"    # left out
"""

_SERVER = """\
# How the server runs jobs. Nothing of this is secret.

patience = 600.0     # seconds a party may be away before a job goes on, or ends, without it
results = "results"  # a folder for each job, with its model card
coordinates = "dplasso.federated.service:open_coordinator"
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
) -> tuple[PartySettings, OpensParty]:
    """What a party holds, and how its answers are made. Paths are seen from its folder."""
    file = _File(folder / PARTY_FILE, {} if data is None else {"data": str(data.absolute())})
    settings = PartySettings(
        party=name,
        data=file.path("data"),
        id_column=file.text("id_column"),
        plan=_plan(file),
        label_bound=file.number("label_bound"),
        row_budget=file.number("row_budget"),
        max_epsilon=file.number("max_epsilon"),
        max_delta=file.number("max_delta"),
        secret=file.path("secret"),
        ledger=file.path("ledger"),
        state=file.path("state"),
    )
    opened = cast(OpensParty, _named(file, "answers"))
    file.check_all_known()
    if settings.max_delta >= 1.0:
        raise ValueError(f"{file.place}: max_delta must be below 1")
    if not settings.data.exists():
        raise ValueError(f"{file.place}: data is {str(settings.data)!r}, and there is no such file")
    return settings, opened


def _plan(file: "_File") -> TablePlan:
    """What the columns are, and which has the labels."""
    label = file.text("label_column") if "label_column" in file else NO_LABELS
    classes = file.texts("classes") if "classes" in file else None
    roles: dict[str, dict[str, Any]] = {"bounds": {}, "hashed": {}, "text": {}, "ignore": {}}
    for column, role in file.table("columns").items():
        numbers = _BOUNDS.fullmatch(role)
        buckets = _BUCKETS.fullmatch(role)
        if numbers:
            roles["bounds"][column] = (float(numbers[1]), float(numbers[2]))
        elif buckets:
            roles["hashed"][column] = int(buckets[2])
            if buckets[1] == "text":
                roles["text"][column] = True
        elif role == "ignore":
            roles["ignore"][column] = True
        else:
            raise ValueError(
                f'{file.place}: column {column!r} must be "low:high", "hash buckets", '
                '"text buckets" or "ignore"'
            )
    # Columns that are not named are left out: nothing leaves by oversight.
    return TablePlan(
        label,
        bounds=roles["bounds"],
        hashed=roles["hashed"],
        text=tuple(roles["text"]),
        ignore=tuple(roles["ignore"]),
        classes=classes,
        complete=True,
    )


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
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{place} is no TOML: {error}") from None
        except RecursionError:
            raise ValueError(f"{place} is no TOML: it is nested too deep") from None
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

    def texts(self, name: str) -> list[str]:
        value = self._value(name)
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            raise ValueError(f'{self.place}: {name} must be a list of texts, such as ["a", "b"]')
        return value

    def table(self, name: str) -> dict[str, str]:
        value = self._value(name)
        fit = isinstance(value, dict) and all(isinstance(text, str) for text in value.values())
        if not fit or not value:
            raise ValueError(f"{self.place}: [{name}] must name a column or more; see the examples")
        return dict(value)

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
    except (ImportError, AttributeError, TypeError, ValueError):
        raise ValueError(f"{file.place}: {name} names no function that is installed here") from None
