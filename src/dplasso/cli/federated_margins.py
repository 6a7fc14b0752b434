"""Predictions of a federation: the sum of all parties' margins for new rows."""

import csv
import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dplasso.federated.model import PartyModel
from dplasso.federated.moments.party_model import MomentPartyModel
from dplasso.federated.party_settings import PartySettings
from dplasso.federated.rows import read_party
from dplasso.storage.spreadsheet import cell, unmarked


class Margins(NamedTuple):
    """Numbers of rows, by identifier: one for each row, or one for each class."""

    rows: list[tuple[str, list[float]]]

    def heads(self, name: str) -> list[str]:
        """Return the heads of the columns of numbers."""
        columns = max((len(numbers) for _, numbers in self.rows), default=1)
        return [name] if columns == 1 else [f"{name} {k}" for k in range(columns)]


def margins_of(
    settings: PartySettings, model: PartyModel | MomentPartyModel, data: Path
) -> Margins:
    """Return a party's margins for new rows, by identifier."""
    rows = read_party(data, settings.table.without_target(), settings.id_column)
    if isinstance(model, PartyModel):
        found = model.margins(rows.X)[:, None]
    else:
        found = model.margins(rows.in_own_units)
    return Margins(list(zip(rows.identifiers, found.tolist(), strict=True)))


def combined(files: Sequence[Path]) -> Margins:
    """Return the sums of all parties' margins.

    Rows are in the order of the first file, and rows that it lacks follow. A row that a file lacks
    has a margin of 0 there.
    """
    sums: dict[str, list[list[float]]] = {}
    columns: set[int] = set()
    for path in files:
        seen: set[str] = set()
        for identifier, margins in _read(path):
            if identifier in seen:
                raise ValueError(f"{path} has two rows with one identifier; remove one of them")
            seen.add(identifier)
            columns.add(len(margins))
            sums.setdefault(identifier, []).append(margins)
    if len(columns) > 1:
        raise ValueError("the files have different numbers of columns; give those of one job")
    totals = {one: [math.fsum(column) for column in zip(*parts, strict=True)]
              for one, parts in sums.items()}  # fmt: skip
    return Margins(list(totals.items()))


def table(
    margins: Margins, name: str, raw: bool = False, model: MomentPartyModel | None = None
) -> bytes:
    """Return rows as CSV text, in which no identifier is a spreadsheet formula, unless ``raw``.

    With the label holder's ``model``, classes and their probabilities follow.
    """
    written = _quoted if raw else partial(cell, separator=",")
    heads = ["id", *margins.heads(name)]
    rows = [[written(one), *map(repr, numbers)] for one, numbers in margins.rows]
    if model is not None:
        odds, classes = model.odds, model.classes or [str(k) for k in range(model.n_classes)]
        scores = np.array([numbers for _, numbers in margins.rows]).reshape(len(rows), -1)
        if scores.shape[1] != len(odds.slope):
            raise ValueError("the files are not of the job of this model; give those of one job")
        heads += ["class", *(f"probability of {one}" for one in classes)]
        found = zip(odds.classes(scores), odds.probabilities(scores).tolist(), strict=True)
        for row, (place, chances) in zip(rows, found, strict=True):
            row += [written(classes[place]), *map(repr, chances)]
    lines = [",".join(written(head) for head in heads), *(",".join(row) for row in rows)]
    return "".join(f"{line}\n" for line in lines).encode()


def _read(path: Path) -> list[tuple[str, list[float]]]:
    try:
        with open(path, newline="", encoding="utf-8") as file:
            heads, *rows = list(csv.reader(file))
        if any(len(row) != len(heads) or len(row) < 2 for row in rows):
            raise ValueError
        return [(unmarked(one), [float(number) for number in numbers]) for one, *numbers in rows]
    except (UnicodeDecodeError, csv.Error, ValueError):
        raise ValueError(
            f"{path} is no file of margins; make it with dplasso federated margins"
        ) from None


def _quoted(text: str) -> str:
    if any(sign in text for sign in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text
