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

    Attributes
    ----------
    solver : str
        Name of the solver, or "auto", which `dplasso.fitting.registry.plan` resolves.
    row_map : str
        Map of the entries, or "auto", which is resolved there, too.
    x_bound : float, or one float per column, or None
        Bound on entries; None if a bound is released first.
    bounds : ColumnBounds or None
        ``x_bound`` expanded to all columns; None if ``x_bound`` is None.
    bound_share : float
        Share of rho that is spent on releasing a bound; 0 if the bound is declared.
    margin_unit : float
        The margin that counts as 1 in the rule for the radius.
    n_nonzero : int or None
        Public number of coefficients to keep; None keeps all.
    n_nonzero_source : str
        "given", or "auto" until `dplasso.fitting.registry.plan` applies the rule of the solver,
        and then the reason of the rule.
    in_ball : bool
        Whether options were given that only Frank-Wolfe over the L1 ball has.
    sparsifier : Sparsifier or None
        Private count of coefficients to keep.
    charged : bool
        Whether an accountant, which adds up rho, is charged.
    label_bounds : dict
        Bounds on labels, in the form of the privacy statement.
    label_facts : dict
        Further facts about labels, in the same form.
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
    n_nonzero: int | None = None
    n_nonzero_source: str = "given"
    sparsifier: Sparsifier | None = None
    in_ball: bool = False
    charged: bool = False
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
