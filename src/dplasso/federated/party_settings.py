"""The settings of a party: its data, and the limits on what may ever leave it."""

import re
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from dplasso.federated.caps import Caps
from dplasso.federated.declaration import path, positive, require, term, text, texts
from dplasso.schema import (
    Hashed,
    Identifier,
    Ignore,
    Number,
    Person,
    Role,
    Schema,
    Target,
    Text,
)

_NUMBER = r"\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*"
_BOUNDS = re.compile(f"{_NUMBER}:{_NUMBER}(missing)?")
_BUCKETS = re.compile(r"(hash|text)\s+([0-9]+)")
_COLUMNS = {
    "age": "0:120",
    "income": "0:1e6 missing",
    "town": "hash 100",
    "note": "text 1000",
    "name": "ignore",
}


_WANTED = "a table of one column or more; see the examples"


def _columns(name: str, value: Any) -> dict[str, str]:
    fit = isinstance(value, dict) and all(isinstance(role, str) for role in value.values())
    require(f"[{name}]", fit, _WANTED)
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
        texts, "The classes, if labels are texts (sketches: two); without them labels are numbers.",
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
    schema: Path | None = term(
        path, "Schema file (dplasso schema) that says how columns are read, in place of [columns].",
        default=None, example="people.toml",
    )  # fmt: skip
    columns: dict[str, str] | None = term(
        _columns,
        "How columns are read, public: bounds, buckets of a category or of words, or ignored.",
        default=None,
        example=_COLUMNS,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("max_epsilon", "max_row_budget"):
            positive(name, getattr(self, name))
        if self.schema is None:
            _ = self.table  # or a job would be the first to find it invalid
        elif self.columns or self.label_column is not None or self.classes is not None:
            raise ValueError(
                "schema states the columns, the labels and their classes; remove [columns], "
                "label_column and classes, or schema"
            )

    def within(self, folder: Path) -> Self:
        """Return the settings with paths as seen from a folder."""
        names = ["data", "secret", "ledger", "state", *(["schema"] if self.schema else [])]
        found = replace(self, **{name: folder / getattr(self, name) for name in names})
        _ = found.table  # or a job would be the first to find it invalid
        return found

    @property
    def label_bound(self) -> float | None:
        """The bound on the labels; two classes are -1 and 1. None without labels."""
        if self.table.target is None:
            return None
        labels = self.table.labels
        if labels.classes is not None:
            return 1.0
        return self.y_bound if labels.bounds is None else max(map(abs, labels.bounds))

    def _described(self, schema: Schema) -> Schema:
        """Return a schema as a party reads its table: one row per person, whom the identifiers
        name."""
        schema.check_filled(labelled=schema.target is not None)
        role = schema.columns.get(self.id_column, Identifier())
        if not isinstance(role, Identifier | Person | Ignore):
            raise ValueError(
                f"column {self.id_column!r} has the identifiers (id_column), and cannot be of role "
                f'"{role.kind}"; give it the role "identifier"'
            )
        if schema.person not in (None, self.id_column):
            raise ValueError(
                f"people are named by id_column, {self.id_column!r}, and not by "
                f'{schema.person!r}; give that column the role "ignore"'
            )
        if schema.rows_per_person not in (None, 1):
            raise ValueError("rows_per_person must be 1: a party has one row per person")
        if schema.labels.class_weight:
            raise ValueError("class_weight is not known to federations; remove it")
        columns = {**schema.columns, self.id_column: Identifier()}
        return replace(schema, columns=columns, n_people=None, rows_per_person=None)

    @cached_property
    def table(self) -> Schema:
        """How to read the table. Columns that are not named are left out."""
        if self.schema is not None:
            return self._described(Schema.from_toml(self.schema))
        require("[columns]", bool(self.columns), _WANTED)
        columns: dict[str, Role] = {}
        for column, role in (self.columns or {}).items():
            if numbers := _BOUNDS.fullmatch(role):
                low, high = float(numbers[1]), float(numbers[2])
                columns[column] = Number(low, high)
                if numbers[3]:
                    columns[column] = Number(low, high, missing="indicator", fill=0.0)
            elif buckets := _BUCKETS.fullmatch(role):
                columns[column] = (Text if buckets[1] == "text" else Hashed)(int(buckets[2]))
            else:
                wanted = (
                    '"low:high", "low:high missing", "hash buckets", "text buckets" or "ignore"'
                )
                require(f"column {column!r}", role == "ignore", wanted)
                columns[column] = Ignore()
        ordered = sorted(columns, key=lambda name: not isinstance(columns[name], Number))
        columns = {name: columns[name] for name in ordered}  # numbers first, as ever
        if self.label_column is not None:
            if self.label_column in columns:
                raise ValueError(f"column {self.label_column!r} has two roles; give it one")
            columns[self.label_column] = Target(self.classes)
        return Schema(columns)
