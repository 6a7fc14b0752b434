"""The interface of a file format that `read_rows` uses."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dplasso.base.wording import Message, ParameterError, Setting
from dplasso.data.row_chunks import RowChunk, assemble
from dplasso.data.sparse_bounds import SparseBounds
from dplasso.privacy import leaks
from dplasso.reading.files import Files
from dplasso.reading.options import ReadingOptions
from dplasso.reading.rows import Rows
from dplasso.schema import FeatureNames, Schema


@dataclass(frozen=True)
class Pieces:
    """The rows of a file in pieces, and the public facts about them, which `Rows` describes.

    Labels are positions in the classes, if there are any. ``n_features`` is None if it has to be
    read from the rows.
    """

    chunks: Iterable[RowChunk]
    n_features: int | None
    labelled: bool = True
    bounds: SparseBounds | None = None
    names: NDArray[Any] | FeatureNames | None = None
    schema: Schema | None = None
    classes: list[str] | None = None
    undeclared: frozenset[str] = frozenset()
    zero_based: bool = False
    scaled: bool = False


class Format(ABC):
    """One file format. `dplasso.reading.formats` lists all of them."""

    name: ClassVar[str]  # of such a file in errors, with its article
    # Parameters of `read_rows` that this format takes, except those that all formats take.
    options: ClassVar[frozenset[str]] = frozenset()
    counts_rows: ClassVar[bool] = False  # whether ``progress`` gets rows rather than bytes
    # Whether columns are made by a `Schema`, which a model trained from a table needs.
    keeps_schema: ClassVar[bool] = False
    takes_parts: ClassVar[bool] = False  # whether rows may be spread over several files

    @abstractmethod
    def recognises(self, path: Path) -> bool:
        """Whether a file has this format, judged by its name."""

    def read(self, files: Files, options: ReadingOptions) -> Rows:
        """Read all rows of the files."""
        found = self.pieces(files, options)
        if found.n_features is None:
            leaks.report(
                Message(
                    "the number of columns was read from {name}; declare it with {n_features}",
                    name=files.name,
                )
            )
        people = PeopleOf(found.chunks)
        X, y = assemble(people, found.n_features)
        return Rows(
            X,
            labels_of(y, found.classes) if found.labelled else None,
            bounds=found.bounds,
            names=options.names_of(X.shape[1]) if found.names is None else found.names,
            schema=found.schema,
            classes=found.classes,
            undeclared=found.undeclared,
            zero_based=found.zero_based,
            declared_rows=None if found.schema is None else found.schema.n_rows,
            groups=people.groups,
            scaled=found.scaled,
        )

    def pieces(self, files: Files, options: ReadingOptions) -> Pieces:
        """Read the rows of the files in bounded memory."""
        raise ValueError(
            f"{files} is {self.name}, which cannot be converted; train from it as it is"
        )

    def has_column(self, files: Files, column: str, options: ReadingOptions) -> bool:
        """Whether a table has a column; of other formats it is not asked, and reading tells."""
        return True

    def column_texts(self, files: Files, column: str, options: ReadingOptions) -> Iterator[str]:
        """The texts of the cells of one column."""
        raise ParameterError(
            "{identifier} needs a table, CSV or Parquet, to take the column from; {path} is {kind}",
            path=files,
            kind=self.name,
        )

    def refuse(self, files: Files, parameter: str, taken_by: str) -> ParameterError:
        """The error for a parameter that this format does not take."""
        return ParameterError(
            "{parameter} is for {taken_by}, and {path} is {kind}; leave it out",
            parameter=Setting(parameter),
            taken_by=taken_by,
            path=files,
            kind=self.name,
        )


class PeopleOf:
    """Chunks of rows, of which the people are kept as the chunks pass."""

    def __init__(self, chunks: Iterable[RowChunk]) -> None:
        self._chunks, self._people = chunks, list[NDArray[Any]]()

    def __iter__(self) -> Iterator[RowChunk]:
        for chunk in self._chunks:
            if chunk.people is not None:
                self._people.append(chunk.people)
            yield chunk
            del chunk  # otherwise it would stay in memory until the next one is read

    @property
    def groups(self) -> NDArray[Any] | None:
        """The people of all rows; None if they are not known."""
        return np.concatenate(self._people) if self._people else None


def labels_of(positions: NDArray[np.float64], classes: list[str] | None) -> NDArray[Any]:
    """The labels at positions among the classes; the numbers themselves if there are none."""
    if classes is None:
        return positions
    return np.array(classes, dtype=object)[positions.astype(np.intp)]
