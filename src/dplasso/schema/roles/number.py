"""Columns of numbers: clipped to public bounds, and possibly a logarithm or bins of them."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dplasso.base.arrays import Floats
from dplasso.schema.roles.base import (
    Part,
    Range,
    Role,
    checked_choice,
    checked_number,
    checked_range,
    flagged,
    middle_of,
    placed,
)

_MOST_BINS = 10_000


@dataclass(frozen=True)
class Number(Role):
    """A column of numbers, clipped to public bounds.

    Parameters
    ----------
    low, high : float
        Public bounds, known without looking at the data. Numbers beyond them are clipped.
    log : bool, default=False
        Whether the feature is log(1 + x - low), for numbers of which a few are very large.
    bins : int or list of float, default=None
        One feature per bin instead of the number: a number of bins of equal width (on the scale of
        the logarithm if ``log``), or the public edges between the bins.
    missing : "indicator", default=None
        Adds a feature that is 1 in rows whose cell is missing.
    fill : float, default=None
        The number that stands for a missing cell: one within the bounds, or 0. By default the
        middle of the feature's range.

    Formal guarantees
    -----------------
    The features of a cell are a function of its number and of these settings, to the last bit, and
    lie within `numbers`, or are 0 or 1.

    Examples
    --------
    >>> Number(0, 120, missing="indicator").size, Number(0, 100, bins=[18, 65]).size
    (2, 3)
    """

    kind: ClassVar[str] = "number"
    makes_features: ClassVar[bool] = True
    low: float | None = None
    high: float | None = None
    log: bool = False
    bins: int | Sequence[float] | None = None
    missing: str | None = None
    fill: float | None = None

    def __post_init__(self) -> None:
        low, high = checked_range(self.low, self.high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        if not isinstance(self.log, bool):
            raise ValueError("log must be true or false")
        checked_choice("missing", self.missing, ("indicator", None))
        object.__setattr__(self, "bins", _checked_bins(self.bins, self.log, low, high))
        if (self.log or self.bins) and not (high or 0.0) - (low or 0.0) < math.inf:
            raise ValueError("high - low must be a finite number; state narrower bounds")
        if self.fill is not None:
            fill = checked_number("fill", self.fill)
            object.__setattr__(self, "fill", fill)
            if low is not None and high is not None and fill and not low <= fill <= high:
                raise ValueError("fill must lie between low and high, or be 0")

    @property
    def blanks(self) -> tuple[str, ...]:
        return tuple(name for name in ("low", "high") if getattr(self, name) is None)

    @cached_property
    def ends(self) -> Range:
        """The bounds, which must be stated by now."""
        if self.low is None or self.high is None:
            raise ValueError("a column of numbers has no bounds yet; state low and high")
        return self.low, self.high

    @cached_property
    def edges(self) -> tuple[float, ...]:
        """The edges between the bins."""
        low, high = self.ends
        if self.bins is None or not isinstance(self.bins, int):
            return () if self.bins is None else tuple(self.bins)
        shares = [k / self.bins for k in range(1, self.bins)]
        if self.log:
            top = math.log1p(high - low)
            return tuple(low + math.expm1(share * top) for share in shares)
        return tuple(low + share * (high - low) for share in shares)

    @property
    def _places(self) -> int:
        """Number of features, without the indicator."""
        if self.bins is None:
            return 1
        return self.bins if isinstance(self.bins, int) else len(self.bins) + 1

    @property
    def size(self) -> int:
        return self._places + (self.missing is not None)

    @property
    def numbers(self) -> dict[int, Range]:
        if self.bins is not None:
            return {}
        low, high = self.ends
        return {0: (0.0, math.log1p(high - low)) if self.log else (low, high)}

    @property
    def naming(self) -> Hashable:
        ends = None if self.bins is None else (self.ends, self.edges)
        return self.kind, self.log, ends, self.missing

    @property
    def words(self) -> str:
        low, high = self.ends
        said = [f"number, clipped to {low:g}:{high:g}"]
        if self.log and not isinstance(self.bins, int):
            said.append("its logarithm")
        if self.bins is not None:
            said.append(f"one feature for each of {self._places} bins")
        if self.missing is not None:
            said.append("and whether it is missing")
        return "; ".join(said)

    def feature(self, column: str, place: int) -> str:
        if place == self._places:
            return f"{column} is missing"
        if self.bins is None:
            return f"{column} (log)" if self.log else column
        ends = (self.ends[0], *self.edges, self.ends[1])
        closing = "]" if place == self._places - 1 else ")"
        return f"{column} in [{ends[place]:g}, {ends[place + 1]:g}{closing}"

    def entries(self, values: Floats, scaled: bool) -> list[Part]:
        """The entries of the features; a missing number is NaN."""
        absent = np.isnan(values)
        low, high = self.ends
        clipped = np.clip(np.where(absent, low, values), low, high)
        if self.bins is not None:
            places = np.searchsorted(self.edges, clipped, side="right")
            places[absent] = self._bin_of_missing
            parts = [(np.arange(len(values)), places, np.ones(len(values)))]
        else:
            ends = self.numbers[0]
            numbers = _logarithms(clipped, low) if self.log else clipped
            numbers = np.clip(numbers, *ends)
            numbers[absent] = self._number_of_missing
            parts = [placed(numbers, 0, ends, scaled)]
        if self.missing is not None:
            parts.append(flagged(absent, self._places))
        return parts

    @property
    def _bin_of_missing(self) -> int:
        if self.fill is None and isinstance(self.bins, int):
            return self.bins // 2
        where = middle_of(*self.ends) if self.fill is None else self.fill
        return int(np.searchsorted(self.edges, np.clip(where, *self.ends), side="right"))

    @property
    def _number_of_missing(self) -> float:
        if self.fill is None:
            return middle_of(*self.numbers[0])
        return math.log1p(max(self.fill - self.ends[0], 0.0)) if self.log else self.fill


def _logarithms(values: Floats, low: float) -> Floats:
    """log(1 + x - low) of every number.

    Each distinct number is computed alone: the last bit of a vector instruction may depend on the
    place of a number in its array.
    """
    distinct, places = np.unique(values, return_inverse=True)
    found = np.array([math.log1p(value - low) for value in distinct.tolist()], np.float64)
    return found[places]


def _checked_bins(
    bins: Any, log: bool, low: float | None, high: float | None
) -> int | tuple[float, ...] | None:
    if bins is None:
        return None
    if isinstance(bins, int | np.integer) and not isinstance(bins, bool):
        if not 2 <= bins <= _MOST_BINS:
            raise ValueError(f"bins must be from 2 to {_MOST_BINS:,}, or a list of edges")
        if low is not None and low == high:
            raise ValueError("bins need a low that is below high; correct the bounds")
        return int(bins)
    if isinstance(bins, str | bool) or not hasattr(bins, "__iter__"):
        raise ValueError("bins must be a whole number, or a list of edges")
    edges = tuple(checked_number("every edge in bins", edge) for edge in bins)
    if not edges or len(edges) >= _MOST_BINS or any(np.diff(edges) <= 0):
        raise ValueError("bins must have edges that rise, at least one")
    if log:
        raise ValueError("log has no effect on bins with edges; leave it out")
    if low is not None and high is not None and not low < edges[0] <= edges[-1] < high:
        raise ValueError("bins must have edges between low and high; those two are not edges")
    return edges
