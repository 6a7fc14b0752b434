"""The parameters of `read_rows`, as the formats receive them."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.base.wording import ParameterError
from dplasso.reading.plans import TablePlan, buckets_for

Progress = Callable[[int, int | None], None]  # how much is done, and the total if it is known
Buckets = Mapping[str, int | None] | Sequence[str]  # buckets per column, None for the default


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """The parameters of `read_rows`, which describes them; None means that one was left out.

    ``plan`` is the complete plan of a table whose columns already have roles.
    """

    target: str | None = None
    bounds: Mapping[str, tuple[float, float]] | None = None
    hashed: Buckets | None = None
    text: Buckets | None = None
    ignore: Sequence[str] | None = None
    buckets: int | None = None
    delimiter: str | None = None
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
    plan: TablePlan | None = None

    @property
    def limits(self) -> dict[str, Any]:
        """The longest line as a keyword argument; empty where the reader's default applies."""
        return {} if self.longest_line is None else {"longest_line": self.longest_line}

    def table_plan(self, path: Path) -> TablePlan:
        """The plan that says how to treat the columns of a table."""
        if self.plan is not None:
            return self.plan
        if self.target is None:
            raise ParameterError(
                "{path} is a table; name the column to predict with {target}", path=path
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
            classes=self.classes,
            delimiter=self.delimiter,
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


def as_objects(names: Iterable[str]) -> NDArray[Any]:
    """Names as an array of texts of any length."""
    return np.array(list(names), dtype=object)


def _sized(columns: Buckets | None) -> dict[str, int | None]:
    """Columns with their buckets, which are None for a plain list of columns."""
    return dict(columns if isinstance(columns, Mapping) else dict.fromkeys(columns or ()))
