"""What a fit to a table knows before it asks: facts, public numbers, rows as shares of ranges."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dplasso.audit.descent.reference import DescentFacts
from dplasso.audit.reference import AS_IS, Table, column_bounds, held_labels, held_rows, row_shares
from dplasso.base.arrays import Floats


@dataclass(frozen=True, kw_only=True)
class TableFacts(DescentFacts):
    """One configuration of the table solver; ``ranges`` are declared ends, columns x 2.

    ``n_ranges`` is the number of columns with ranges, the first ones, if the others are wide in
    tables of as many columns as there are ranges; it is None if no table has wide columns.
    """

    ranges: NDArray[np.float64] | None = None
    n_ranges: int | None = None

    @property
    def counts_rows(self) -> bool:
        """Whether as how many rows all rows count is released, and not taken as declared."""
        return self.rows_per_person > 1 or self.class_weights is not None

    def in_table(self, columns: int) -> int:
        """The number of columns of a table that are not wide."""
        if self.n_ranges is None or self.ranges is None or columns != len(self.ranges):
            return columns
        return self.n_ranges

    def is_symmetric(self, columns: int) -> bool:
        """Whether a table of so many columns has bounds instead of the ranges."""
        return self.n_ranges is not None and self.in_table(columns) == columns

    def of_columns(self, columns: int) -> "TableFacts":
        """The facts of a table of so many columns."""
        return replace(self, centred=None) if self.is_symmetric(columns) else self

    def ends(self, columns: int) -> tuple[Floats, Floats]:
        """The low and high end of every column that a fit holds."""
        if self.row_map != AS_IS:
            bound = self.of_columns(columns).held_bound
            return np.full(columns, -bound), np.full(columns, bound)
        if self.ranges is not None and not self.is_symmetric(columns):
            low, high = np.resize(self.ranges, (columns, 2)).T
            return low, high
        return -column_bounds(columns, self), column_bounds(columns, self)


@dataclass(frozen=True, kw_only=True)
class Course:
    """How a fit continues from its releases: public numbers on which no guarantee rests.

    ``multipliers`` are the stated noise multipliers by kind of release; the guarantee rests on
    them, and `accounting` adds them up.
    """

    multipliers: Mapping[str, float]
    columns: int  # of the table, without wide ones at first
    n_wide: int
    most_taken: int  # largest number of wide columns that are taken up
    steps: int
    unit: float  # whole number of the length of a row, and of a clipped residual
    stretch: float  # length of a row whose columns have variance 1, over their root
    clip: float  # of residuals; of numbers in units of their spread
    margin_noise: float
    curvature: float
    longest: float
    lengthened: float  # largest factor that brings a row to its length

    @property
    def row_length(self) -> float:
        return self.stretch * math.sqrt(self.columns)


@dataclass(frozen=True, eq=False)
class TableRows:
    """Rows as shares of the ranges of their columns, their labels, and as how many rows they count.

    ``wide`` are shares of wide columns, and ``at_zero`` those of an entry of 0.
    """

    shares: Floats
    y: Floats
    copies: Floats
    wide: Floats
    at_zero: Floats
    known: dict[tuple[int, ...], "TableRows"] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Table, facts: TableFacts) -> "TableRows":
        """Raw rows and labels as a fit should hold them."""
        X, y, copies = table.X, held_labels(table.y, facts), row_shares(table, facts)
        low, high = facts.ends(X.shape[1])
        if facts.row_map == AS_IS:
            rows = np.clip(X, low, high)
        else:
            rows = held_rows(X, facts.of_columns(X.shape[1]))
        width = np.where(high > low, high - low, np.inf)
        own, shares = facts.in_table(X.shape[1]), (rows - low) / width
        at_zero = (np.clip(np.zeros_like(low), low, high) - low) / width
        return cls(shares[:, :own], y, copies, shares[:, own:], at_zero[own:])

    def taking(self, taken: tuple[int, ...]) -> "TableRows":
        """The same rows, with some of the wide columns as the last ones of the table."""
        if taken not in self.known:
            shares = np.hstack([self.shares, self.wide[:, list(taken)]])
            self.known[taken] = replace(self, shares=shares, known={})
        return self.known[taken]
