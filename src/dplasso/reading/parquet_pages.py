"""Read the unpacked sizes of a Parquet file's pages from their headers, before unpacking any.

The sizes in the footer are only what the writer claims. Readers follow the page headers, and
allocate memory as those say. Footer and headers are structs in Thrift's compact protocol. The
places of column chunks are read here, too: for some damaged footers pyarrow's own description of a
chunk ends the process.
"""

import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = (
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12,
)  # fmt: skip
_TYPE, _UNPACKED, _PACKED, _DATA, _DICTIONARY, _DATA_2 = 1, 2, 3, 5, 7, 8  # fields of a header
_VALUES = 1  # this field exists in each of the last three
_ENCODINGS = {_DATA: 2, _DATA_2: 4}
_DELTA_LENGTHS, _DELTA_TEXTS = 6, 7  # encodings
_DEEPEST, _LONGEST_LIST = 8, 1 << 20
# Fields of a footer, from the file down to a column chunk.
_GROUPS, _COLUMNS, _ABOUT, _COUNT, _DATA_PLACE, _DICTIONARY_PLACE = 4, 1, 3, 5, 9, 11
_FOOTER_END = 8  # bytes: the length of the footer, and the mark of the format


class ColumnChunk(NamedTuple):
    """Where the pages of one column begin in one group of rows, and how many values they hold."""

    first_page: int
    values: int


def column_chunks(file: BinaryIO) -> list[list[ColumnChunk]]:
    """Column chunks of every group of rows, in the order of the columns; `ValueError` if broken."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - _FOOTER_END, 0))
    length = int.from_bytes(file.read(4), "little")
    if length > size - _FOOTER_END:
        raise ValueError("the footer is longer than the file")
    file.seek(size - _FOOTER_END - length)
    groups = _struct(io.BytesIO(file.read(length)), 0).get(_GROUPS)
    return [
        [_column_chunk(column) for column in _listed(group, _COLUMNS)] for group in groups or []
    ]


def _column_chunk(column: Any) -> ColumnChunk:
    about = column.get(_ABOUT) if isinstance(column, dict) else None
    found = about if isinstance(about, dict) else {}
    place, values = found.get(_DATA_PLACE), found.get(_COUNT)
    if not isinstance(place, int) or not isinstance(values, int) or min(place, values) < 0:
        raise ValueError("a column chunk has no place")
    dictionary = found.get(_DICTIONARY_PLACE)
    if isinstance(dictionary, int) and 0 < dictionary < place:
        place = dictionary
    return ColumnChunk(place, values)


def _listed(struct: Any, field: int) -> list[Any]:
    found = struct.get(field) if isinstance(struct, dict) else None
    if not isinstance(found, list):
        raise ValueError("a group of rows has no columns")
    return found


@dataclass(frozen=True)
class Page:
    """One page: its unpacked bytes, its number of values, and how a data page encodes them."""

    size: int
    values: int
    encoding: int | None  # None for a dictionary


@dataclass(frozen=True)
class ChunkSizes:
    """Unpacked sizes of the pages of one column chunk, in bytes."""

    largest: int  # size of the largest page
    densest: float  # largest size per value of a data page
    can_be_coded: bool  # pyarrow keeps texts as codes, unless they are delta-encoded

    @classmethod
    def of(cls, file: BinaryIO, chunk: ColumnChunk) -> "ChunkSizes":
        largest, densest, coded = 0, 1.0, True
        for page in pages_of(file, chunk):
            largest = max(largest, page.size)
            if page.encoding is not None:
                per_value = page.size / max(page.values, 1)
                if page.encoding == _DELTA_TEXTS:
                    per_value = float(page.size)  # a value may repeat everything before it
                densest = max(densest, per_value)
                coded = coded and page.encoding not in (_DELTA_LENGTHS, _DELTA_TEXTS)
        return cls(largest, densest, coded)

    def row_bytes(self, coded: bool) -> float:
        """Upper bound on the mean bytes per row of a page; where values are not kept as codes, any
        value of a dictionary may be repeated."""
        return self.densest if coded else max(self.densest, float(self.largest))


def pages_of(file: BinaryIO, chunk: ColumnChunk) -> Iterator[Page]:
    """Yield the pages of a column chunk; `ValueError` if they are broken.

    Only headers are read.
    """
    position = chunk.first_page
    last = os.fstat(file.fileno()).st_size
    seen = 0
    while seen < chunk.values and 0 <= position < last:
        file.seek(position)
        header = _struct(file, 0)
        if not _is_count(header.get(_UNPACKED)) or not _is_count(header.get(_PACKED)):
            raise ValueError("a page has no size")
        position = file.tell() + int(header[_PACKED])
        yield _page(header, int(header[_UNPACKED]))
        kind = next((field for field in (_DATA, _DATA_2) if field in header), None)
        seen += header[kind][_VALUES] if kind is not None else 0


def _page(header: dict[int, Any], unpacked: int) -> Page:
    for field in (_DATA, _DATA_2, _DICTIONARY):
        if field in header:
            content = header[field]
            if not isinstance(content, dict) or not _is_count(content.get(_VALUES)):
                raise ValueError("a page has no number of values")
            return Page(unpacked, content[_VALUES], content.get(_ENCODINGS.get(field, -1)))
    return Page(unpacked, 0, None)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _struct(file: BinaryIO, depth: int) -> dict[int, Any]:
    """The fields of a struct by number; texts are skipped."""
    fields: dict[int, Any] = {}
    number = 0
    while (head := _byte(file)) & 0x0F != _STOP:
        step = head >> 4
        number = number + step if step else _signed(file)
        fields[number] = _value(file, head & 0x0F, depth)
    return fields


def _value(file: BinaryIO, kind: int, depth: int) -> Any:
    if depth > _DEEPEST:
        raise ValueError("a header of a page is nested too deep")
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE
    if kind == _BYTE:
        return _byte(file)
    if kind in (_I16, _I32, _I64):
        return _signed(file)
    if kind == _DOUBLE:
        return file.read(8)
    if kind == _BINARY:
        length = _unsigned(file)
        if length >= 1 << 32:
            raise ValueError("a header of a page has a text that is too long")
        file.seek(length, os.SEEK_CUR)
        return None
    if kind in (_LIST, _SET):
        head = _byte(file)
        count = _unsigned(file) if head >> 4 == 15 else head >> 4
        if count > _LONGEST_LIST:
            raise ValueError("a header of a page has a list that is too long")
        inner = head & 0x0F
        return [
            _byte(file) if inner in (_TRUE, _FALSE) else _value(file, inner, depth + 1)
            for _ in range(count)
        ]
    if kind == _STRUCT:
        return _struct(file, depth + 1)
    raise ValueError("a header of a page has a field of a kind that it never has")


def _byte(file: BinaryIO) -> int:
    found = file.read(1)
    if not found:
        raise ValueError("a header of a page is cut off")
    return found[0]


def _unsigned(file: BinaryIO) -> int:
    value = shift = 0
    while True:
        byte = _byte(file)
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value
        shift += 7
        if shift > 63:
            raise ValueError("a number in a header of a page is too long")


def _signed(file: BinaryIO) -> int:
    value = _unsigned(file)
    return (value >> 1) ^ -(value & 1)
