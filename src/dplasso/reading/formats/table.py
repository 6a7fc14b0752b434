"""Tables: CSV and Parquet files, whose columns become features according to a plan."""

from collections.abc import Iterator
from pathlib import Path

from dplasso.reading.formats.base import Format, Pieces
from dplasso.reading.options import ReadingOptions
from dplasso.reading.rows import Rows

_PACKINGS = ("", ".gz", ".bz2", ".zst")
ENDINGS = (
    *(f"{kind}{packing}" for kind in (".csv", ".tsv") for packing in _PACKINGS),
    ".parquet",
    ".pq",
)


class Table(Format):
    """Tables are read by pyarrow, which is imported only here, since no other format needs it."""

    name = "a table"
    options = frozenset(
        {"target", "bounds", "hashed", "text", "ignore", "buckets", "delimiter", "identifier"}
    )
    counts_rows = True
    keeps_plan = True

    def recognises(self, path: Path) -> bool:
        return path.name.lower().endswith(ENDINGS)

    def read(self, path: Path, options: ReadingOptions) -> Rows:
        rows = super().read(path, options)
        if not rows.X.shape[0]:
            raise ValueError(f"{path} has names of columns and no rows; add rows below them")
        return rows

    def pieces(self, path: Path, options: ReadingOptions) -> Pieces:
        from dplasso.reading.tables import table_chunks

        asked = options.table_plan(path)
        space, chunks, classes = table_chunks(
            path, asked, labelled=options.labelled, progress=options.progress, **options.limits
        )
        return Pieces(
            chunks,
            space.size,
            options.labelled,
            bounds=space.bounds,
            names=space.names,
            plan=space.plan,
            classes=classes,
            undeclared=frozenset({"classes"} if asked.classes is None else ()),
        )

    def column_texts(self, path: Path, column: str, options: ReadingOptions) -> Iterator[str]:
        from dplasso.reading.tables import column_texts

        delimiter = options.delimiter if options.plan is None else options.plan.delimiter
        return column_texts(path, column, delimiter, options.longest_line)
