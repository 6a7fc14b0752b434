"""Predictions of a federation: the sum of all parties' margins for new rows."""

import csv
import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from dplasso.federated.model import PartyModel
from dplasso.federated.party_settings import PartySettings
from dplasso.federated.rows import read_party
from dplasso.storage.spreadsheet import cell, unmarked


def margins_of(settings: PartySettings, model: PartyModel, data: Path) -> list[tuple[str, float]]:
    """Return a party's margins for new rows, by identifier."""
    rows = read_party(data, settings.table.without_target(), settings.id_column)
    return list(zip(rows.identifiers, model.margins(rows.X).tolist(), strict=True))


def combined(files: Sequence[Path]) -> list[tuple[str, float]]:
    """Return the sums of all parties' margins.

    Rows are in the order of the first file, and rows that it lacks follow. A row that a file lacks
    has a margin of 0 there.
    """
    sums: dict[str, list[float]] = {}
    for path in files:
        seen: set[str] = set()
        for identifier, margin in _read(path):
            if identifier in seen:
                raise ValueError(f"{path} has two rows with one identifier; remove one of them")
            seen.add(identifier)
            sums.setdefault(identifier, []).append(margin)
    return [(identifier, math.fsum(parts)) for identifier, parts in sums.items()]


def table(rows: Sequence[tuple[str, float]], name: str, raw: bool = False) -> bytes:
    """Return rows as CSV text, in which no identifier is a spreadsheet formula, unless ``raw``."""
    written = _quoted if raw else partial(cell, separator=",")
    lines = [f"id,{name}", *(f"{written(identifier)},{value!r}" for identifier, value in rows)]
    return "".join(f"{line}\n" for line in lines).encode()


def _read(path: Path) -> list[tuple[str, float]]:
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        return [(unmarked(identifier), float(margin)) for identifier, margin in rows[1:]]
    except (UnicodeDecodeError, csv.Error, ValueError):
        raise ValueError(
            f"{path} is no file of margins; make it with dplasso federated margins"
        ) from None


def _quoted(text: str) -> str:
    if any(sign in text for sign in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text
