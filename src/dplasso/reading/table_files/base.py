"""The interface of a file that holds a table."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from dplasso.base.extras import require
from dplasso.base.silence import raise_alone
from dplasso.base.wording import ParameterError
from dplasso.schema.cells import is_number, numbers, without_blanks
from dplasso.schema.schema import repeated

pa = require("pyarrow", "compute", extra="tables", purpose="reading tables")

MOST_COLUMNS = 1 << 17  # of a table: each takes some kilobytes, even a short one
BATCH = 1 << 16  # rows of a batch, at most, where the file does not limit it further
_JUDGED_ROWS = 1000  # first rows that show whether a column has numbers, if its type does not
_JUDGED_AT_ONCE = 1 << 12  # columns whose first rows are read together


@dataclass(frozen=True)
class TableSettings:
    """How a table is written, where its file does not say so; None means that it is not given."""

    delimiter: str | None = None
    encoding: str | None = None
    longest_line: int | None = None
    # Of a file that is not UTF-8 throughout. Never for training rows: one row of them would decide
    # how all others are read.
    fallback_encoding: str | None = None


class TableFile(ABC):
    """The names of a table's columns, and batches of some of them.

    ``kinds`` has the types of columns, and ``rows`` the number of rows, where the file declares
    them. A file without types gives all cells as text, because types that were guessed from the
    rows would make the features of one row depend on the others.
    """

    takes_encoding: ClassVar[bool] = False

    def __init__(self, path: str, settings: TableSettings) -> None:
        self.path, self.settings = path, settings
        self.header = ""  # the line of the names of columns, for messages
        self.rows: int | None = None
        self.kinds: dict[str, Any] = {}
        self.names: list[str] = []
        if settings.encoding is not None and not self.takes_encoding:
            raise ParameterError(
                "{encoding} is for .csv and .tsv files, and {path} is none; leave it out", path=path
            )
        with self.readable():
            self.names = self._opened()
        self._blanks_are_missing = not self.kinds
        if twice := repeated([name for name in self.names if name]):
            first = self.names.index(twice[0])
            second = self.names.index(twice[0], first + 1)
            raise ValueError(
                f"{path}{self.header} has one name for columns {first + 1} and {second + 1}; "
                "rename one, or put names of columns in the first row"
            )

    @abstractmethod
    def _opened(self) -> list[str]:
        """Read the names of the columns, and set ``kinds`` and ``rows`` if they are declared."""

    @abstractmethod
    def _batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Record batches of the named columns, in bounded memory."""

    def take_blanks_as_missing(self) -> None:
        """Let texts such as NA be missing cells, as they always are in files without types."""
        self._blanks_are_missing = True

    def batches(
        self, names: Sequence[str], kept: Mapping[str, Collection[str]] | None = None
    ) -> Generator[Any, None, None]:
        """Record batches of the named columns, in bounded memory.

        ``kept`` has texts of columns that are not missing even if they look blank.
        """
        if len(names) > MOST_COLUMNS:
            raise ParameterError(
                "{path}: {count:,} columns have a role, and {most:,} can be read; give the others "
                "to {ignore}, or write the rows as svmlight text",
                path=self.path,
                count=len(names),
                most=MOST_COLUMNS,
            )
        with self.readable():
            for batch in self._batches(names):
                if not self._blanks_are_missing:
                    yield batch
                    continue
                columns = [batch.column(name) for name in names]
                texts = [(kept or {}).get(name, ()) for name in names]
                found = list(map(without_blanks, columns, texts))
                yield pa.RecordBatch.from_arrays(found, list(names))

    def numeric(self, names: Sequence[str]) -> list[str]:
        """The columns that have numbers, judged by their type, or else by their first rows."""
        if self.kinds:
            return [name for name in names if is_number(self.kinds[name])]
        found: list[str] = []
        for start in range(0, len(names), _JUDGED_AT_ONCE):
            some = names[start : start + _JUDGED_AT_ONCE]
            first = self._first_rows(some)
            for name in some:
                columns = [batch.column(name) for batch in first]
                if any(column.null_count < len(column) for column in columns) and all(
                    numbers(column) is not None for column in columns
                ):
                    found.append(name)
        return found

    def _first_rows(self, names: Sequence[str]) -> list[Any]:
        """The same rows, whatever the size of blocks and parts in which they come."""
        found, left = [], _JUDGED_ROWS
        with closing(self.batches(names)) as batches:
            for batch in batches:
                found.append(batch.slice(0, left))
                left -= len(batch)
                if left <= 0:
                    break
        return found

    def refuse(self, row: int, why: str) -> NoReturn:
        """Reject a row, counted from 1 without the header."""
        raise ValueError(f"{self.path}: row {row} {why} (rows are counted without the header)")

    @contextlib.contextmanager
    def readable(self) -> Generator[None, None, None]:
        """Replace pyarrow's error messages, because they quote the rows."""
        try:
            yield
        except (pa.ArrowException, OSError, UnicodeError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise_alone(self._refusal(error))

    def _refusal(self, error: Exception) -> ValueError:
        if isinstance(error, MemoryError):
            return ValueError(f"{self.path} needs more memory than there is")
        return ValueError(f"{self.path} cannot be read as a table: it is damaged; mend the file")
