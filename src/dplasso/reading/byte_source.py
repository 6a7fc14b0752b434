"""Files as blocks of whole lines, however they are compressed."""

import bz2
import lzma
import os
import stat
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
import zstandard
from isal import isal_zlib
from numpy.typing import NDArray

BLOCK = 1 << 22  # bytes: long enough to share out, short enough to stay in the cache
PIECE = 1 << 16  # bytes of a compressed file that are unpacked at once

Progress = Callable[[int, int | None], None]

# A file's first bytes tell its format. ISA-L unpacks gzip nearly three times as fast as zlib does.
_FORMATS: dict[bytes, Callable[[], Any]] = {
    b"\x1f\x8b": lambda: isal_zlib.decompressobj(wbits=31),
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ\x00": lzma.LZMADecompressor,
    b"\x28\xb5\x2f\xfd": lambda: zstandard.ZstdDecompressor().decompressobj(),
}
# What they raise for bytes that make no sense.
_DAMAGE: tuple[Any, ...] = (
    isal_zlib.IsalError,
    OSError,
    lzma.LZMAError,
    zstandard.ZstdError,
)


def line_blocks(
    path: str | os.PathLike[str], *, size: int = BLOCK, progress: Progress | None = None
) -> Generator[NDArray[np.uint8], None, None]:
    """Blocks of about ``size`` bytes, each of whole lines, every line ended (the last one, too).

    A block is valid until the next one is asked for. A thread reads and unpacks one block ahead.
    ``progress`` is told, after every block, how many bytes of the file are read, and of how many
    (None where that is not known).
    """
    path = Path(path)
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        total = status.st_size if stat.S_ISREG(status.st_mode) else None
        head = file.peek(8)
        unpacker = next((new for magic, new in _FORMATS.items() if head.startswith(magic)), None)
        source = _Plain(file) if unpacker is None else _Packed(file, unpacker, path)
        with closing(_ahead(_whole_lines(source, size))) as blocks:
            for block, position in blocks:
                yield block
                if progress is not None:
                    progress(position, total)


class _Plain:
    """A file, and how much of it has been read."""

    def __init__(self, file: BufferedReader) -> None:
        self._file = file
        self.position = 0

    def read_into(self, room: memoryview) -> int:
        """Fill the room; less than that only at the end of the file."""
        read = self._file.readinto(room)
        self.position += read
        return read


class _Packed(_Plain):
    """What a compressed file holds: one stream after the other, each of them whole."""

    def __init__(self, file: BufferedReader, new: Callable[[], Any], path: Path) -> None:
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
        stream = self._new()
        while packed := self._file.read(PIECE):
            self.position += len(packed)
            while packed:
                if stream.eof:
                    packed = packed.lstrip(b"\0")  # streams may be padded
                    stream = self._new() if packed else stream
                    continue
                try:
                    piece = stream.decompress(packed)
                except _DAMAGE as error:
                    raise ValueError(
                        f"{self._path}: the compressed data are damaged; fetch the file again"
                    ) from error
                packed = stream.unused_data if stream.eof else b""
                yield piece
        if not stream.eof:
            raise ValueError(f"{self._path}: the compressed data end early; fetch the file again")


def _whole_lines(source: _Plain, size: int) -> Iterator[tuple[NDArray[np.uint8], int]]:
    """Blocks, and the position in the file after each. Two buffers take turns: while a block is
    worked on, the next one is read."""
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
        else:  # a line longer than the buffer
            other = bytearray(2 * room + 1)
        # Only now is nobody reading the other buffer any more.
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
    """The same blocks, each made by another thread while the one before is worked on."""
    with ThreadPoolExecutor(1, thread_name_prefix="dplasso-reading") as reader:
        coming = reader.submit(next, blocks, None)
        while (block := coming.result()) is not None:
            coming = reader.submit(next, blocks, None)
            yield block
