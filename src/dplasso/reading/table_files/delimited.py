"""CSV and TSV files, plain or compressed, in any encoding."""

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dplasso.base.extras import require
from dplasso.base.memory import size_text
from dplasso.base.wording import ParameterError, Setting
from dplasso.reading.byte_source import open_unpacked
from dplasso.reading.table_files.base import TableFile
from dplasso.reading.table_files.csv_faults import NUL, first_fault, not_text
from dplasso.reading.table_files.encodings import encoding_of, is_utf8, mark_of

pa = require("pyarrow", "csv", extra="tables", purpose="reading CSV files")

_TSV = re.compile(r"\.tsv(\.\w+)?$")
_BLOCK = 4 << 20  # bytes parsed at a time, and the longest row
_LEAST_BLOCK = 1 << 8  # bytes: the smallest block in which pyarrow can parse a row


class CsvTable(TableFile):
    """All cells are text; an empty cell is missing, and so is one of NA, NaN, NULL and the like.

    The text is UTF-8, or what the mark at its beginning or ``encoding`` says. One that is not UTF-8
    throughout has the ``fallback_encoding``, if that is given.
    """

    takes_encoding = True

    def _opened(self) -> list[str]:
        usual = "\t" if _TSV.search(self.path.lower()) else ","
        self._delimiter = self.settings.delimiter or usual
        longest = self.settings.longest_line
        self._longest = _BLOCK if longest is None else longest
        self._encoding = "utf-8"
        with open_unpacked(self.path) as stream:
            head = stream.read(4) or b""
        if not head:
            raise ValueError(f"{self.path} is empty; give a file with names of columns and rows")
        self._encoding = encoding_of(head, self._stated(head), self.path)
        names = self._names()
        if len(names) == 1:
            self._doubt_delimiter(names[0])
        return names

    def _stated(self, head: bytes) -> str | None:
        """The encoding that is stated for the file; None if it is UTF-8, or what its mark says."""
        given, other = self.settings.encoding, self.settings.fallback_encoding
        if given is not None or other is None or mark_of(head) is not None:
            return given
        with open_unpacked(self.path) as stream:
            return None if is_utf8(stream) else other

    @contextmanager
    def _text(self) -> Iterator[Any]:
        """The content in UTF-8, without a mark."""
        with open_unpacked(self.path) as raw, pa.PythonFile(raw, "r") as stream:
            if self._encoding == "utf-8":
                yield stream
            else:
                yield pa.transcoding_input_stream(stream, self._encoding, "utf-8")

    def _names(self) -> list[str]:
        """The names in the first nonempty row; pyarrow would allocate memory for every column."""
        with self._text() as stream:
            head = stream.read(self._longest + 1).removeprefix(codecs.BOM_UTF8)
        lines = io.StringIO(head.decode("utf-8", "surrogateescape"), newline="")
        reader = csv.reader(lines, delimiter=self._delimiter, strict=True)
        try:
            row = next(filter(None, reader), None)
        except csv.Error:
            row = None
        rest = lines.read(1)
        if len(head) > self._longest and (row is None or not rest):
            raise pa.ArrowInvalid("straddling")
        if row is None:
            raise ValueError(
                f"{self.path} has no names of columns: it has only empty lines, or a quote in its "
                "first row is not closed; put names in the first row"
            )
        self.header = f", line {reader.line_num},"
        for name in row:
            if NUL in name or not_text(name):
                raise pa.ArrowInvalid("no text")
        return row

    def _doubt_delimiter(self, name: str) -> None:
        """Reject a header of one column that looks like several columns."""
        for sign in ";\t|,":
            if sign in name and sign != self._delimiter:
                raise ParameterError(
                    "{path} has one column only, and seems to be separated by {sign!r}; say so "
                    "with {delimiter}, or correct the delimiter that the schema states",
                    path=self.path,
                    sign=sign,
                    delimiter=Setting("delimiter", sign),
                )

    def _batches(self, names: Sequence[str]) -> Iterator[Any]:
        with self._text() as stream:
            yield from pa.csv.open_csv(
                stream,
                pa.csv.ReadOptions(block_size=max(self._longest, _LEAST_BLOCK)),
                pa.csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
                pa.csv.ConvertOptions(
                    column_types={name: pa.string() for name in names},
                    include_columns=list(names),
                    strings_can_be_null=False,  # `TableFile.batches` finds them, by column
                ),
            )

    def _refusal(self, error: Exception) -> ValueError:
        if "straddling" in str(error):
            return ParameterError(
                "{path}: a row is longer than {longest}, or a quote is not closed; mend the "
                "file, or allow longer rows with {longest_line}",
                path=self.path,
                longest=size_text(self._longest),
            )
        if isinstance(error, MemoryError):
            return super()._refusal(error)
        with open_unpacked(self.path) as stream:
            fault = first_fault(stream, self._encoding, self._delimiter, self._longest)
        if fault is None:
            return super()._refusal(error)
        return fault.refusal(self.path, self._encoding)
