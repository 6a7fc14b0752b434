"""Bounds of very many columns, of which all but a few are 1."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.base import memory
from dplasso.base.arrays import Floats
from dplasso.data.range_scales import range_scales
from dplasso.data.used_columns import places_in


class SparseBounds(Sequence[float]):
    """One bound per column; only those that are not 1 are stored.

    It takes memory only for the listed columns, however many columns there are; `numpy.asarray`
    returns all bounds. ``ranges`` has the low and the high end of some columns, ``paired``; the
    others reach from minus their bound to the bound. ``of_categories`` says that these are the
    buckets of hashed categories, and not words of a text.

    >>> bounds = SparseBounds(10**12, {3: 120.0})
    >>> len(bounds), bounds[3], bounds[4], bounds.max()
    (1000000000000, 120.0, 1.0, 120.0)
    """

    def __init__(
        self,
        columns: int,
        others: Mapping[int, float],
        ranges: Mapping[int, tuple[float, float]] | None = None,
        *,
        of_categories: bool = False,
    ) -> None:
        places = sorted(others)
        self.paired = np.array(sorted(ranges or ()), np.int64)
        self._ends = np.array([(ranges or {})[place] for place in self.paired]).reshape(-1, 2)
        if places and not 0 <= places[0] <= places[-1] < columns:
            raise ValueError("bounds are of columns that do not exist; number them from 0")
        self._columns, self.of_categories = columns, of_categories
        self._places = np.array(places, np.int64)
        self._values = np.array([others[place] for place in places], np.float64)

    @property
    def listed(self) -> NDArray[np.int64]:
        """Columns with a bound or a range of their own, increasing."""
        return np.union1d(self._places, self.paired)

    def max(self, axis: None = None, out: None = None) -> float:
        """The largest bound; `numpy.max` calls this."""
        return float(max(self._distinct()))

    def min(self, axis: None = None, out: None = None) -> float:
        """The smallest bound; `numpy.min` calls this."""
        return float(min(self._distinct()))

    def _distinct(self) -> Iterator[float]:
        yield from self._values.tolist()
        if len(self._places) < self._columns:
            yield 1.0

    def at(self, columns: NDArray[Any]) -> Floats:
        """The bounds of some columns."""
        found = np.ones(len(columns))
        near, known = places_in(columns, self._places)
        found[known] = self._values[near[known]]
        return found

    def ends(self, among: NDArray[Any] | None = None) -> Floats:
        """Low and high end of all columns, or of some, columns x 2."""
        sizes = np.asarray(self) if among is None else self.at(among)
        found = np.column_stack([-sizes, sizes])
        if among is None:
            found[self.paired] = self._ends
        else:
            near, known = places_in(among, self.paired)
            found[known] = self._ends[near[known]]
        return found

    def with_pairs(self) -> list[float | tuple[float, float]]:
        """All bounds as a list, those of paired columns as pairs.

        >>> SparseBounds(3, {}, {1: (0.0, 0.5)}).with_pairs()
        [1.0, (0.0, 0.5), 1.0]
        """
        found: list[float | tuple[float, float]] = [*self.tolist()]
        for place, (low, high) in zip(self.paired.tolist(), self._ends.tolist(), strict=True):
            found[place] = low, high
        return found

    def with_sizes_of_ranges(self) -> "SparseBounds":
        """The same bounds, those of paired columns replaced by the size of their range.

        >>> SparseBounds(3, {1: 90.0}, {1: (70.0, 90.0)}).with_sizes_of_ranges()[1]
        10.0
        """
        _, sizes = range_scales(self._ends[:, 0], self._ends[:, 1])
        others = dict(zip(self._places.tolist(), self._values.tolist(), strict=True))
        others |= dict(zip(self.paired.tolist(), sizes.tolist(), strict=True))
        return SparseBounds(self._columns, others)

    def __len__(self) -> int:
        return self._columns

    def __getitem__(self, column: Any) -> Any:
        if isinstance(column, slice):
            return self.at(np.arange(*column.indices(self._columns)))
        chosen = np.asarray(column)
        if np.any((chosen < -self._columns) | (chosen >= self._columns)):
            raise IndexError("a column is beyond the last one")
        found = self.at(np.where(chosen < 0, chosen + self._columns, chosen).ravel())
        return float(found[0]) if chosen.ndim == 0 else found.reshape(chosen.shape)

    def tolist(self) -> list[float]:
        """All bounds as a list."""
        return [float(bound) for bound in np.asarray(self)]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("bounds that are not written out have no array to share; copy them")
        what = f"bounds of {self._columns:,} columns as an array"
        memory.check(8 * self._columns, what, "ask for single columns")
        found = np.ones(self._columns)
        found[self._places] = self._values
        return found if dtype is None else found.astype(dtype, copy=False)

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, SparseBounds):
            return NotImplemented
        return (
            len(self) == len(other)
            and np.array_equal(self._places, other._places)
            and np.array_equal(self._values, other._values)
            and np.array_equal(self.paired, other.paired)
            and np.array_equal(self._ends, other._ends)
        )

    __hash__ = None  # type: ignore[assignment]  # as of an array

    def __repr__(self) -> str:
        return f"<bounds of {self._columns} columns, all 1 but {len(self._places)}>"
