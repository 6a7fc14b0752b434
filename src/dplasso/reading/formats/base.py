"""The interface of a file format that `read_rows` uses."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from dplasso.base.wording import ParameterError, Setting
from dplasso.data.row_chunks import RowChunk
from dplasso.data.sparse_bounds import SparseBounds
from dplasso.reading.options import ReadingOptions
from dplasso.reading.rows import Rows


@dataclass(frozen=True)
class Pieces:
    """The rows of a file in pieces, and the facts that a column store keeps with them."""

    chunks: Iterable[RowChunk]
    n_features: int
    feature_names: Iterable[str] | None = None
    classes: Sequence[str] | None = None
    bounds: SparseBounds | None = None
    source: dict[str, Any] | None = None


class Format(ABC):
    """One file format. `dplasso.reading.formats` lists all of them.

    Attributes
    ----------
    name : str
        The name of such a file in errors, with its article.
    options : frozenset of str
        Parameters of `read_rows` that this format takes, except those that all formats take.
    counts_rows : bool
        Whether ``progress`` is given numbers of rows rather than of bytes.
    keeps_plan : bool
        Whether columns are made by a `TablePlan`, which a model trained from a table needs.
    """

    name: ClassVar[str]
    options: ClassVar[frozenset[str]] = frozenset()
    counts_rows: ClassVar[bool] = False
    keeps_plan: ClassVar[bool] = False

    @abstractmethod
    def recognises(self, path: Path) -> bool:
        """Whether a file has this format, judged by its name."""

    @abstractmethod
    def read(self, path: Path, options: ReadingOptions) -> Rows:
        """Read all rows of a file."""

    def pieces(self, path: Path, options: ReadingOptions) -> Pieces:
        """Read the rows of a file in bounded memory, for a column store."""
        raise ValueError(
            f"{path} is {self.name}, which cannot be converted; train from it as it is"
        )

    def column_texts(self, path: Path, column: str, options: ReadingOptions) -> Iterator[str]:
        """The texts of the cells of one column."""
        raise ParameterError(
            "{identifier} needs a table, CSV or Parquet, to take the column from; {path} is {kind}",
            path=path,
            kind=self.name,
        )

    def refuse(self, path: Path, parameter: str, taken_by: str) -> ParameterError:
        """The error for a parameter that this format does not take."""
        return ParameterError(
            "{parameter} is for {taken_by}, and {path} is {kind}; leave it out",
            parameter=Setting(parameter),
            taken_by=taken_by,
            path=path,
            kind=self.name,
        )
