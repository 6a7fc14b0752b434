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
    # Facts in the form of the privacy statement.
    label_bounds: Mapping[str, Fact] = field(default_factory=dict)
    label_facts: Mapping[str, Fact] = field(default_factory=dict)
    feature_names: Fact | None = None

    @property
    def private(self) -> bool:
        """Whether the fit has a privacy guarantee."""
        return not math.isinf(self.epsilon)

    @property
    def releases_bound(self) -> bool:
        """Whether a bound on entries is released before the fit."""
        return self.bounds is None
