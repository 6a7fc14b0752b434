"""Read files, plain or compressed, as bytes or as blocks of whole lines."""

import bz2
import codecs
import io
import lzma
import os
import re
import stat
import zlib
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.base.extras import optional, require
from dplasso.base.memory import size_text
from dplasso.base.wording import ParameterError

BLOCK = 1 << 22  # bytes: long enough to split among threads, short enough to stay in the cache
LONGEST_LINE = 64 << 20  # bytes; at least one whole line is in memory at a time
PIECE = 1 << 16  # bytes of a compressed file that are read at a time
UNPACKED = 1 << 22  # bytes unpacked at a time, at most, whatever the compression ratio
_TIMES_A_LINE = 8  # memory per byte of a line: two buffers, its numbers, and the row made of them
WINDOW = 1 << 27  # bytes of earlier output that a format may ask to keep

Progress = Callable[[int, int | None], None]  # how much is done, and the total if it is known
_ZLIB = optional("isal.isal_zlib") or zlib  # ISA-L unpacks gzip nearly three times as fast


def line_blocks(
    path: str | os.PathLike[str],
    *,
    size: int = BLOCK,
    longest_line: int = LONGEST_LINE,
    progress: Progress | None = None,
) -> Generator[NDArray[np.uint8], None, None]:
    """Yield blocks of about ``size`` bytes of whole lines; every line, also the last, has its end.

    A line of more than ``longest_line`` bytes is rejected. This needs memory for two blocks, or
    two lines where those are longer, and for unpacking. A block is valid until the next one is
    requested. A thread reads and unpacks one block ahead. After every block, ``progress`` is called
    with the number of bytes read and the size of the file (None where that is not known).
    """
    path = Path(path)
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        total = status.st_size if stat.S_ISREG(status.st_mode) else None
        head = file.peek(16)
        _refuse_other_content(head, path)
        if head.startswith(codecs.BOM_UTF8):
            file.read(len(codecs.BOM_UTF8))
        source = _source(file, path)
        with closing(_ahead(_whole_lines(source, size, longest_line, path))) as blocks:
            for block, position in blocks:
                yield block
                if progress is not None:
                    progress(position, total)


def open_unpacked(path: str | os.PathLike[str]) -> io.RawIOBase:
    """The content of a file, unpacked if the file is compressed, as a binary stream."""
    return _Stream(Path(path))


class _Stream(io.RawIOBase):
    def __init__(self, path: Path) -> None:
        self._file = open(path, "rb")  # noqa: SIM115
        self._source = _source(self._file, path)

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        return self._source.read_into(memoryview(room).cast("B"))

    def close(self) -> None:
        self._file.close()
        super().close()


def _source(file: BufferedReader, path: Path) -> "_Plain":
    head = file.peek(8)
    unpacker = next((new for magic, new in _FORMATS.items() if head.startswith(magic)), None)
    return _Plain(file) if unpacker is None else _Packed(file, unpacker, path)


def _refuse_other_content(head: bytes, path: Path) -> None:
    """Name what begins as no lines of numbers do; the error for its first line would mislead."""
    for begins, (what, remedy) in _OTHER_CONTENT.items():
        if head.startswith(begins):
            raise ValueError(f"{path} is {what}; {remedy}")


class _Plain:
    """A file that counts how much of it has been read."""

    def __init__(self, file: BufferedReader) -> None:
        self._file = file
        self.position = 0

    def read_into(self, room: memoryview) -> int:
        """Fill the buffer; it is filled only in part at the end of the file."""
        read = self._file.readinto(room)
        self.position += read
        return read


class _Unpacker:
    """Unpacks bzip2 and xz with the standard library."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    @property
    def ended(self) -> bool:
        return bool(self._stream.eof)

    def unpack(self, packed: bytes) -> tuple[bytes, bytes, bool]:
        """Return at most `UNPACKED` bytes, the input left, and whether more output may follow."""
        piece = self._stream.decompress(packed, UNPACKED)
        if self.ended:
            return piece, self._stream.unused_data, False
        return piece, b"", not self._stream.needs_input  # the stream itself keeps the input left


class _Gzip(_Unpacker):
    """Unpacks gzip with ISA-L where it is installed, else with the standard library."""

    def unpack(self, packed: bytes) -> tuple[bytes, bytes, bool]:
        piece = self._stream.decompress(packed, UNPACKED)
        left = self._stream.unused_data if self.ended else self._stream.unconsumed_tail
        return piece, left, not self.ended and len(piece) == UNPACKED


class _Zstandard(_Unpacker):
    """Unpacks Zstandard. The unpacker has no output limit, but 4 bytes give 128 KiB at most."""

    _AT_ONCE = UNPACKED >> 11  # bytes of input, which give at most about 16 times `UNPACKED`

    def __init__(self) -> None:
        library = require("zstandard", extra="tables", purpose="unpacking zstd files")
        super().__init__(library.ZstdDecompressor(max_window_size=WINDOW).decompressobj())
        self._damage = library.ZstdError

    def unpack(self, packed: bytes) -> tuple[bytes, bytes, bool]:
        try:
            piece = self._stream.decompress(packed[: self._AT_ONCE])
        except self._damage as error:
            raise OSError(str(error)) from error
        left = packed[self._AT_ONCE :]
        return piece, self._stream.unused_data + left if self.ended else left, False


# The first bytes of a file identify its format.
_FORMATS: dict[bytes, Callable[[], _Unpacker]] = {
    b"\x1f\x8b": lambda: _Gzip(_ZLIB.decompressobj(wbits=31)),
    b"BZh": lambda: _Unpacker(bz2.BZ2Decompressor()),
    b"\xfd7zXZ\x00": lambda: _Unpacker(lzma.LZMADecompressor(memlimit=WINDOW)),
    b"\x28\xb5\x2f\xfd": _Zstandard,
}
# What other files begin with.
_WIDE_TEXT = ("text in UTF-16 or UTF-32", "save it as UTF-8")
_OTHER_CONTENT = {
    codecs.BOM_UTF16_LE: _WIDE_TEXT,
    codecs.BOM_UTF16_BE: _WIDE_TEXT,
    b"dplasso-model": ("a model of dplasso", "name the file of the rows here"),
    b"SQLite format": ("a database, such as a ledger", "name the file of the rows here"),
    b"PK\x03\x04": ("a zip archive or a workbook", "unpack it, or let its name end in .xlsx"),
    b"PAR1": ("a Parquet file", "let its name end in .parquet"),
    b"ARROW1": ("an Arrow file", "let its name end in .arrow"),
}
# Errors that unpackers raise for invalid bytes, or for bytes that need too much memory.
_DAMAGE: tuple[Any, ...] = (_ZLIB.error, OSError, lzma.LZMAError)
_TOO_MUCH = re.compile("memory", re.IGNORECASE)


class _Packed(_Plain):
    """The content of a compressed file: one or more streams in sequence, each of them complete."""

    def __init__(self, file: BufferedReader, new: Callable[[], _Unpacker], path: Path) -> None:
        super().__init__(file)
        self._new = new
        self._path = path
        self._pieces = self._unpacked()
        self._rest = memoryview(b"")

    def read_into(self, room: memoryview) -> int:
        filled = 0
        while filled < len(room):
            if not self._rest:
                piece = next(self._pieces, None)
                if piece is None:
                    break
                self._rest = memoryview(piece)
            taken = min(len(self._rest), len(room) - filled)
            room[filled : filled + taken] = self._rest[:taken]
            self._rest = self._rest[taken:]
            filled += taken
        return filled

    def _unpacked(self) -> Iterator[bytes]:
        stream, more = self._new(), False
        while packed := self._file.read(PIECE):
            self.position += len(packed)
            while packed or more:
                if stream.ended:
                    packed = packed.lstrip(b"\0")  # streams may be padded
                    stream = self._new() if packed else stream
                    continue
                try:
                    piece, packed, more = stream.unpack(packed)
                except _DAMAGE as error:
                    raise self._refusal(error) from error
                yield piece
        if not stream.ended:
            raise ValueError(f"{self._path}: the compressed data end early; fetch the file again")

    def _refusal(self, error: Exception) -> ValueError:
        if _TOO_MUCH.search(str(error)):
            return ValueError(
                f"{self._path}: unpacking needs more than {size_text(WINDOW)} at a time; pack the "
                "file again with the usual settings"
            )
        return ValueError(f"{self._path}: the compressed data are damaged; fetch the file again")


def _whole_lines(
    source: _Plain, size: int, longest_line: int, path: Path
) -> Iterator[tuple[NDArray[np.uint8], int]]:
    """Yield blocks, and the position in the file after each. Two buffers alternate: while one
    block is processed, the next one is read."""
    buffer, other = bytearray(size + 1), bytearray(size + 1)  # room for the end of the last line
    kept = 0
    while True:
        room = len(buffer) - 1
        filled = kept + source.read_into(memoryview(buffer)[kept:room])
        if filled < room:
            break
        whole = buffer.rfind(b"\n", 0, filled) + 1
        if whole:
            yield np.frombuffer(buffer, np.uint8, whole), source.position
        elif filled > longest_line:
            raise ParameterError(
                "{path}: a line is longer than {size}, and reading it would need about {times} "
                "times as much memory; split the line, or allow longer ones with {longest_line}",
                path=path,
                size=size_text(longest_line),
                times=_TIMES_A_LINE,
            )
        else:  # a line longer than the buffer
            other = bytearray(min(2 * room, longest_line + 1) + 1)
        # Only from here on is the other buffer no longer in use.
        kept = filled - whole
        other[:kept] = memoryview(buffer)[whole:filled]
        if len(buffer) < len(other):
            buffer = bytearray(len(other))
        buffer, other = other, buffer
    if filled and buffer[filled - 1] != ord("\n"):
        buffer[filled] = ord("\n")
        filled += 1
    if filled:
        yield np.frombuffer(buffer, np.uint8, filled), source.position


def _ahead(blocks: Iterator[Any]) -> Generator[Any, None, None]:
    """Yield the same blocks; another thread makes each one while the one before is processed."""
    with ThreadPoolExecutor(1, thread_name_prefix="dplasso-reading") as reader:
        coming = reader.submit(next, blocks, None)
        while (block := coming.result()) is not None:
            coming = reader.submit(next, blocks, None)
            yield block
