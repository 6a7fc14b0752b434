"""`TablePlan`: the quick way to say how columns are treated, from which a `Schema` is made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dplasso.base.wording import ParameterError, Setting
from dplasso.schema import Hashed, Ignore, Number, Person, Role, Schema, Target, Text
from dplasso.schema.roles.category import BUCKETS
from dplasso.schema.schema import repeated


@dataclass(frozen=True)
class TablePlan:
    """How to treat the columns of a table, as parameters and options say it. All of it is public.

    Columns without a role are treated as categories, which is reported, or rejected where they are
    numbers or where their names say that they identify people or rows.
    """

    target: str  # the column with the labels
    # The (low, high) of every column of numbers: values are clipped to it, and not changed else.
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    hashed: Mapping[str, int] = field(default_factory=dict)  # buckets of categories or text
    buckets: int = BUCKETS  # of such columns that are not in ``hashed``
    text: Sequence[str] = ()  # columns treated as sets of words
    ignore: Sequence[str] = ()  # columns left out
    missing: Sequence[str] = ()  # columns of numbers whose missing cells get an indicator
    person: str | None = None  # the column that says whose row it is
    # Possible labels, where labels are text. If not declared, they are read from the rows, which is
    # not private and causes a warning.
    classes: Sequence[str] | None = None
    delimiter: str | None = None  # None for a comma (.csv) or a tab (.tsv)
    encoding: str | None = None  # None for UTF-8

    def __post_init__(self) -> None:
        hashed = dict.fromkeys([*self.hashed, *self.text])
        person = [] if self.person is None else [self.person]
        if twice := repeated([self.target, *self.bounds, *hashed, *self.ignore, *person]):
            raise ValueError(f"column {twice[0]!r} has two roles in the plan; give it one")
        for name, (low, high) in self.bounds.items():
            if not (-np.inf < low <= high < np.inf) or low == high == 0:
                raise ParameterError(
                    "{bounds} of column {name!r} must be finite, low first, and not both 0; give "
                    "{setting}",
                    name=name,
                    setting=Setting("bounds", {name: ("low", "high")}),
                )
        for name, count in {**self.hashed, "": self.buckets}.items():
            where = f"column {name!r}" if name else "the plan"
            if isinstance(count, bool) or not isinstance(count, int) or count < 1:
                raise ParameterError(
                    "{buckets} of {where} must be a positive whole number", where=where
                )
        for name in self.missing:
            if name not in self.bounds:
                raise ParameterError(
                    "{missing} names {name!r}, which is no column of numbers; give it {bounds}",
                    name=name,
                )
        if self.classes is not None and (
            len(set(self.classes)) < 2 or len(set(self.classes)) < len(self.classes)
        ):
            raise ParameterError(
                "{classes} must be two or more different strings; declare them all"
            )
        self.schema().check_filled(labelled=False)

    def schema(self, others: Sequence[str] = ()) -> Schema:
        """The schema of a table; ``others`` are columns without a role."""
        columns: dict[str, Role] = {}
        for name, (low, high) in self.bounds.items():
            columns[name] = Number(low, high, missing="indicator" if name in self.missing else None)
        texts = frozenset(self.text)
        hashed = {**self.hashed}
        for name in (*self.text, *others):
            hashed.setdefault(name, self.buckets)
        for name, count in hashed.items():
            columns[name] = Text(count) if name in texts else Hashed(count)
        columns |= dict.fromkeys(self.ignore, Ignore())
        if self.person is not None:
            columns[self.person] = Person()
        columns[self.target] = Target(self.classes)
        return Schema(columns, delimiter=self.delimiter, encoding=self.encoding)
