"""Files that hold tables. A new kind needs a file in this folder and a line in the list."""

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from dplasso.reading.files import Files

if TYPE_CHECKING:
    from dplasso.reading.table_files.base import TableFile, TableSettings

_PACKINGS = ("", ".gz", ".bz2", ".xz", ".zst")


class Kind(NamedTuple):
    """The endings of such files, and the class that reads them, which is imported when needed."""

    endings: tuple[str, ...]
    module: str
    reader: str


KINDS = (
    Kind(tuple(f"{e}{p}" for e in (".csv", ".tsv") for p in _PACKINGS), "delimited", "CsvTable"),
    Kind((".parquet", ".pq"), "parquet", "ParquetTable"),
    Kind((".arrow", ".feather", ".ipc"), "arrow_ipc", "ArrowTable"),
    Kind((".xlsx", ".xlsm"), "workbook", "WorkbookTable"),
)


def kind_of(name: str) -> Kind | None:
    """The kind of a table, judged by the name of its file; None if it is none.

    >>> kind_of("People.CSV.xz").reader, kind_of("rows.svm")
    ('CsvTable', None)
    """
    return next((kind for kind in KINDS if name.lower().endswith(kind.endings)), None)


def open_table(files: Files, settings: "TableSettings") -> "TableFile":
    """The table that one or several files hold; those of several follow each other."""
    from dplasso.reading.table_files.parts import Parts

    opened = [_open(str(path), settings) for path in files.paths]
    return opened[0] if len(opened) == 1 else Parts(str(files), opened, settings)


def _open(path: str, settings: "TableSettings") -> "TableFile":
    kind = kind_of(path)
    if kind is None:
        raise ValueError(f"{path} is no table that is known by its name; give .csv or .parquet")
    module = import_module(f"{__name__}.{kind.module}")
    opened: TableFile = getattr(module, kind.reader)(path, settings)
    return opened
