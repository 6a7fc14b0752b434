"""The request for a fit: public facts, each with its source."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from dplasso.base.arrays import Floats
from dplasso.data import ColumnBounds
from dplasso.data.sparse_bounds import SparseBounds
from dplasso.fitting.sparsifier import Sparsifier
from dplasso.losses import Loss
from dplasso.privacy.calibration import Neighboring
from dplasso.privacy.statement import READ, fact
from dplasso.privacy.unit import Unit

Value = TypeVar("Value", covariant=True)
Fact = dict[str, Any]
Auto = Literal["auto"]
# A bound on entries: one number for all columns, or one number per column.
XBound = float | Floats | Sequence[float] | SparseBounds


class Sourced(NamedTuple, Generic[Value]):
    """A public value and its source."""

    value: Value
    source: str

    def fact(self, of: str = "") -> Fact:
        """Return the value in the form of a privacy statement."""
        return fact(self.value, self.source, of)


class RowCount(NamedTuple):
    """The number of rows that rules may use, and its source."""

    value: int
    source: str
    declared: bool

    @classmethod
    def of(cls, declared: int | None, found: int, neighboring: Neighboring) -> "RowCount":
        """Return the declared number, or the number of rows in the data if none is declared."""
        if declared is not None:
            return cls(int(declared), "declared", True)
        if neighboring == "replace_one":
            return cls(found, "public by the neighbouring relation", False)
        return cls(found, f"{READ} and treated as public", False)


class Numbers(NamedTuple):
    """Numbers of rows and people: declared ones, or those of the data."""

    rows: int
    people: int


def people_count(
    declared_rows: int | None,
    declared_people: int | None,
    found: Numbers,
    rows_per_person: int,
    neighboring: Neighboring,
) -> tuple[RowCount, dict[str, Fact]]:
    """Return what all rows of people count as together, and the facts that it follows from.

    A person counts as ``rows_per_person`` rows at most, so this is the number of people if that is
    1, and otherwise no more than that of rows either. The number of people is public if people are
    replaced; the number of rows is not.
    """
    people = RowCount.of(declared_people, found.people, neighboring)
    facts = {
        "n_people": Sourced(people.value, people.source).fact(),
        "rows_per_person": fact(rows_per_person, "given"),
    }
    if rows_per_person == 1:
        return people._replace(source=f"{people.source}; everyone counts as one row"), facts
    rows = RowCount.of(declared_rows, found.rows, "add_remove")
    value = min(rows.value, rows_per_person * people.value)
    source = people.source if READ in people.source else rows.source
    source = f"{source}; everyone counts as {rows_per_person} rows at most"
    return RowCount(value, source, rows.declared and people.declared), facts


@dataclass(frozen=True, kw_only=True, eq=False)
class Request:
    """The public facts of one fit: parameters that were checked, and the shape of the data.

    `dplasso.fitting.registry.plan` resolves a ``solver``, a ``row_map`` and an ``n_nonzero_source``
    of "auto"; the last one then is the reason of the rule.
    """

    solver: str
    row_map: str
    epsilon: float
    delta: float
    neighboring: Neighboring
    loss: Loss
    n_rows: RowCount
    n_features: Sourced[int]
    x_bound: XBound | None  # None if a bound is released first
    x_bound_source: str
    bounds: ColumnBounds | None  # ``x_bound`` expanded to all columns
    bound_share: float = 0.0  # of rho, for releasing a bound
    margin_unit: float = 1.0  # the margin that counts as 1 in the rule for the radius
    radius: float | Auto = "auto"
    max_iter: int | Auto = "auto"
    fit_intercept: bool = True
    selection: str = "lazy"
    n_nonzero: int | None = None  # None keeps all coefficients
    n_nonzero_source: str = "given"
    sparsifier: Sparsifier | None = None
    in_ball: bool = False  # whether options were given that only Frank-Wolfe has
    charged: bool = False  # whether an accountant, which adds up rho, is charged
    unit: Unit = Unit()  # whom the fit protects
    weighs_classes: bool = False  # whether rows of some classes count less than others
    # Facts in the form of the privacy statement.
    label_bounds: Mapping[str, Fact] = field(default_factory=dict)
    label_facts: Mapping[str, Fact] = field(default_factory=dict)
    people_facts: Mapping[str, Fact] = field(default_factory=dict)
    feature_names: Fact | None = None

    @property
    def private(self) -> bool:
        """Whether the fit has a privacy guarantee."""
        return not math.isinf(self.epsilon)

    @property
    def rows_per_unit(self) -> float:
        """Number of rows for rules that compare it with the noise, which grows with the unit."""
        return self.n_rows.value / self.unit.rows

    @property
    def counts_weights(self) -> bool:
        """Whether the sum of all rows' weights may be far below ``n_rows``, which is public."""
        return self.weighs_classes or self.unit.rows > 1

    @property
    def releases_bound(self) -> bool:
        """Whether a bound on entries is released before the fit."""
        return self.bounds is None
