"""Find the line for which a CSV file cannot be read, after pyarrow has rejected it."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

from dplasso.base.wording import ParameterError, Setting

NUL = "\0"


@dataclass(frozen=True)
class Fault:
    """What is wrong in which line; never what the line holds."""

    line: int
    reason: str  # a text for `ParameterError`

    def refusal(self, path: str, encoding: str) -> ParameterError:
        """The error that names the line and the remedy."""
        return ParameterError(
            "{path}, line {line}: " + self.reason,
            path=path,
            line=self.line,
            read_as=encoding.upper(),
            latin=Setting("encoding", "latin-1"),
            wide=Setting("encoding", "utf-16"),
        )


NOT_TEXT = (
    "this is no text in {read_as}; pass {latin} (or cp1252) if an older program wrote the file, or "
    "save it as UTF-8"
)
NULS = "there are NUL characters; pass {wide} if the file is UTF-16, or save it as UTF-8"
_MORE = (
    "the row has more cells than the header has names; put cells that hold the delimiter in "
    "quotes, or name the columns"
)
_FEWER = (
    "the row has fewer cells than the header has names; add the missing ones, or check {delimiter}"
)
_OPEN = (
    "the row that begins here runs over several lines and does not have as many cells as the "
    "header has names; close its quotes"
)


def first_fault(raw: io.RawIOBase, encoding: str, delimiter: str, longest: int) -> Fault | None:
    """The first line that is no text, or begins a row of another length than the header.

    None if there is none, or if a line is longer than ``longest``.
    """
    text = io.TextIOWrapper(
        io.BufferedReader(raw),
        encoding="utf-8-sig" if encoding == "utf-8" else encoding,
        errors="surrogateescape",
        newline="",
    )
    try:
        return _first_fault(text, delimiter, longest)
    except (UnicodeError, csv.Error):
        return None


def not_text(line: str) -> bool:
    """Whether a line has bytes that are no text, which are decoded as surrogates."""
    return any("\ud800" <= sign <= "\udfff" for sign in line) if not line.isascii() else False


def _first_fault(text: io.TextIOWrapper, delimiter: str, longest: int) -> Fault | None:
    lines = _Lines(text, longest)
    reader = csv.reader(lines, delimiter=delimiter)
    columns, ended = None, 0
    try:
        for row in reader:
            begun, ended = ended + 1, reader.line_num
            if not row:
                continue
            if columns is None:
                columns = len(row)
            elif len(row) != columns:
                reason = _MORE if len(row) > columns else _FEWER
                return Fault(begun, _OPEN if ended > begun else reason)
    except _FaultyLineError as found:
        return Fault(lines.count, str(found))
    return None


class _FaultyLineError(Exception):
    pass


class _Lines:
    """The lines of a text; one that is no text, or too long, raises an error."""

    def __init__(self, text: io.TextIOWrapper, longest: int) -> None:
        self._text, self._longest, self.count = text, longest, 0

    def __iter__(self) -> Iterator[str]:
        while line := self._text.readline(self._longest + 1):
            self.count += 1
            if len(line) > self._longest:
                raise UnicodeError("the line is too long")
            if not_text(line):
                raise _FaultyLineError(NOT_TEXT)
            if NUL in line:
                raise _FaultyLineError(NULS)
            yield line
