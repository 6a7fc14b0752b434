"""The settings of a party: its data, and the limits on what may ever leave it."""

import re
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from dplasso.federated.caps import Caps
from dplasso.federated.declaration import path, positive, require, term, text, texts
from dplasso.federated.rows import NO_LABELS
from dplasso.reading.plans import TablePlan

_NUMBER = r"\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*"
_BOUNDS = re.compile(f"{_NUMBER}:{_NUMBER}")
_BUCKETS = re.compile(r"(hash|text)\s+([0-9]+)")
_COLUMNS = {"age": "0:120", "town": "hash 100", "note": "text 1000", "name": "ignore"}


def _columns(name: str, value: Any) -> dict[str, str]:
    fit = isinstance(value, dict) and all(isinstance(role, str) for role in value.values())
    require(f"[{name}]", fit and len(value) > 0, "a table of one column or more; see the examples")
    return dict(value)


@dataclass(frozen=True, kw_only=True)
class PartySettings(Caps):
    """The settings of a party, which only the party itself writes. Its limits are its `Caps`.

    The fields are the keys of ``party.toml``, except for ``party``, the name in the certificate.
    """

    party: str
    data: Path = term(path, "A table (.csv, .tsv, .parquet) with one row per person.", example="")
    id_column: str = term(text, "Column with the identifiers, alike at all parties.", example="id")
    label_column: str | None = term(
        text, "Column with the labels, only at the party that holds them.", default=None,
        example="y",
    )  # fmt: skip
    classes: tuple[str, ...] | None = term(
        texts, "The two classes, if labels are texts; without them labels are numbers.",
        default=None, example=["no", "yes"],
    )  # fmt: skip
    y_bound: float = term(
        positive, "Public bound: labels that are numbers are clipped to it.", example=1.0
    )
    secret: Path = term(
        path, "File with the parties' shared secret, unknown to the server. It hides identifiers.",
        example="secret",
    )  # fmt: skip
    ledger: Path = term(path, "Ledger with every charge. Back it up.", example="ledger.db")
    state: Path = term(
        path, "Folder with every release so far. A job cannot continue without it.",
        example="state",
    )  # fmt: skip
    answers: str = term(
        text, "Function that opens the party of a job.",
        example="dplasso.federated.service:open_party",
    )  # fmt: skip
    columns: dict[str, str] = term(
        _columns,
        "How columns are read, public: bounds, buckets of a category or of words, or ignored.",
        example=_COLUMNS,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("max_epsilon", "max_row_budget"):
            positive(name, getattr(self, name))
        _ = self.plan  # or a job would be the first to find it invalid

    def within(self, folder: Path) -> Self:
        """Return the settings with paths as seen from a folder."""
        names = ("data", "secret", "ledger", "state")
        return replace(self, **{name: folder / getattr(self, name) for name in names})

    @property
    def label_bound(self) -> float | None:
        """The bound on the labels; two classes are -1 and 1. None without labels."""
        if self.label_column is None:
            return None
        return self.y_bound if self.classes is None else 1.0

    @cached_property
    def plan(self) -> TablePlan:
        """How to read the table. Columns that are not named are left out."""
        bounds, hashed, words, ignored = {}, {}, [], []
        for column, role in self.columns.items():
            if numbers := _BOUNDS.fullmatch(role):
                bounds[column] = (float(numbers[1]), float(numbers[2]))
            elif buckets := _BUCKETS.fullmatch(role):
                hashed[column] = int(buckets[2])
                words += [column] if buckets[1] == "text" else []
            else:
                wanted = '"low:high", "hash buckets", "text buckets" or "ignore"'
                require(f"column {column!r}", role == "ignore", wanted)
                ignored.append(column)
        return TablePlan(
            NO_LABELS if self.label_column is None else self.label_column,
            bounds=bounds,
            hashed=hashed,
            text=tuple(words),
            ignore=tuple(ignored),
            classes=None if self.classes is None else list(self.classes),
            complete=True,
        )
