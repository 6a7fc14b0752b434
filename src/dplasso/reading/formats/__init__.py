"""The file formats. A new one needs a file in this folder and a line in the list."""

from dplasso.reading.files import Files
from dplasso.reading.formats.base import Format, Pieces
from dplasso.reading.formats.column_store import StoreFolder
from dplasso.reading.formats.npz import NpzMatrix
from dplasso.reading.formats.svmlight import SvmlightText
from dplasso.reading.formats.table import Table
from dplasso.reading.formats.unreadable import Unreadable

# The first format that recognises a file reads it.
FORMATS: list[Format] = [
    StoreFolder(),
    NpzMatrix(),
    Table(),
    Unreadable(),
    SvmlightText(),
]

__all__ = ["FORMATS", "Format", "Pieces", "format_of"]


def format_of(files: Files) -> Format:
    """The format of files, judged by their names; a folder is a column store.

    >>> from pathlib import Path
    >>> format_of(Files((Path("people.csv.gz"),))).name
    'a table'
    """
    kinds = [next(known for known in FORMATS if known.recognises(path)) for path in files.paths]
    first = kinds[0]
    for path, kind in zip(files.paths, kinds, strict=True):
        if kind is not first:
            raise ValueError(
                f"{path} is {kind.name} and {files.paths[0]} is {first.name}; name files of one "
                "format"
            )
    if len(files.paths) > 1 and not first.takes_parts:
        raise ValueError(
            f"{files}: only tables and svmlight text may be spread over several files; name one"
        )
    return first
