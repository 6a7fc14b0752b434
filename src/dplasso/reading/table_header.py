"""The header of a table: names and declared types of its columns, without any row."""

import codecs
import csv
import os
import re
from itertools import chain
from typing import Any, NamedTuple

from dplasso.base.extras import require
from dplasso.base.wording import ParameterError, Setting
from dplasso.reading.byte_source import open_unpacked
from dplasso.reading.files import Files
from dplasso.reading.table_files import kind_of, open_table
from dplasso.reading.table_files.csv_faults import NOT_TEXT, NUL, NULS, Fault
from dplasso.reading.table_files.encodings import MARKS, encoding_of
from dplasso.schema.cells import is_number, is_text

_LONGEST = 4 << 20  # bytes of a header
# Cells that are no names of columns: dates, and numbers with decimals. A name may be a whole year.
_OF_A_ROW = re.compile(r"\s*(\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}\b.*|[-+]?\d+[.,]\d+)\s*")


class TableHeader(NamedTuple):
    """The names of the columns, and roles that their declared types suggest, if there are any."""

    names: list[str]
    kinds: dict[str, str]


def read_header(
    path: str | os.PathLike[str], delimiter: str | None = None, encoding: str | None = None
) -> TableHeader:
    """Read the names and the declared types of a table's columns.

    Formal guarantees
    -----------------
    No cell is used: of a CSV file, nothing beyond the first line is taken from the file (or from
    its decompressor); of Parquet and Arrow files, their schema; of a workbook, which can only be
    loaded whole, its first row.
    """
    # Tables need an extra, which this module does without until it is called.
    from dplasso.reading.table_files.base import TableSettings

    name = os.fsdecode(path)
    kind = kind_of(name)
    if kind is not None and kind.module != "delimited":
        table = open_table(Files.of(path), TableSettings(encoding=encoding))
        return TableHeader(table.names, {own: _role_of(of) for own, of in table.kinds.items()})
    packed = os.path.splitext(name)[1].lower() in (".gz", ".bz2", ".xz", ".zst")
    # Without a buffer, which would be filled with rows.
    with open_unpacked(name) if packed else open(name, "rb", buffering=0) as stream:
        head = _head(stream)
        known = encoding_of(head, encoding, name)
        line = _first_record(head, stream, known, name)
    mark = delimiter or ("\t" if ".tsv" in name.lower() else ",")
    try:
        names = next(csv.reader([line], delimiter=mark, strict=True), [])
    except csv.Error:
        raise ParameterError(
            "the first line of {path} is no header of CSV; mend it, or check {delimiter}", path=name
        ) from None
    if any(NUL in own for own in names):
        raise Fault(1, NULS).refusal(name, known)
    _check(name, names, mark)
    return TableHeader(names, {})


def _head(stream: Any) -> bytes:
    """The first bytes, as many as tell whether they are the mark of an encoding."""
    head = stream.read(1)
    while any(mark.startswith(head) and mark != head for mark in MARKS):
        if not (byte := stream.read(1)):
            break
        head += byte
    return bytes(head)


def _first_record(head: bytes, stream: Any, encoding: str, path: str) -> str:
    """The text up to the first end of a line that is not within quotes, one byte at a time."""
    decoder = codecs.getincrementaldecoder("utf-8-sig" if encoding == "utf-8" else encoding)()
    found, quoted = "", False
    coming = chain((head[k : k + 1] for k in range(len(head))), iter(lambda: stream.read(1), b""))
    for size, byte in enumerate(coming):
        if size > _LONGEST:
            raise ValueError(f"{path} has a first line that is too long for a header; mend it")
        try:
            sign = decoder.decode(byte)
        except UnicodeDecodeError:
            raise Fault(1, NOT_TEXT).refusal(path, encoding) from None
        quoted ^= sign == '"'
        if sign and sign in "\r\n" and not quoted:
            if found.strip():
                break
            continue
        found += sign
    return found


def _check(path: str, names: list[str], mark: str) -> None:
    if not names:
        raise ValueError(f"{path} has no header; put names of columns in the first line")
    if len(set(names)) < len(names):
        raise ValueError(f"{path} has one name for two columns; rename one of them")
    if any(_OF_A_ROW.fullmatch(name) for name in names):
        # Somebody's data must not become names.
        raise ValueError(
            f"{path} has a date or a decimal number in its first line, which seems to be a row; "
            "put names of columns there"
        )
    for sign in ";\t|,":
        if len(names) == 1 and sign in names[0] and sign != mark:
            raise ParameterError(
                "{path} has one column only, and seems to be separated by {sign!r}; say so with "
                "{delimiter}",
                path=path,
                sign=sign,
                delimiter=Setting("delimiter", sign),
            )


def _role_of(kind: Any) -> str:
    """The role that a type of Arrow suggests; empty if texts could be anything."""
    pa = require("pyarrow", extra="tables", purpose="reading CSV and Parquet files")
    if pa.types.is_nested(kind):
        return "ignore"
    if is_number(kind) or pa.types.is_duration(kind):
        return "number"
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return "date"
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_dictionary(kind):
        return "category"
    return "" if is_text(kind) else "category"
