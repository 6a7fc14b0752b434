"""Rows that do not match their schema, which is told to the data owner.

Hardly any cell has a declared level of a category, or many rows have no identifier of a person.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from dplasso.base.arrays import Ints
from dplasso.data.identifiers import identifier_text
from dplasso.data.row_chunks import RowChunk
from dplasso.privacy import leaks
from dplasso.schema.feature_space import FeatureSpace
from dplasso.schema.roles import Category

FEWEST = 10  # cells from which on it is told; fewer may well be other levels by chance
ALMOST_NONE = 0.01  # share of the cells
MOST = 0.5  # share of the cells without a level above which it is told
MANY = 0.1  # share of the rows without an identifier from which on it is told
_LISTED = 8  # columns that are named, at most


def watched(space: FeatureSpace, chunks: Iterable[RowChunk]) -> Iterator[RowChunk]:
    """The same chunks of rows; after the last one, the owner is told what does not match.

    Formal guarantees
    -----------------
    The rows are not changed. What is told is for the owner alone (`leaks.tell_owner`): it states no
    number and no cell, and nothing is told in strict mode.
    """
    counts, people = LevelCounts(space), PersonCounts()
    for chunk in chunks:
        counts.add(chunk)
        people.add(chunk)
        yield chunk
        del chunk  # otherwise it would stay in memory until the next one is read
    if names := counts.unmatched:
        more = " and others" if len(names) > _LISTED else ""
        leaks.tell_owner(
            "no cell, or almost none, has one of the declared levels of "
            f'{", ".join(map(repr, names[:_LISTED]))}{more}, so all of them count as "other"; '
            "levels are compared to the letter: check spaces and capitals, and whether they are "
            "those of another column"
        )
    if names := counts.mostly_other:
        more = " and others" if len(names) > _LISTED else ""
        leaks.tell_owner(
            "most cells have none of the declared levels of "
            f'{", ".join(map(repr, names[:_LISTED]))}{more}, and count as "other"; declare further '
            "levels if they are publicly known, and give a column whose cells list several codes "
            'the role "text"'
        )
    if people.are_often_missing:
        leaks.tell_owner(
            f"many rows, or all of them, have no identifier in column {space.schema.person!r}, and "
            "such rows count nothing: a fit learns from the others alone and costs as much; give "
            "these rows identifiers, or name the column that has them as that of people"
        )


class LevelCounts:
    """How many cells of every category have a declared level, counted as chunks of rows pass."""

    def __init__(self, space: FeatureSpace) -> None:
        roles = {n: role for n, role in space.columns.items() if isinstance(role, Category)}
        self._names = list(roles)
        # Of each category the first feature, the end of its levels, and the end of its features.
        edges = [
            (start, start + len(role.levels), start + role.size)
            for start, role in ((space.starts[name], role) for name, role in roles.items())
        ]
        self._edges: Ints = np.array(edges, np.int64).reshape(-1)
        self._counts = np.zeros(len(self._edges) + 1, np.int64)
        self._rows = 0

    def add(self, chunk: RowChunk) -> None:
        """Count the cells of more rows."""
        self._rows += chunk.rows
        if self._names:
            between = np.searchsorted(self._edges, chunk.indices, side="right")
            self._counts += np.bincount(between, minlength=len(self._counts))

    @property
    def unmatched(self) -> list[str]:
        """Categories of which hardly any cell has a declared level; cells known missing aside."""
        return self._with_share(0.0, ALMOST_NONE)

    @property
    def mostly_other(self) -> list[str]:
        """Categories of which some cells have a declared level, and most do not."""
        return self._with_share(ALMOST_NONE, 1.0 - MOST)

    def _with_share(self, least: float, below: float) -> list[str]:
        """Categories by the share of their cells that have a declared level."""
        levels, missing = self._counts[1::3], self._counts[2::3]
        cells = self._rows - missing
        found = (cells >= FEWEST) & (levels >= least * cells) & (levels < below * cells)
        return [name for name, told in zip(self._names, found.tolist(), strict=True) if told]


class PersonCounts:
    """How many rows have no identifier of a person, counted as chunks of rows pass."""

    def __init__(self) -> None:
        self._rows = 0
        self._nobody = 0

    def add(self, chunk: RowChunk) -> None:
        """Count the rows of a chunk, if it says whose they are."""
        if chunk.people is not None:
            self._rows += chunk.rows
            counted = Counter(chunk.people.tolist())
            self._nobody += sum(n for person, n in counted.items() if not identifier_text(person))

    @property
    def are_often_missing(self) -> bool:
        """Whether more than about a tenth of the rows are nobody's."""
        return self._rows >= FEWEST and self._nobody > MANY * self._rows
