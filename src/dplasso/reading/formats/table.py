"""Tables: CSV, Parquet, Arrow and Excel files, whose columns become features by a schema."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dplasso.data.row_chunks import RowChunk
from dplasso.reading.files import Files
from dplasso.reading.formats.base import Format, Pieces
from dplasso.reading.options import ReadingOptions
from dplasso.reading.plans import TablePlan
from dplasso.reading.table_files import kind_of
from dplasso.schema.unmatched import watched

if TYPE_CHECKING:
    from dplasso.reading.table_files.base import TableSettings


class Table(Format):
    """Tables are read by pyarrow, which is imported only here, since no other format needs it."""

    name = "a table"
    options = frozenset(
        {"schema", "target", "bounds", "hashed", "text", "ignore", "missing", "person", "buckets"}
        | {"delimiter", "encoding", "identifier"}
    )
    counts_rows = True
    keeps_schema = True
    takes_parts = True

    def recognises(self, path: Path) -> bool:
        return kind_of(path.name) is not None

    def pieces(self, files: Files, options: ReadingOptions) -> Pieces:
        from dplasso.reading.tables import table_chunks

        asked = options.table_plan(files)
        space, chunks, classes = table_chunks(
            files,
            asked,
            labelled=options.labelled,
            scaled=options.scaled,
            fallback_encoding=options.fallback_encoding,
            new=options.known is not None,
            progress=options.progress,
            **options.limits,
        )
        stated = asked.classes if isinstance(asked, TablePlan) else asked.labels.classes
        return Pieces(
            _some(watched(space, chunks), files),
            space.size,
            options.labelled,
            bounds=space.bounds,
            names=space.names,
            schema=space.schema,
            classes=classes,
            undeclared=frozenset({"classes"} if stated is None else ()),
            scaled=options.scaled,
        )

    def has_column(self, files: Files, column: str, options: ReadingOptions) -> bool:
        from dplasso.reading.table_files import open_table

        return column in open_table(files, _settings(files, options)).names

    def column_texts(self, files: Files, column: str, options: ReadingOptions) -> Iterator[str]:
        from dplasso.reading.tables import column_texts

        return column_texts(files, column, _settings(files, options))


def _settings(files: Files, options: ReadingOptions) -> "TableSettings":
    from dplasso.reading.table_files.base import TableSettings

    form = options if options.known is None else options.table_plan(files)
    return TableSettings(
        form.delimiter, form.encoding, options.longest_line, options.fallback_encoding
    )


def _some(chunks: Iterator[RowChunk], files: Files) -> Iterator[RowChunk]:
    """The same chunks; an error if there are no rows in them."""
    rows = 0
    for chunk in chunks:
        rows += chunk.rows
        yield chunk
    if not rows:
        raise ValueError(f"{files} has names of columns and no rows; add rows below them")
