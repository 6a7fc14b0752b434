"""What `read_rows` asks of a file format."""

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
    """A file piece by piece, and what a column store keeps with its rows."""

    chunks: Iterable[RowChunk]
    n_features: int
    feature_names: Iterable[str] | None = None
    classes: Sequence[str] | None = None
    bounds: SparseBounds | None = None
    source: dict[str, Any] | None = None


class Format(ABC):
    """One file format. `dplasso.reading.formats` lists those there are.

    Attributes
    ----------
    name : str
        What errors call such a file, with its article.
    options : frozenset of str
        Parameters of `read_rows` that it takes, of those that not all formats take.
    counts_rows : bool
        Whether ``progress`` is given numbers of rows, and not of bytes.
    keeps_plan : bool
        Whether columns are made by a `TablePlan`, which a model trained from a table asks for.
    """

    name: ClassVar[str]
    options: ClassVar[frozenset[str]] = frozenset()
    counts_rows: ClassVar[bool] = False
    keeps_plan: ClassVar[bool] = False

    @abstractmethod
    def recognises(self, path: Path) -> bool:
        """Whether a file is of this format, by its name."""

    @abstractmethod
    def read(self, path: Path, options: ReadingOptions) -> Rows:
        """All rows of a file."""

    def pieces(self, path: Path, options: ReadingOptions) -> Pieces:
        """Rows of a file in bounded memory, for a column store."""
        raise ValueError(
            f"{path} is {self.name}, which cannot be converted; train from it as it is"
        )

    def column_texts(self, path: Path, column: str, options: ReadingOptions) -> Iterator[str]:
        """The cells of one column as they are written."""
        raise ParameterError(
            "{identifier} needs a table, CSV or Parquet, to take the column from; {path} is {kind}",
            path=path,
            kind=self.name,
        )

    def refuse(self, path: Path, parameter: str, taken_by: str) -> ParameterError:
        """The error for a parameter that this format has no use for."""
        return ParameterError(
            "{parameter} is for {taken_by}, and {path} is {kind}; leave it out",
            parameter=Setting(parameter),
            taken_by=taken_by,
            path=path,
            kind=self.name,
        )
