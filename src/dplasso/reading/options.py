"""The parameters of `read_rows`, as the formats receive them."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.base.wording import ParameterError, Setting
from dplasso.reading.plans import TablePlan
from dplasso.schema import Schema
from dplasso.schema.roles.category import buckets_for
from dplasso.schema.schema import FACTS

# Parameters that every schema states.
STATED = (
    "target",
    "bounds",
    "hashed",
    "text",
    "ignore",
    "missing",
    "person",
    "buckets",
    "classes",
    "regression",
    "y_bound",
)
Progress = Callable[[int, int | None], None]  # how much is done, and the total if it is known
Buckets = Mapping[str, int | None] | Sequence[str]  # buckets per column, None for the default


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """The parameters of `read_rows`, which describes them; None means that one was left out.

    ``known`` is the schema of a table whose columns already have roles, and ``scaled`` says whether
    its numbers are scaled to [-1, 1]. ``fallback_encoding`` is that of files which are not UTF-8
    throughout, where rows are read like others.
    """

    schema: Schema | str | os.PathLike[str] | None = None
    target: str | None = None
    bounds: Mapping[str, tuple[float, float]] | None = None
    hashed: Buckets | None = None
    text: Buckets | None = None
    ignore: Sequence[str] | None = None
    missing: Sequence[str] | None = None
    person: str | None = None
    buckets: int | None = None
    delimiter: str | None = None
    encoding: str | None = None
    n_features: int | None = None
    zero_based: bool | None = None
    labels: str | os.PathLike[str] | NDArray[Any] | None = None
    feature_names: str | os.PathLike[str] | Sequence[str] | None = None
    classes: Sequence[str] | None = None
    n_rows: int | None = None
    x_bound: float | None = 1.0
    labelled: bool = True
    longest_line: int | None = None
    progress: Progress | None = None
    known: Schema | None = None
    scaled: bool = False
    fallback_encoding: str | None = None

    @property
    def limits(self) -> dict[str, Any]:
        """The longest line as a keyword argument; empty where the reader's default applies."""
        return {} if self.longest_line is None else {"longest_line": self.longest_line}

    def table_plan(self, path: object | None) -> TablePlan | Schema:
        """How to treat the columns of a table; ``path`` is None for a frame."""
        if self.known is not None:
            return self._with_own_form(self.known)
        if self.schema is not None:
            return self._with_own_form(self.given_schema())
        if self.target is None:
            raise ParameterError(
                "{path} is a table; name the column to predict with {target}, or give {schema}",
                path="it" if path is None else path,
            )
        usual = buckets_for(self.n_rows) if self.buckets is None else self.buckets
        hashed, words = _sized(self.hashed), _sized(self.text)
        for name in hashed.keys() & words.keys():
            if words[name] is not None:
                raise ParameterError(
                    "{text} and {hashed} both give buckets of {name!r}; give them once", name=name
                )
        sizes = {name: hashed.get(name) or words.get(name) for name in [*hashed, *words]}
        return TablePlan(
            self.target,
            bounds=self.bounds or {},
            hashed={name: usual if size is None else size for name, size in sizes.items()},
            buckets=usual,
            text=tuple(words),
            ignore=tuple(self.ignore or ()),
            missing=tuple(self.missing or ()),
            person=self.person,
            classes=self.classes,
            delimiter=self.delimiter,
            encoding=self.encoding,
        )

    def given_schema(self) -> Schema:
        """The schema that was given, without blanks; nothing else may state what it states."""
        assert self.schema is not None
        schema = self.schema
        if not isinstance(schema, Schema):
            schema = Schema.from_toml(schema)
        check_overlap(vars(self), schema)
        schema.check_filled(self.labelled)
        return schema

    def _with_own_form(self, schema: Schema) -> Schema:
        """The schema, for a file that may have a delimiter and an encoding of its own."""
        return replace(
            schema,
            delimiter=self.delimiter or schema.delimiter,
            encoding=self.encoding or schema.encoding,
        )

    def names_of(self, columns: int) -> NDArray[Any] | None:
        """The names of the columns if they are given; their number must be ``columns``."""
        if self.feature_names is None:
            return None
        names: Sequence[str] | list[str]
        if isinstance(self.feature_names, str | os.PathLike):
            names = Path(self.feature_names).read_text("utf-8").splitlines()
        else:
            names = self.feature_names
        if len(names) != columns:
            raise ParameterError(
                "{feature_names} has {count:,} names for {columns:,} columns; give one per column",
                count=len(names),
                columns=columns,
            )
        return as_objects(names)


def check_overlap(given: Mapping[str, object], schema: Schema) -> None:
    """Reject parameters, None where they were left out, that the schema states as well."""
    for name in (*STATED, *(fact for fact in FACTS if getattr(schema, fact) is not None)):
        if given.get(name) is not None:
            raise ParameterError(
                "{parameter} is stated by {schema}; leave it out", parameter=Setting(name)
            )


def as_objects(names: Iterable[str]) -> NDArray[Any]:
    """Names as an array of texts of any length."""
    return np.array(list(names), dtype=object)


def _sized(columns: Buckets | None) -> dict[str, int | None]:
    """Columns with their buckets, which are None for a plain list of columns."""
    return dict(columns if isinstance(columns, Mapping) else dict.fromkeys(columns or ()))
