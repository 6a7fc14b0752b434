"""Predictions of a federation: each party's margins of new rows, and their sum."""

import csv
import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from dplasso.federated.model import PartyModel
from dplasso.federated.roles import PartySettings
from dplasso.federated.rows import NO_LABELS, read_party
from dplasso.reading.plans import TablePlan
from dplasso.storage.spreadsheet import cell, unmarked


def margins_of(settings: PartySettings, model: PartyModel, data: Path) -> list[tuple[str, float]]:
    """A party's margins of new rows, by identifier."""
    rows = read_party(data, _without_labels(settings.plan), settings.id_column)
    return list(zip(rows.identifiers, model.margins(rows.X).tolist(), strict=True))


def combined(files: Sequence[Path]) -> list[tuple[str, float]]:
    """The sums of all parties' margins, in the order of the first file.

    Whoever a file lacks counts nothing there; whoever the first file lacks follows.
    """
    sums: dict[str, list[float]] = {}
    for path in files:
        seen: set[str] = set()
        for identifier, margin in _read(path):
            if identifier in seen:
                raise ValueError(f"{path} has two rows of one identifier; take one of them out")
            seen.add(identifier)
            sums.setdefault(identifier, []).append(margin)
    return [(identifier, math.fsum(parts)) for identifier, parts in sums.items()]


def table(rows: Sequence[tuple[str, float]], name: str, raw: bool = False) -> bytes:
    """Rows as CSV text; no identifier is a formula to a spreadsheet, unless ``raw``."""
    written = _quoted if raw else partial(cell, separator=",")
    lines = [f"id,{name}", *(f"{written(identifier)},{value!r}" for identifier, value in rows)]
    return "".join(f"{line}\n" for line in lines).encode()


def _without_labels(plan: TablePlan) -> TablePlan:
    """The same features of rows whose labels are not known."""
    content = {**plan.to_dict(), "target": NO_LABELS, "classes": None}
    return TablePlan.from_dict(content)


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
