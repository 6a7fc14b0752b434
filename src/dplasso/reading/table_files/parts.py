"""Several files that together hold one table."""

from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from dplasso.base.extras import require
from dplasso.reading.table_files.base import TableFile, TableSettings
from dplasso.schema.cells import is_number

pa = require("pyarrow", extra="tables", purpose="reading tables")


class Parts(TableFile):
    """The rows of all parts in order. Each part has the same columns, in any order."""

    def __init__(self, path: str, parts: list[TableFile], settings: TableSettings) -> None:
        self._parts, self._current, self._before = parts, parts[0], 0
        self.path, self.settings, self.header = path, settings, parts[0].header
        self.names = parts[0].names
        for part in parts[1:]:
            self._check_header(part)
        counts = [part.rows for part in parts]
        self.rows = None if None in counts else sum(count or 0 for count in counts)
        self.kinds = {name: self._kind(name) for name in self.names} if parts[0].kinds else {}

    def _check_header(self, part: TableFile) -> None:
        first = self._parts[0]
        missing = [name for name in first.names if name not in set(part.names)]
        more = [name for name in part.names if name not in set(first.names)]
        if missing or more or bool(part.kinds) != bool(first.kinds):
            column = (*missing, *more, None)[0]
            what = "the same columns" if column is None else f"a column {column!r} in all parts"
            lacking = part.path if missing else first.path
            raise ValueError(
                f"{part.path} and {first.path} are not parts of one table: {lacking} does not "
                f"have {what}; give files with the same names of columns"
            )

    def _kind(self, name: str) -> Any:
        """The type of a column; parts in which all its cells are missing do not count."""
        kinds = [part.kinds[name] for part in self._parts]
        known = [kind for kind in kinds if not pa.types.is_null(kind)]
        other = [kind for kind in known if not is_number(kind)]
        return (*other, *known, kinds[0])[0]

    def _opened(self) -> list[str]:
        return self.names

    def take_blanks_as_missing(self) -> None:
        for part in self._parts:
            part.take_blanks_as_missing()

    def batches(
        self, names: Sequence[str], kept: Mapping[str, Collection[str]] | None = None
    ) -> Generator[Any, None, None]:
        self._before = 0
        for part in self._parts:
            self._current, rows = part, 0
            for batch in part.batches(names, kept):
                rows += len(batch)
                yield batch
            self._before += rows

    def _batches(self, names: Sequence[str]) -> Iterator[Any]:
        return self.batches(names)

    def refuse(self, row: int, why: str) -> NoReturn:
        self._current.refuse(row - self._before, why)

    @contextmanager
    def readable(self) -> Generator[None, None, None]:
        with self._current.readable():
            yield
