"""What a fit is asked for: public facts, each with its source."""

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
# A bound on entries: one for all columns, or one per column.
XBound = float | Floats | Sequence[float] | SparseBounds


class Sourced(NamedTuple, Generic[Value]):
    """A public value, and where it came from."""

    value: Value
    source: str

    def fact(self, of: str = "") -> Fact:
        """As a privacy statement has it."""
        return fact(self.value, self.source, of)


class RowCount(NamedTuple):
    """The number of rows that rules may use, and where it came from."""

    value: int
    source: str
    declared: bool

    @classmethod
    def of(cls, declared: int | None, found: int, neighboring: Neighboring) -> "RowCount":
        """The declared number; without one, the number that the data have."""
        if declared is not None:
            return cls(int(declared), "declared", True)
        if neighboring == "replace_one":
            return cls(found, "public by the neighbouring relation", False)
        return cls(found, f"{READ} and treated as public", False)


@dataclass(frozen=True, kw_only=True, eq=False)
class Request:
    """The public facts of one fit: parameters that were checked, and the shape of the data.

    Attributes
    ----------
    solver, row_map : str
        As asked for: "auto" is resolved by `dplasso.fitting.fitters.plan`.
    x_bound : number, or one number per column; None where a bound is to be released first.
    bounds : ColumnBounds
        The same, read for all columns; None where ``x_bound`` is.
    bound_share : float
        Share of rho that is spent on releasing a bound; 0 where it is declared.
    margin_unit : float
        The margin that counts as 1 in the rule for the radius.
    keep : int, Sparsifier or None
        How many coefficients stay.
    charged : bool
        Whether an accountant is charged, which counts in rho.
    label_bounds, label_facts : dict
        Facts about labels, as the privacy statement has them.
    feature_names : dict or None
        The fact about the names of the columns.
    """

    solver: str
    row_map: str
    epsilon: float
    delta: float
    neighboring: Neighboring
    loss: Loss
    n_rows: RowCount
    n_features: Sourced[int]
    x_bound: XBound | None
    x_bound_source: str
    bounds: ColumnBounds | None
    bound_share: float = 0.0
    margin_unit: float = 1.0
    radius: float | Auto = "auto"
    max_iter: int | Auto = "auto"
    fit_intercept: bool = True
    selection: str = "lazy"
    keep: int | Sparsifier | None = None
    charged: bool = False
    label_bounds: Mapping[str, Fact] = field(default_factory=dict)
    label_facts: Mapping[str, Fact] = field(default_factory=dict)
    feature_names: Fact | None = None

    @property
    def private(self) -> bool:
        """Whether anything is promised."""
        return not math.isinf(self.epsilon)

    @property
    def releases_bound(self) -> bool:
        """Whether a bound on entries is released before the fit."""
        return self.bounds is None

    @property
    def n_nonzero(self) -> int | None:
        """A public number of coefficients to keep."""
        return None if isinstance(self.keep, Sparsifier) else self.keep
