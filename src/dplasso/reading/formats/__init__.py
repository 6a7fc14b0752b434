"""The file formats. A new one needs a file in this folder and a line in the list."""

from pathlib import Path

from dplasso.reading.formats.base import Format, Pieces
from dplasso.reading.formats.column_store import StoreFolder
from dplasso.reading.formats.npz import NpzMatrix
from dplasso.reading.formats.svmlight import SvmlightText
from dplasso.reading.formats.table import Table

# The first format that recognises a file reads it.
FORMATS: list[Format] = [
    StoreFolder(),
    NpzMatrix(),
    Table(),
    SvmlightText(),
]

__all__ = ["FORMATS", "Format", "Pieces", "format_of"]


def format_of(path: Path) -> Format:
    """The format of a file, judged by its name; a folder is a column store.

    >>> format_of(Path("people.csv.gz")).name
    'a table'
    """
    return next(known for known in FORMATS if known.recognises(path))
