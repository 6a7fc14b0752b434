"""Sort entries by column in bounded memory: runs are written to disk, then merged."""

import contextlib
import errno
import io
import os
import sys
import tempfile
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dplasso.data.row_chunks import RowChunk
from dplasso.kernels import transpose as kernels

BLOCK = 1 << 17  # entries written at a time
WIDEST = 1 << 18  # columns in a range


class UnfitError(ValueError):
    """The reason why a store cannot be built; the caller adds the store's name."""


@dataclass
class _Run:
    """Entries that filled the memory once, sorted by column."""

    at: int  # entries before this place have been merged
    end: int
    gap: int | None  # how many places earlier its values are in their file; None if all are 1


class Runs:
    """Memory for ``room`` entries, and files to which it is written when full.

    A row has at most one entry per column.
    """

    def __init__(self, folder: Path, columns: int, room: int) -> None:
        self.room, self.filled = room, 0
        self.columns = np.empty(room, np.int32)
        self.rows = np.empty(room, np.int32)
        self.values = np.empty(room, np.float64)
        self.order = np.empty(room, np.int32)
        self.ends = np.empty(columns, np.int32)
        self.pointers = np.zeros(columns + 2, np.int64)  # first the lengths of the columns
        self.ones = self.single = True
        self.largest = 0.0
        self._runs: list[_Run] = []
        self._gap, self._ones = 0, True
        # Files without a name, which disappear with the process.
        with contextlib.ExitStack() as stack:
            self._column_file, self._row_file, self._value_file = (
                stack.enter_context(tempfile.TemporaryFile(dir=folder, buffering=0))
                for _ in range(3)
            )
            self._opened = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def add(self, chunk: RowChunk, base: int) -> None:
        """Add the entries of rows that are counted from ``base``."""
        done = 0
        while done < chunk.entries:
            if self.filled == self.room:
                self._set_aside()
            take = min(self.room - self.filled, chunk.entries - done)
            here = slice(self.filled, self.filled + take)
            self.columns[here] = chunk.indices[done : done + take]
            self.values[here] = chunk.values[done : done + take]
            kernels.spread(chunk.indptr, done, base, self.rows[here])
            kernels.tally(self.columns[here], self.pointers[1:])
            ones, single, largest = kernels.survey(self.values[here])
            self._ones, self.single = self._ones and ones, self.single and single
            self.largest = max(self.largest, largest)
            self.filled, done = self.filled + take, done + take

    def finish(self) -> None:
        """Write the last entries, and turn lengths into pointers; nothing can be added later."""
        self._set_aside()
        kernels.accumulate(self.pointers[1:-1])

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Split the columns into ranges whose entries fit into memory, or that are one column."""
        first, columns = 0, len(self.ends)
        while first < columns:
            most = self.pointers[first] + self.room
            fitting = int(np.searchsorted(self.pointers[:-1], most, side="right")) - 1
            last = min(max(fitting, first + 1), first + WIDEST, columns)
            yield first, last
            first = last

    def fills(self, first: int, last: int) -> Iterator[None]:
        """Fill memory with the entries of a range, several times for a long column.

        Rows are in order across runs, and so they are across the fillings of a long column.
        """
        for run in self._runs:
            stop = bisect_left(range(run.end), last, run.at, run.end, key=self._column_at)
            while run.at < stop:
                if self.filled == self.room:
                    yield
                    self.filled = 0
                self._load(run, min(self.room - self.filled, stop - run.at))
        yield
        self.filled = 0

    def sort(self, first: int, last: int) -> None:
        """Sort the entries in memory, which belong to columns ``first`` to ``last``."""
        if self.filled == 0:
            self.ends[: last - first] = 0
            return
        columns, order = self.columns[: self.filled], self.order[: self.filled]
        kernels.sort_by_column(columns, first, self.ends[: last - first], order)

    def sorted(self, field: NDArray[Any], kind: Any) -> Iterator[NDArray[Any]]:
        """A field of the entries in memory in sorted order, block by block."""
        block = np.empty(min(BLOCK, self.filled), kind)
        for first, last in blocks(self.filled):
            kernels.gather(field, self.order[first:last], block[: last - first])
            yield block[: last - first]

    def _set_aside(self) -> None:
        self.sort(0, len(self.ends))
        start = self._runs[-1].end if self._runs else 0
        for block in self.sorted(self.columns, np.int32):
            write_all(self._column_file, block)
        for block in self.sorted(self.rows, np.int32):
            write_all(self._row_file, block)
        if self._ones:
            self._gap += self.filled
        else:
            for block in self.sorted(self.values, np.float64):
                write_all(self._value_file, block)
        gap = None if self._ones else self._gap
        self._runs.append(_Run(start, start + self.filled, gap))
        self.ones = self.ones and self._ones
        self.filled, self._ones = 0, True

    def _load(self, run: _Run, count: int) -> None:
        here = slice(self.filled, self.filled + count)
        _read_all(self._column_file, run.at, self.columns[here])
        _read_all(self._row_file, run.at, self.rows[here])
        if run.gap is None:
            self.values[here] = 1.0
        else:
            _read_all(self._value_file, run.at - run.gap, self.values[here])
        run.at, self.filled = run.at + count, self.filled + count

    def _column_at(self, place: int) -> int:
        return int.from_bytes(os.pread(self._column_file.fileno(), 4, 4 * place), sys.byteorder)


def write_all(file: Any, data: Any) -> None:
    """Write all data to an unbuffered file, which may accept less than it is given per call.

    Without a buffer a full disk raises here and not on closing.
    """
    left = memoryview(data.view(np.uint8).data if isinstance(data, np.ndarray) else data)
    while len(left):
        left = left[file.write(left) :]


def _read_all(file: io.FileIO, first: int, out: NDArray[Any]) -> None:
    """Fill an array from a file of the same type."""
    file.seek(first * out.itemsize)
    left = memoryview(out.view(np.uint8).data)
    while len(left):
        count = file.readinto(left)
        if not count:
            raise OSError(errno.EIO, "a temporary file has become shorter")
        left = left[count:]


def blocks(count: int) -> Iterator[tuple[int, int]]:
    for first in range(0, count, BLOCK):
        yield first, min(first + BLOCK, count)
