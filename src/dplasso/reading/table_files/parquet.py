"""Parquet files."""

from collections.abc import Iterator, Sequence
from typing import Any

from dplasso.base.extras import require
from dplasso.base.memory import size_text
from dplasso.base.wording import ParameterError
from dplasso.reading.byte_source import LONGEST_LINE
from dplasso.reading.parquet_pages import ChunkSizes, ColumnChunk, column_chunks
from dplasso.reading.table_files.base import BATCH, TableFile
from dplasso.schema.cells import is_text

pa = require("pyarrow", "parquet", extra="tables", purpose="reading Parquet files")


class ParquetTable(TableFile):
    """A page that unpacks to more than the longest line (64 MiB) is rejected unread."""

    def _opened(self) -> list[str]:
        with pa.parquet.ParquetFile(self.path) as file:
            self.rows, schema = file.metadata.num_rows, file.schema_arrow
        self.kinds = dict(zip(schema.names, schema.types, strict=True))
        return list(schema.names)

    @property
    def _longest(self) -> int:
        longest = self.settings.longest_line
        return LONGEST_LINE if longest is None else longest

    def _batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield batches whose texts are coded by a dictionary, so that no long text is repeated."""
        texts = [name for name in names if is_text(self.kinds[name])]
        with open(self.path, "rb") as raw, pa.parquet.ParquetFile(self.path) as file:
            places = {column.path: k for k, column in enumerate(file.schema)}
            try:
                groups = column_chunks(raw)
                chunks = [
                    {name: self._chunk(raw, name, group[places[name]]) for name in names}
                    for group in groups
                ]
            except (LookupError, ValueError) as error:
                if isinstance(error, ParameterError):
                    raise
                raise pa.ArrowInvalid("broken footer or pages") from error
            if len(chunks) != file.metadata.num_row_groups:
                raise pa.ArrowInvalid("broken footer")
        coded = [name for name in texts if all(found[name].can_be_coded for found in chunks)]
        with pa.parquet.ParquetFile(self.path, read_dictionary=coded) as file:
            for group, found in enumerate(chunks):
                sizes = [found[name].row_bytes(name in coded) for name in texts]
                sizes += [_width(self.kinds[name]) for name in names if name not in texts]
                rows = min(BATCH, int(self._longest / max(sizes)))
                yield from file.iter_batches(max(1, rows), row_groups=[group], columns=list(names))

    def _chunk(self, raw: Any, name: str, chunk: ColumnChunk) -> ChunkSizes:
        """Unpacked sizes of the pages of a column chunk; a page that is too large is rejected."""
        found = ChunkSizes.of(raw, chunk)
        if found.largest > self._longest:
            raise ParameterError(
                "{path}: a page of column {column!r} unpacks to {size}, and {allowed} are allowed; "
                "write the file with smaller pages, or raise {longest_line}",
                path=self.path,
                column=name,
                size=size_text(found.largest),
                allowed=size_text(self._longest),
            )
        return found


def _width(kind: Any) -> int:
    """Bytes per value of a type that is not text."""
    try:
        return max(1, int(kind.bit_width) // 8)
    except ValueError:  # the type has no fixed width
        return 1 << 10
