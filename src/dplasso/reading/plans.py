"""How the columns of a table are treated, and the features that result: all of it is public."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from hashlib import blake2b
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dplasso.base.wording import ParameterError, Setting
from dplasso.data.bounds import sizes_of
from dplasso.data.sparse_bounds import SparseBounds

FEWEST_BUCKETS, BUCKETS, MOST_BUCKETS = 1 << 8, 1 << 12, 1 << 16
CELL_RULE = 2  # version of the rule that turns other cells into text: `dplasso.reading.cells`
_MOST_FEATURES = (1 << 63) - 1  # column indices have 64 bits


@dataclass(frozen=True)
class TablePlan:
    """How to treat the columns of a table. All of it is public."""

    target: str  # the column with the labels
    # The (low, high) of every column of numbers: values are clipped to it, and not changed else.
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    hashed: Mapping[str, int] = field(default_factory=dict)  # buckets of categories or text
    buckets: int = BUCKETS  # of such columns that are not in ``hashed``
    text: Sequence[str] = ()  # columns treated as sets of words
    ignore: Sequence[str] = ()  # columns left out
    # Possible labels, where labels are text. If not declared, they are read from the rows, which is
    # not private and causes a warning.
    classes: Sequence[str] | None = None
    delimiter: str | None = None  # None for a comma (.csv) or a tab (.tsv)
    # Whether columns without a role are left out; else they are treated as categories, which is
    # reported, or rejected where they are numbers.
    complete: bool = False
    # The rule that turns other cells into text. Plans saved before there was more than one have
    # rule 1, under which the text depended on the column's type; rows are read by the newest rule,
    # with a warning where the result may differ.
    cell_rule: int = CELL_RULE

    def __post_init__(self) -> None:
        hashed = dict.fromkeys([*self.hashed, *self.text])
        if twice := repeated([self.target, *self.bounds, *hashed, *self.ignore]):
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
        if 2 * len(self.bounds) + sum(self.hashed.values()) > _MOST_FEATURES:
            raise ParameterError(
                "{buckets} of all columns must be at most {most:,}; give fewer", most=_MOST_FEATURES
            )
        if self.cell_rule not in range(1, CELL_RULE + 1):
            raise ValueError("cell_rule is of a newer version of dplasso; install that one")
        if self.delimiter is not None and not re.fullmatch(r'[^\r\n"]', self.delimiter):
            raise ParameterError("{delimiter} must be one character, such as ; or a tab")
        if self.classes is not None and (
            len(set(self.classes)) < 2 or len(set(self.classes)) < len(self.classes)
        ):
            raise ParameterError(
                "{classes} must be two or more different strings; declare them all"
            )

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON values; `from_dict` reads them."""
        content = {own.name: getattr(self, own.name) for own in fields(self)}
        # Bounds and buckets are lists because features are numbered in this order.
        content["bounds"] = [[name, float(a), float(b)] for name, (a, b) in self.bounds.items()]
        content["hashed"] = [[name, count] for name, count in self.hashed.items()]
        for name in ("text", "ignore", "classes"):
            content[name] = None if content[name] is None else list(content[name])
        return content

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The plan that `to_dict` wrote."""
        bounds = {name: (low, high) for name, low, high in content["bounds"]}
        own = {"cell_rule": 1, **content, "bounds": bounds, "hashed": dict(content["hashed"])}
        return cls(**own)


@dataclass(frozen=True)
class FeatureSpace:
    """The features of a plan that gives every column a role, and their positions.

    First come the numbers, each followed by a feature that is 1 where the number is missing; then
    categories and text, where every column has its own buckets, so that columns never collide. A
    category is hashed as "column=value", a word as "column:word"; a bucket is 1 if hit. The hash is
    BLAKE2b, 8 bytes, little-endian, modulo the number of buckets: the same everywhere.
    """

    plan: TablePlan

    def __post_init__(self) -> None:
        if self.size == 0:
            raise ValueError(
                "the table has no column of features; name at least one column of numbers, "
                "categories or text"
            )

    @cached_property
    def starts(self) -> dict[str, int]:
        """The first feature of every column."""
        starts, at = {}, 0
        for name in self.plan.bounds:
            starts[name], at = at, at + 2
        for name, count in self.plan.hashed.items():
            starts[name], at = at, at + count
        return starts

    @property
    def size(self) -> int:
        """Number of features."""
        return 2 * len(self.plan.bounds) + sum(self.plan.hashed.values())

    @property
    def names(self) -> "FeatureNames":
        """Names of the features, in order; each is made when it is requested."""
        return FeatureNames(self)

    @property
    def roles(self) -> Iterator[tuple[str, str, int]]:
        """Every column of the file, its role, and its number of features."""
        plan, texts = self.plan, frozenset(self.plan.text)
        yield plan.target, "the label", 0
        for name, (low, high) in plan.bounds.items():
            yield name, f"number, clipped to {low:g}:{high:g}; and whether it is missing", 2
        for name, count in plan.hashed.items():
            kind = "words" if name in texts else "category"
            yield name, f"{kind}, hashed into {count:,} buckets", count
        for name in plan.ignore:
            yield name, "ignored", 0

    @property
    def bounds(self) -> SparseBounds:
        """Public bounds of every feature: ranges of numbers and of the flags of missing ones.

        Buckets have a bound of 1 and no range, which tells solvers that they are wide.
        """
        starts = {self.starts[name]: ends for name, ends in self.plan.bounds.items()}
        ends = np.array(list(starts.values()), np.float64).reshape(-1, 2)
        sizes = dict(zip(starts, sizes_of(ends).tolist(), strict=True))
        missing = {at + 1: (0.0, 1.0) for at in starts}
        return SparseBounds(self.size, sizes, {**starts, **missing})

    def bucket(self, name: str, text: str) -> int:
        """The feature to which a text of a column is hashed."""
        digest = blake2b(text.encode(), digest_size=8).digest()
        return self.starts[name] + int.from_bytes(digest, "little") % self.plan.hashed[name]


@dataclass(frozen=True, eq=False, repr=False)
class FeatureNames(Sequence[str]):
    """The names of a feature space, made on request: there may be too many to hold in memory.

    `numpy.asarray` writes all of them out.

    >>> names = FeatureSpace(TablePlan("y", {"age": (0, 120)}, {"town": 10**12})).names
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
        name, within = columns[found], feature - firsts[found]
        if name in self.space.plan.hashed:
            return f"{name}#{within}"
        return f"{name} is missing" if within else name

    def __iter__(self) -> Iterator[str]:
        plan = self.space.plan
        for name in plan.bounds:
            yield from (name, f"{name} is missing")
        for name, count in plan.hashed.items():
            yield from (f"{name}#{bucket}" for bucket in range(count))

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
        ours, theirs = self.space.plan, other.space.plan
        return [*ours.bounds] == [*theirs.bounds] and [*ours.hashed.items()] == [
            *theirs.hashed.items()
        ]

    __hash__ = None  # type: ignore[assignment]  # arrays have none either

    def __repr__(self) -> str:
        return f"<names of {len(self)} features>"


def buckets_for(rows: int | None) -> int:
    """Buckets per column for this many declared rows: a power of two near a sixteenth of them.

    More buckets keep more words apart; with fewer, noise hides the relevant ones less.

    >>> buckets_for(2_000), buckets_for(100_000), buckets_for(None)
    (256, 8192, 4096)
    """
    if rows is None:
        return BUCKETS
    sixteenth = -(-max(rows, 1) // 16)
    return min(MOST_BUCKETS, max(FEWEST_BUCKETS, 1 << (sixteenth - 1).bit_length()))


def repeated(names: Sequence[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]
