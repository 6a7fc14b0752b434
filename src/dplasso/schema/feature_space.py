"""The features of a schema: their positions, names and bounds. All of it is public."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.data.bounds import sizes_of
from dplasso.data.sparse_bounds import SparseBounds
from dplasso.schema.roles import Hashed, Role, Target, Text
from dplasso.schema.schema import Schema


@dataclass(frozen=True)
class FeatureSpace:
    """The features of a schema without blanks, in the order of its columns.

    Every column has features of its own, so that columns never collide. Where ``scaled``, numbers
    are centred and scaled by their public bounds to [-1, 1], and their names say so; otherwise they
    are only clipped.
    """

    schema: Schema
    scaled: bool = False

    def __post_init__(self) -> None:
        self.schema.check_filled(labelled=False)
        if self.size == 0:
            raise ValueError(
                "the table has no column of features; name at least one column of numbers, "
                "categories or text"
            )

    @cached_property
    def starts(self) -> dict[str, int]:
        """The first feature of every column."""
        starts, at = {}, 0
        for name, role in self.columns.items():
            starts[name], at = at, at + role.size
        return starts

    @cached_property
    def columns(self) -> dict[str, Role]:
        """The columns that make features, in order."""
        return self.schema.features

    @cached_property
    def size(self) -> int:
        """Number of features."""
        return sum(role.size for role in self.columns.values())

    @property
    def names(self) -> "FeatureNames":
        """Names of the features, in order; each is made when it is requested."""
        return FeatureNames(self)

    @property
    def roles(self) -> Iterator[tuple[str, str, int]]:
        """Every column of the schema, its role, and its number of features; the label first."""
        others = []
        for name, role in self.schema.columns.items():
            if isinstance(role, Target):
                yield name, role.words, 0
            elif not role.size:
                others.append((name, role.words, 0))
        for name, role in self.columns.items():
            yield name, role.words, role.size
        yield from others

    @property
    def bounds(self) -> SparseBounds:
        """Public bounds of every feature: ranges of numbers, and of indicators.

        Buckets have a bound of 1 and no range, which tells solvers that they are wide. Without
        columns of text, they are those of categories.
        """
        ranges: dict[int, tuple[float, float]] = {}
        for name, role in self.columns.items():
            start = self.starts[name]
            if not role.wide:
                ranges |= dict.fromkeys(range(start, start + role.size), (0.0, 1.0))
            for place, ends in role.numbers.items():
                ranges[start + place] = (-1.0, 1.0) if self.scaled else ends
        sizes = sizes_of(np.array(list(ranges.values()), np.float64).reshape(-1, 2)).tolist()
        others = {at: size for at, size in zip(ranges, sizes, strict=True) if size != 1.0}
        words = any(isinstance(role, Text) for role in self.columns.values())
        return SparseBounds(self.size, others, ranges, of_categories=not words)

    def feature(self, name: str, place: int) -> str:
        """The name of a feature of a column, ``place`` features after its first one."""
        role = self.columns[name]
        shown = role.feature(name, place)
        return f"{shown} (scaled)" if self.scaled and place in role.numbers else shown

    def bucket(self, name: str, text: str) -> int:
        """The feature to which a category or a word of a column is hashed."""
        role = self.columns[name]
        assert isinstance(role, Hashed)
        return self.starts[name] + role.bucket(name, text)


@dataclass(frozen=True, eq=False, repr=False)
class FeatureNames(Sequence[str]):
    """The names of a feature space, made on request: there may be too many to hold in memory.

    `numpy.asarray` writes all of them out.

    >>> from dplasso.schema import Hashed, Number
    >>> columns = {"age": Number(0, 120, missing="indicator"), "town": Hashed(10**12)}
    >>> names = FeatureSpace(Schema(columns)).names
    >>> len(names), names[0], names[1], names[-1]
    (1000000000002, 'age', 'age is missing', 'town#999999999999')
    """

    space: FeatureSpace

    def __len__(self) -> int:
        return self.space.size

    def __getitem__(self, place: Any) -> Any:
        """A name or an array of names, as indexing an array of all names would return."""
        if isinstance(place, slice):
            return self._at(range(*place.indices(len(self))))
        if np.ndim(place):
            chosen = np.asarray(place)
            return self._at(np.flatnonzero(chosen) if chosen.dtype == np.bool_ else chosen)
        feature = range(len(self))[place]
        columns, firsts = self._columns
        found = bisect_right(firsts, feature) - 1
        return self.space.feature(columns[found], feature - firsts[found])

    def __iter__(self) -> Iterator[str]:
        for name, role in self.space.columns.items():
            yield from (self.space.feature(name, place) for place in range(role.size))

    def _at(self, places: Any) -> NDArray[Any]:
        return np.array([self[int(place)] for place in places], dtype=object)

    def tolist(self) -> list[str]:
        """All names, written out."""
        return list(self)

    @cached_property
    def _columns(self) -> tuple[list[str], list[int]]:
        """The columns of the table, and the first feature of each."""
        starts = self.space.starts
        return list(starts), list(starts.values())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("names that are not written out have no array to share; copy them")
        return np.array(list(self), dtype=object if dtype is None else dtype)

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, FeatureNames):
            return NotImplemented  # numpy compares them one by one
        return self._naming() == other._naming()

    def _naming(self) -> tuple[bool, list[Any]]:
        scaled = self.space.scaled and any(role.numbers for role in self.space.columns.values())
        return scaled, [(name, role.naming) for name, role in self.space.columns.items()]

    __hash__ = None  # type: ignore[assignment]  # arrays have none either

    def __repr__(self) -> str:
        return f"<names of {len(self)} features>"
