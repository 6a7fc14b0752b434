"""Columns of texts: categories with declared levels, hashed categories, and words."""

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import chain
from typing import ClassVar, Protocol, Self

import numpy as np

from dplasso.base.arrays import Ints
from dplasso.schema.roles.base import (
    Part,
    Role,
    checked_buckets,
    checked_choice,
    checked_texts,
)

BUCKETS = 1 << 12  # if neither they nor the number of rows is given
_FEWEST_BUCKETS, _MOST_BUCKETS = 1 << 8, 1 << 16
_WORD = re.compile(r"\b\w\w+\b")  # the same as in scikit-learn's vectorizers


class Coded(Protocol):
    """Distinct texts, and per row the index of its text (-1 if missing)."""

    @property
    def texts(self) -> Sequence[str]: ...
    @property
    def codes(self) -> Ints: ...


@dataclass(frozen=True)
class Category(Role):
    """A category with declared levels, one feature each, which is 1 in rows of that level.

    Parameters
    ----------
    levels : list of str
        The levels, to the letter, as a public fact. A cell with any other text is "other", and all
        features of its row are 0.
    missing : "level", default=None
        Makes missing cells a level of their own; by default they are "other", too.

    Examples
    --------
    >>> town = Category(["Ulm", "Graz"], missing="level")
    >>> [town.feature("town", place) for place in range(town.size)]
    ['town=Ulm', 'town=Graz', 'town is missing']
    """

    kind: ClassVar[str] = "category"
    makes_features: ClassVar[bool] = True
    levels: Sequence[str] = ()
    missing: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", checked_texts("levels", self.levels))
        checked_choice("missing", self.missing, ("level", None))

    @property
    def blanks(self) -> tuple[str, ...]:
        return () if self.levels else ("levels",)

    @property
    def size(self) -> int:
        return len(self.levels) + (self.missing is not None)

    @property
    def naming(self) -> Hashable:
        return self.kind, self.levels, self.missing

    @property
    def words(self) -> str:
        more = "" if self.missing is None else ", and whether it is missing"
        return f"category of {len(self.levels):,} levels{more}"

    def feature(self, column: str, place: int) -> str:
        if place == len(self.levels):
            return f"{column} is missing"
        return f"{column}={self.levels[place]}"

    def entries(self, cells: Coded) -> list[Part]:
        """The entries of the features."""
        known = {level: place for place, level in enumerate(self.levels)}
        places = np.array([known.get(text, -1) for text in cells.texts] + [-1], np.int64)
        if self.missing is not None:
            places[-1] = len(self.levels)  # missing cells have the code -1
        found = places[cells.codes]
        rows = np.flatnonzero(found >= 0)
        return [(rows, found[rows], np.ones(len(rows)))]


@dataclass(frozen=True)
class Hashed(Role):
    """A category whose levels are not declared: its texts are hashed into buckets.

    A bucket is 1 in rows whose text it has. Texts may share a bucket; a missing cell has none.

    Parameters
    ----------
    buckets : int, default=None
        Number of buckets, each of which is a feature. By default a `Schema` takes about a sixteenth
        of its ``n_rows`` (256 to 65,536), or 4,096 if it does not state them.
    """

    kind: ClassVar[str] = "hashed"
    makes_features: ClassVar[bool] = True
    wide: ClassVar[bool] = True
    buckets: int | None = None

    def __post_init__(self) -> None:
        if self.buckets is not None:
            checked_buckets(self.buckets)

    def for_rows(self, n_rows: int | None) -> Self:
        """The same role, with buckets for this many declared rows unless it states its own."""
        return self if self.buckets is not None else replace(self, buckets=buckets_for(n_rows))

    @property
    def size(self) -> int:
        return BUCKETS if self.buckets is None else self.buckets

    @property
    def naming(self) -> Hashable:
        return "buckets", self.size

    @property
    def words(self) -> str:
        return f"category, hashed into {self.size:,} buckets"

    def feature(self, column: str, place: int) -> str:
        return f"{column}#{place}"

    def bucket(self, column: str, text: str) -> int:
        """The bucket of a text.

        The hash is BLAKE2b of "column=text", 8 bytes, little-endian, modulo the number of buckets:
        the same everywhere.
        """
        return _bucket(f"{column}={text}", self.size)

    def entries(self, cells: Coded, column: str) -> list[Part]:
        """The entries of the features."""
        buckets = np.array([self.bucket(column, text) for text in cells.texts], np.int64)
        rows = np.flatnonzero(cells.codes >= 0)
        return [(rows, buckets[cells.codes[rows]], np.ones(len(rows)))]


@dataclass(frozen=True)
class Text(Hashed):
    """A column of words, each of which is hashed into a bucket.

    A word has at least two letters or digits; upper and lower case are the same.

    Parameters
    ----------
    buckets : int, default=None
        Number of buckets, each of which is a feature; by default as for `Hashed`.
    """

    kind: ClassVar[str] = "text"

    @property
    def words(self) -> str:
        return f"words, hashed into {self.size:,} buckets"

    def bucket(self, column: str, text: str) -> int:
        """The bucket of a word, hashed as "column:word"."""
        return _bucket(f"{column}:{text}", self.size)

    def entries(self, cells: Coded, column: str) -> list[Part]:
        """The entries of the features."""
        known: dict[str, int] = {}
        hits: list[list[int]] = []
        for text in cells.texts:
            found = set(words_of(text))
            for word in found:
                if word not in known:
                    known[word] = self.bucket(column, word)
            hits.append(sorted({known[word] for word in found}))
        hits.append([])  # for missing cells
        counts = np.array([len(hit) for hit in hits], np.int64)[cells.codes]
        places = np.fromiter(chain.from_iterable(hits[code] for code in cells.codes), np.int64)
        return [(np.repeat(np.arange(len(counts)), counts), places, np.ones(len(places)))]


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case.

    >>> words_of("The cat, a CAT")
    ['the', 'cat', 'cat']
    """
    return _WORD.findall(text.lower())


def buckets_for(rows: int | None) -> int:
    """Buckets per column for this many declared rows: a power of two near a sixteenth of them.

    More buckets keep more words apart; with fewer, noise hides the relevant ones less.

    >>> buckets_for(2_000), buckets_for(100_000), buckets_for(None)
    (256, 8192, 4096)
    """
    if rows is None:
        return BUCKETS
    sixteenth = -(-max(rows, 1) // 16)
    return min(_MOST_BUCKETS, max(_FEWEST_BUCKETS, 1 << (sixteenth - 1).bit_length()))


def _bucket(text: str, buckets: int) -> int:
    digest = blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") % buckets
