"""What the columns of a table are taken as, and the features that makes: all of it public."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

FEWEST_BUCKETS, BUCKETS, MOST_BUCKETS = 1 << 8, 1 << 12, 1 << 16


@dataclass(frozen=True)
class TablePlan:
    """What to make of the columns of a table. All of it is public.

    Attributes
    ----------
    target : the column with the labels.
    bounds : for every column of numbers, its public (low, high). Values are clipped to it, and else
        taken as they are.
    hashed : number of buckets for columns of categories or text.
    buckets : the number for those not in ``hashed``.
    text : columns taken as sets of words.
    ignore : columns left out.
    classes : labels there can be, where they are text. Undeclared, they are read from the rows,
        which is not private and warns.
    delimiter : what separates the columns of a CSV file; None for a comma (.csv) or a tab (.tsv).
    complete : whether columns without a role are left out; else they are taken as categories, which
        is told, or refused where they are numbers.
    """

    target: str
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    hashed: Mapping[str, int] = field(default_factory=dict)
    buckets: int = BUCKETS
    text: Sequence[str] = ()
    ignore: Sequence[str] = ()
    classes: Sequence[str] | None = None
    delimiter: str | None = None
    complete: bool = False

    def __post_init__(self) -> None:
        hashed = dict.fromkeys([*self.hashed, *self.text])
        if twice := repeated([self.target, *self.bounds, *hashed, *self.ignore]):
            raise ValueError(f"column {twice[0]!r} has two roles in the plan; give it one")
        for name, (low, high) in self.bounds.items():
            if not (-np.inf < low <= high < np.inf) or low == high == 0:
                raise ValueError(
                    f"bounds of column {name!r} must be finite, low first, and not both 0; "
                    f"give --bounds {name}=low:high"
                )
        for name, count in {**self.hashed, "": self.buckets}.items():
            if isinstance(count, bool) or not isinstance(count, int) or count < 1:
                where = f"column {name!r}" if name else "the plan"
                raise ValueError(f"buckets of {where} must be a positive whole number")
        if self.delimiter is not None and not re.fullmatch(r'[^\r\n"]', self.delimiter):
            raise ValueError("delimiter must be one character, such as ; or a tab")
        if self.classes is not None and (
            len(set(self.classes)) < 2 or len(set(self.classes)) < len(self.classes)
        ):
            raise ValueError("classes must be two or more different strings; declare them all")

    def to_dict(self) -> dict[str, Any]:
        """The plan for JSON; `from_dict` takes it back."""
        return {
            "target": self.target,
            # Lists of pairs: features are numbered in this order.
            "bounds": [
                [name, float(low), float(high)] for name, (low, high) in self.bounds.items()
            ],
            "hashed": [[name, count] for name, count in self.hashed.items()],
            "buckets": self.buckets,
            "text": list(self.text),
            "ignore": list(self.ignore),
            "classes": None if self.classes is None else list(self.classes),
            "delimiter": self.delimiter,
            "complete": self.complete,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The plan that `to_dict` gave."""
        bounds = {name: (low, high) for name, low, high in content["bounds"]}
        return cls(**{**content, "bounds": bounds, "hashed": dict(content["hashed"])})


@dataclass(frozen=True)
class FeatureSpace:
    """The features of a plan that gives every column a role, and where they are.

    First come the numbers, each followed by a feature that is 1 where the number is missing; then
    categories and text, where every column has its own buckets, so that columns never collide. A
    category is hashed as "column=value", a word as "column:word"; a bucket is 1 if hit. The hash is
    BLAKE2b, 8 bytes, little-endian, modulo the number of buckets: the same everywhere.
    """

    plan: TablePlan

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
    def names(self) -> Iterator[str]:
        """Names of the features, in order."""
        for name in self.plan.bounds:
            yield from (name, f"{name} is missing")
        for name, count in self.plan.hashed.items():
            yield from (f"{name}#{bucket}" for bucket in range(count))

    @property
    def roles(self) -> Iterator[tuple[str, str, int]]:
        """Every column of the file, what it was taken as, and how many features it gave."""
        plan = self.plan
        yield plan.target, "the label", 0
        for name, (low, high) in plan.bounds.items():
            yield name, f"number, clipped to {low:g}:{high:g}; and whether it is missing", 2
        for name, count in plan.hashed.items():
            kind = "words" if name in plan.text else "category"
            yield name, f"{kind}, hashed into {count:,} buckets", count
        for name in plan.ignore:
            yield name, "ignored", 0

    @property
    def bounds(self) -> NDArray[np.float64]:
        """Public bounds on the size of every feature's values."""
        found = np.ones(self.size)
        for name, (low, high) in self.plan.bounds.items():
            found[self.starts[name]] = max(abs(low), abs(high))
        return found

    def bucket(self, name: str, text: str) -> int:
        """The feature of a column that a text is hashed to."""
        digest = blake2b(text.encode(), digest_size=8).digest()
        return self.starts[name] + int.from_bytes(digest, "little") % self.plan.hashed[name]


def buckets_for(rows: int | None) -> int:
    """Buckets of a column for so many declared rows: a power of two near a sixteenth of them.

    More buckets keep more words apart; fewer leave less noise to find one among them.

    >>> buckets_for(2_000), buckets_for(100_000), buckets_for(None)
    (256, 8192, 4096)
    """
    if rows is None:
        return BUCKETS
    return min(MOST_BUCKETS, max(FEWEST_BUCKETS, 1 << math.ceil(math.log2(max(rows, 1) / 16))))


def repeated(names: Sequence[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]
