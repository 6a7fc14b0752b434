"""A column-compressed matrix with labels on disk, trained from without loading it.

A store is a directory of raw little-endian arrays and a header, ``store.json``, with their sizes
and digests:

    indptr.bin          where columns start, int32 where it fits, else int64; columns + 2 numbers
    indices.bin         rows of the entries, int32; in order within a column
    values.bin          float32 where every value survives, else float64; absent if all are 1
    sums.bin            sums of sizes of the entries of every column, float64; only with values
    labels.bin          one float64 a row: numbers, or positions in the header's ``classes``
    feature_names.json  a list of strings, where there are names

After the columns of the data comes one more, of ones: an intercept's column is at hand, where
adding it later would copy all the others. A store is as private as the data it holds.
"""

import contextlib
import errno
import fcntl
import hashlib
import io
import json
import mmap
import os
import re
import secrets
import shutil
import sys
import tempfile
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dplasso import threads
from dplasso.data.columns import MOST_ROWS, ColumnMatrix, bound_as, norms_of, positive_bound
from dplasso.kernels import columns as column_kernels
from dplasso.kernels import transpose as kernels
from dplasso.reading.chunks import RowChunk
from dplasso.storage.atomic import sync_directory

FORMAT, VERSION = "dplasso-columns", 1
LARGEST_INT32 = (1 << 31) - 1

# What a build allocates: per column a pointer and a cursor; per entry in memory its column, row,
# value and place; blocks, sums of one range of columns and small things.
PER_COLUMN, PER_ENTRY, OVERHEAD = 12, 20, 16 << 20
FLOOR = 64 << 20  # the least besides what columns take
BLOCK = 1 << 17  # entries written at a time
WIDEST = 1 << 18  # columns in a range

Progress = Callable[[str, int, int | None], None]  # stage, how much is done, of how much
_Path = str | os.PathLike[str]
_Files = dict[str, dict[str, Any]]

_HEADER = "store.json"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)


class ColumnStoreError(ValueError):
    """A directory that is no sound column store, or data that cannot be kept in one."""


class _UnfitError(ValueError):
    """Why a store cannot be built; the caller knows its name."""


def build_store(
    path: _Path,
    chunks: Iterable[RowChunk],
    columns: int,
    *,
    memory: int,
    progress: Progress | None = None,
    feature_names: Iterable[str] | None = None,
    classes: Sequence[str] | None = None,
    overwrite: bool = False,
) -> Path:
    """Turn rows, of any amount, into a store, in bounded memory; returns its absolute path.

    ``memory`` is in bytes and holds all that is allocated here, not the chunks; it must be at least
    12 bytes per column and 64 MiB. On disk, beside the store, a build takes up to 16 bytes per
    entry more for its time. Entries are gathered in memory, sorted by column and set aside as runs;
    then runs are merged, a range of columns at a time. Rows are counted from 1 in errors.

    Whatever interrupts it, the directory under this name is the old one, the new one, or absent.
    """
    target = Path(os.path.abspath(path))
    room = _room(memory, columns)
    _clear_leftovers(target)
    _check_replaceable(target, overwrite)
    try:
        with _workshop(target) as folder:
            _build(folder, chunks, columns, room, progress, feature_names, classes)
            _install(folder, target, overwrite)
    except _UnfitError as reason:
        raise ColumnStoreError(f"{target} was not built: {reason}") from None
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise ColumnStoreError(
            f"{target} was not built: {error.strerror}; nothing was left behind, free some space "
            "or build it elsewhere"
        ) from error
    return target


def open_store(
    path: _Path, *, verify: bool = False, progress: Progress | None = None
) -> "ColumnStore":
    """A store made by `build_store`. Sizes of files are checked, content only with ``verify``.

    What is promised for a fit rests on the content, as it does for a matrix in memory: verify a
    store that others could have written to.
    """
    folder = Path(os.path.abspath(path))
    header = _read_header(folder)
    for name, file in header["files"].items():
        if not (folder / name).is_file() or (folder / name).stat().st_size != file["bytes"]:
            raise _damaged(folder, f"{name} is missing or has another size")
    store = ColumnStore(folder, tuple(header["shape"]), header["entries"], header)
    store._check_pointers()
    if verify:
        store.verify(progress)
    return store


@dataclass(frozen=True)
class ColumnStore:
    """An open store. Its arrays are maps of the files: read when touched, never written back."""

    path: Path
    shape: tuple[int, int]
    entries: int
    header: dict[str, Any]

    @property
    def classes(self) -> list[str] | None:
        """What the labels are positions in; None where they are numbers."""
        found: list[str] | None = self.header["classes"]
        return found

    @cached_property
    def feature_names(self) -> list[str] | None:
        """Names of the columns, where there are any."""
        if "feature_names.json" not in self.header["files"]:
            return None
        names: list[str] = json.loads((self.path / "feature_names.json").read_bytes())
        return names

    @cached_property
    def labels(self) -> NDArray[np.float64]:
        """One number a row."""
        labels: NDArray[np.float64] = self._map("labels.bin")
        return labels

    def matrix(self, x_bound: float = 1.0) -> ColumnMatrix:
        """The matrix, clipped to ``x_bound``: the same as from memory, and so are its fits.

        Nothing is loaded where no entry is larger than ``x_bound``; else pages with entries to clip
        are copied to memory. With a bound other than 1, the intercept's column is filled with it:
        one value a row. Entries that are all 1 have no values on disk, and get some in memory for a
        bound below 1, or one above it and an intercept: declare 1 for such data.
        """
        x_bound = positive_bound(x_bound)
        indptr, indices = self._map("indptr.bin"), self._map("indices.bin")
        if "values.bin" in self.header["files"]:
            values = self._map("values.bin")
            norm1 = self._clip(indptr, values, x_bound)
            return self._with_constant_at_hand(indptr, indices, values, norm1, x_bound)
        if x_bound == 1.0:
            return self._with_constant_at_hand(indptr, indices, None, None, x_bound)
        indptr, indices = indptr[:-1], indices[: self.entries]
        if x_bound > 1.0:
            return ColumnMatrix(indptr, indices, None, None, self.shape, x_bound)
        values = np.full(self.entries, bound_as(np.float32, x_bound))
        norm1 = norms_of(indptr, values, x_bound)
        return ColumnMatrix(indptr, indices, values, norm1, self.shape, x_bound)

    def verify(self, progress: Progress | None = None) -> None:
        """Read everything: digests must fit, rows be in order, values finite and not larger than
        the header says. Where the store came from is not verified."""
        files = self.header["files"]
        total, done = sum(file["bytes"] for file in files.values()), 0
        for name, file in files.items():
            digest = hashlib.sha256()
            with open(self.path / name, "rb", buffering=0) as opened:
                while block := opened.read(1 << 20):
                    digest.update(block)
                    done += len(block)
                    if progress is not None:
                        progress("verify", done, total)
            if digest.hexdigest() != file["sha256"]:
                raise _damaged(self.path, f"the digest of {name} does not fit")
        self._inspect()

    def _inspect(self) -> None:
        indptr, indices = self._map("indptr.bin"), self._map("indices.bin")
        values = self._map("values.bin") if "values.bin" in self.header["files"] else None
        largest = max(self.header["largest"], 1.0)
        runs = threads.balanced_runs(indptr, threads.available())
        calls = [(indptr, indices, values, self.shape[0], largest, *run) for run in runs]
        bad = (
            column_kernels.NOT_FINITE
            | column_kernels.OUT_OF_BOUND
            | column_kernels.UNORDERED
            | column_kernels.BAD_ROW
        )
        if any(found & bad for found in threads.run(column_kernels.inspect, calls)):
            raise _damaged(self.path, "entries are not in order or not in range")

    def _clip(
        self, indptr: NDArray[Any], values: NDArray[Any], x_bound: float
    ) -> NDArray[np.float32]:
        """Clip values and fill the constant column, in private pages; returns the norms."""
        columns, limit = self.shape[1], bound_as(values.dtype, x_bound)
        if x_bound != 1.0:
            values[self.entries :] = limit
        if self.header["largest"] > x_bound:
            kernels.clip(values[: self.entries], limit)
            return norms_of(indptr, values, x_bound)
        # The rule for norms, applied to columns of one entry each: their sums.
        sums, norm1 = self._map("sums.bin"), np.empty(columns + 1, np.float32)
        steps = np.arange(min(BLOCK, columns) + 1, dtype=np.int32)
        for first, last in _blocks(columns):
            part = slice(first, last)
            column_kernels.norms1(steps, sums[part], x_bound, 0, last - first, norm1[part])
        column_kernels.norms1(indptr, values, x_bound, columns, columns + 1, norm1)
        return norm1

    def _with_constant_at_hand(
        self, indptr: Any, indices: Any, values: Any, norm1: Any, x_bound: float
    ) -> ColumnMatrix:
        """The columns of the data, from arrays that hold the constant one too."""
        rows, columns = self.shape
        return ColumnMatrix(
            indptr[:-1],
            indices[: self.entries],
            None if values is None else values[: self.entries],
            None if norm1 is None else norm1[:-1],
            self.shape,
            x_bound,
            ColumnMatrix(indptr, indices, values, norm1, (rows, columns + 1), x_bound),
        )

    def _map(self, name: str) -> Any:
        """A file as an array. Pages are private copies once written to, so that compiled loops see
        ordinary arrays; no memory is reserved for that, or maps could not exceed what there is."""
        file = self.header["files"][name]
        with open(self.path / name, "rb") as opened:
            flags = mmap.MAP_PRIVATE | _NO_RESERVE
            protection = mmap.PROT_READ | mmap.PROT_WRITE
            mapped = mmap.mmap(opened.fileno(), file["bytes"], flags=flags, prot=protection)
        return np.frombuffer(mapped, np.dtype(file["dtype"]))

    def _check_pointers(self) -> None:
        """Loops trust the pointers: wrong ones would lead outside the files."""
        indptr, (rows, columns) = self._map("indptr.bin"), self.shape
        ends = indptr[0] == 0 and indptr[-2] == self.entries and indptr[-1] == self.entries + rows
        if len(indptr) != columns + 2 or not ends or not kernels.ascending(indptr):
            raise _damaged(self.path, "indptr.bin does not fit the entries")


def _build(
    folder: Path,
    chunks: Iterable[RowChunk],
    columns: int,
    room: int,
    progress: Progress | None,
    feature_names: Iterable[str] | None,
    classes: Sequence[str] | None,
) -> None:
    files: _Files = {}
    if classes is not None and not all(isinstance(name, str) for name in classes):
        raise _UnfitError("classes must be strings; leave them out where labels are numbers")
    if feature_names is not None:
        _write_names(folder, files, feature_names, columns)
    with _Runs(folder, columns, room) as runs:
        with _Output(folder, "labels.bin", np.float64, files) as labels:
            rows = _take_in(chunks, columns, runs, labels, progress)
        runs.finish()
        entries = int(runs.pointers[columns])
        runs.pointers[-1] = entries + rows
        _write_pointers(folder, files, runs.pointers)
        _write_columns(folder, files, runs, rows, progress)
        content = {
            "format": FORMAT,
            "version": VERSION,
            "shape": [rows, columns],
            "entries": entries,
            "largest": runs.largest,
            "classes": None if classes is None else list(classes),
            "files": files,
        }
    with _Output(folder, _HEADER, np.uint8, {}) as header:
        header.write_bytes(_sealed(content))
    sync_directory(str(folder))


def _take_in(
    chunks: Iterable[RowChunk],
    columns: int,
    runs: "_Runs",
    labels: "_Output",
    progress: Progress | None,
) -> int:
    """Set all entries aside in runs; returns the number of rows."""
    rows = entries = 0
    for chunk in chunks:
        if rows + chunk.rows > MOST_ROWS:
            raise _UnfitError(
                f"there are more than {MOST_ROWS:,} rows; split them and fit the parts"
            )
        _check(chunk, rows, columns)
        labels.write(np.ascontiguousarray(chunk.labels, np.float64))
        runs.add(chunk, rows)
        rows, entries = rows + chunk.rows, entries + chunk.entries
        if progress is not None:
            progress("read", entries, None)
    if rows == 0:
        raise _UnfitError("there are no rows; give at least one")
    return rows


def _check(chunk: RowChunk, base: int, columns: int) -> None:
    indptr, indices, values = chunk.indptr, chunk.indices, chunk.values
    sound = len(indptr) == chunk.rows + 1 and indptr[0] == 0 and kernels.ascending(indptr)
    if not sound or not len(indices) == len(values) == indptr[-1]:
        raise _UnfitError(
            f"row pointers after row {base} do not fit their entries; mend the reader"
        )
    labelled = np.isfinite(chunk.labels)
    if not labelled.all():
        row = base + int(labelled.argmin()) + 1
        raise _UnfitError(f"row {row} has no finite label; give it one or leave it out")
    place = kernels.first_fault(indices, values, columns)
    if place < 0:
        return
    row = base + int(np.searchsorted(indptr, place, side="right"))
    if np.isfinite(values[place]):
        raise _UnfitError(
            f"row {row} has a column number outside the {columns:,} columns; give more"
        )
    raise _UnfitError(f"row {row} holds NaN or infinity; impute or remove that entry first")


def _write_pointers(folder: Path, files: _Files, pointers: NDArray[np.int64]) -> None:
    kind = np.int32 if pointers[-1] <= LARGEST_INT32 else np.int64
    with _Output(folder, "indptr.bin", kind, files) as output:
        for first, last in _blocks(len(pointers)):
            output.write(pointers[first:last].astype(kind))


def _write_columns(
    folder: Path, files: _Files, runs: "_Runs", rows: int, progress: Progress | None
) -> None:
    """Merge the runs into the final files, a range of columns at a time; then the constant."""
    kind = np.float32 if runs.single else np.float64
    with contextlib.ExitStack() as stack:
        indices = stack.enter_context(_Output(folder, "indices.bin", np.int32, files))
        values = sums = None
        if not runs.ones:
            values = stack.enter_context(_Output(folder, "values.bin", kind, files))
            sums = stack.enter_context(_Output(folder, "sums.bin", np.float64, files))
        for first, last in runs.ranges():
            sizes = np.zeros(last - first)
            for _ in runs.fills(first, last):
                runs.sort(first, last)
                for block in runs.sorted(runs.rows, np.int32):
                    indices.write(block)
                if values is not None:
                    runs.add_sizes(sizes)
                    for block in runs.sorted(runs.values, kind):
                        values.write(block)
            if sums is not None:
                sums.write(sizes)
            if progress is not None:
                progress("sort", int(runs.pointers[last]), int(runs.pointers[-2]))
        for start, stop in _blocks(rows):
            indices.write(np.arange(start, stop, dtype=np.int32))
            if values is not None:
                values.write(np.ones(stop - start, kind))
        if sums is not None:
            sums.write(np.full(1, float(rows)))


def _write_names(folder: Path, files: _Files, names: Iterable[str], columns: int) -> None:
    """A JSON list, written in blocks: there may be many names."""
    count, left = 0, iter(names)
    with _Output(folder, "feature_names.json", np.uint8, files) as output:
        while block := list(islice(left, BLOCK)):
            if not all(isinstance(name, str) for name in block):
                raise _UnfitError("feature names must be strings; convert them first")
            text = json.dumps(block, ensure_ascii=False, separators=(",", ":"))[1:-1]
            output.write_bytes((("[" if count == 0 else ",") + text).encode())
            count += len(block)
        output.write_bytes(b"]")
    if count != columns:
        raise _UnfitError("there is not one feature name per column; give as many as columns")


@dataclass
class _Run:
    """Entries of one filling of memory, sorted by column."""

    at: int  # what is before it has been merged
    end: int
    gap: int | None  # how many places earlier its values stand in their file; None if all are 1


class _Runs:
    """Memory for so many entries, and files where it is emptied to when full."""

    def __init__(self, folder: Path, columns: int, room: int) -> None:
        self.room, self.filled = room, 0
        self.columns = np.empty(room, np.int32)
        self.rows = np.empty(room, np.int32)
        self.values = np.empty(room, np.float64)
        self.order = np.empty(room, np.int32)
        self.ends = np.empty(columns, np.int32)
        self.pointers = np.zeros(columns + 2, np.int64)  # lengths of columns at first
        self.ones = self.single = True
        self.largest = 0.0
        self.before = (-1, -1)  # column and row of the entry sorted last
        self._runs: list[_Run] = []
        self._gap, self._ones = 0, True
        # Files without a name: they are gone with the process.
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
        """Take in the entries of rows that are counted from ``base``."""
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
        """No more entries come: set the last aside, and turn lengths into pointers."""
        self._set_aside()
        self.before = (-1, -1)
        kernels.accumulate(self.pointers[1:-1])

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Split the columns so that a range's entries fit in memory, or it is one long column."""
        first, columns = 0, len(self.ends)
        while first < columns:
            most = self.pointers[first] + self.room
            fitting = int(np.searchsorted(self.pointers[:-1], most, side="right")) - 1
            last = min(max(fitting, first + 1), first + WIDEST, columns)
            yield first, last
            first = last

    def fills(self, first: int, last: int) -> Iterator[None]:
        """Fill memory with the entries of a range; several times for a long column.

        Runs hold rows in order, one after the other: so do the fillings of a long column.
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
        """Order the entries in memory, which are of columns ``first`` to ``last``."""
        if self.filled == 0:
            self.ends[: last - first] = 0
            return
        columns, order = self.columns[: self.filled], self.order[: self.filled]
        kernels.sort_by_column(columns, first, self.ends[: last - first], order)
        row = kernels.first_repeat(columns, self.rows, order, *self.before)
        if row >= 0:
            raise _UnfitError(f"row {row + 1} has a column twice; merge its entries first")
        self.before = (int(columns[order[-1]]), int(self.rows[order[-1]]))

    def sorted(self, field: NDArray[Any], kind: Any) -> Iterator[NDArray[Any]]:
        """A field of the entries in memory in their order, block by block."""
        block = np.empty(min(BLOCK, self.filled), kind)
        for first, last in _blocks(self.filled):
            kernels.gather(field, self.order[first:last], block[: last - first])
            yield block[: last - first]

    def add_sizes(self, sums: NDArray[np.float64]) -> None:
        """Add the sizes of the entries in memory to the sums of their columns."""
        kernels.add_sizes(self.values, self.order, self.ends[: len(sums)], sums)

    def _set_aside(self) -> None:
        self.sort(0, len(self.ends))
        start = self._runs[-1].end if self._runs else 0
        for block in self.sorted(self.columns, np.int32):
            _write_all(self._column_file, block)
        for block in self.sorted(self.rows, np.int32):
            _write_all(self._row_file, block)
        if self._ones:
            self._gap += self.filled
        else:
            for block in self.sorted(self.values, np.float64):
                _write_all(self._value_file, block)
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


class _Output:
    """A new file of a store: hashed while it is written, listed once it is safe on the disk."""

    def __init__(self, folder: Path, name: str, kind: Any, files: _Files) -> None:
        self._name, self._kind, self._files = name, np.dtype(kind), files
        self._digest, self._bytes = hashlib.sha256(), 0
        self._file = io.FileIO(folder / name, "xb")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: object, __: TracebackType | None
    ) -> None:
        with self._file:
            if kind is None:
                os.fsync(self._file.fileno())
                self._files[self._name] = {
                    "dtype": self._kind.str,
                    "bytes": self._bytes,
                    "sha256": self._digest.hexdigest(),
                }

    def write(self, array: NDArray[Any]) -> None:
        """Append an array of the file's type."""
        assert array.dtype == self._kind
        self.write_bytes(array.view(np.uint8).data)

    def write_bytes(self, data: Any) -> None:
        """Append bytes."""
        _write_all(self._file, data)
        self._digest.update(data)
        self._bytes += len(data)


def _write_all(file: Any, data: Any) -> None:
    """Files are not buffered, so that a full disk shows here and not on closing; they may take
    less than they are given."""
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


def _blocks(count: int) -> Iterator[tuple[int, int]]:
    for first in range(0, count, BLOCK):
        yield first, min(first + BLOCK, count)


def _room(memory: int, columns: int) -> int:
    """How many entries there is memory for."""
    if not 1 <= columns <= LARGEST_INT32:
        raise ValueError(
            f"columns must be between 1 and {LARGEST_INT32:,}, got {columns!r}; "
            "hash features into fewer"
        )
    least = PER_COLUMN * columns + FLOOR
    if memory < least:
        raise ValueError(
            f"memory must be at least {least:,} bytes for {columns:,} columns, got {memory!r}; "
            "give more, or hash features into fewer columns"
        )
    return min((memory - PER_COLUMN * columns - OVERHEAD) // PER_ENTRY, LARGEST_INT32)


@contextlib.contextmanager
def _workshop(target: Path) -> Iterator[Path]:
    """A temporary directory beside the target, locked as long as its process lives, and removed."""
    folder = _beside(target, "tmp")
    folder.mkdir()
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield folder
    finally:
        os.close(lock)
        shutil.rmtree(folder, ignore_errors=True)


def _beside(target: Path, what: str) -> Path:
    return target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(8)}.{what}")


def _clear_leftovers(target: Path) -> None:
    """Remove what killed builds of this target left; put back what they had moved away.

    Locks end with their process; its number alone may long be another's.
    """
    ours = re.compile(re.escape(f".{target.name}.") + r"[0-9]+-[0-9a-f]{16}\.(tmp|old)")
    for left in target.parent.iterdir():
        found = ours.fullmatch(left.name)
        if found is None or not _abandoned(left):
            continue
        if found[1] == "old" and not os.path.lexists(target):
            os.rename(left, target)
        else:
            shutil.rmtree(left, ignore_errors=True)


def _abandoned(folder: Path) -> bool:
    try:
        lock = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True


def _check_replaceable(target: Path, overwrite: bool) -> None:
    if not os.path.lexists(target):
        return
    if not overwrite:
        raise ColumnStoreError(f"{target} exists; choose another name, or overwrite it")
    if target.is_symlink() or not (target / _HEADER).is_file():
        raise ColumnStoreError(f"{target} is no column store; choose another name")


def _install(folder: Path, target: Path, overwrite: bool) -> None:
    """Give the finished directory its name; an old one is deleted only after that."""
    _check_replaceable(target, overwrite)
    old = _beside(target, "old")
    try:
        if os.path.lexists(target):
            os.rename(target, old)
        os.rename(folder, target)
    except BaseException:
        if old.exists() and not os.path.lexists(target):
            os.rename(old, target)
        raise
    sync_directory(str(target.parent))
    shutil.rmtree(old, ignore_errors=True)


def _sealed(content: dict[str, Any]) -> bytes:
    """The header with a digest of itself."""
    digest = hashlib.sha256(_json(content)).hexdigest()
    return json.dumps({**content, "sha256": digest}, indent=2, ensure_ascii=False).encode()


def _json(content: dict[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True, ensure_ascii=False).encode()


def _read_header(folder: Path) -> dict[str, Any]:
    if not (folder / _HEADER).is_file():
        raise FileNotFoundError(f"{folder} is no column store: it has no {_HEADER}")
    try:
        header: dict[str, Any] = json.loads((folder / _HEADER).read_bytes())
        kind, version = header.get("format"), header.get("version")
        digest = header.pop("sha256", None)
    except (ValueError, AttributeError, RecursionError):
        raise _damaged(folder, f"{_HEADER} is no JSON object") from None
    if kind != FORMAT:
        raise ColumnStoreError(f"{folder} is no column store; give a directory made by build_store")
    if isinstance(version, int) and version > VERSION:
        raise ColumnStoreError(f"{folder} was written by a newer dplasso; upgrade dplasso")
    if hashlib.sha256(_json(header)).hexdigest() != digest:
        raise _damaged(folder, f"the digest of {_HEADER} does not fit")
    if not _consistent(header):
        raise _damaged(folder, f"{_HEADER} contradicts itself")
    return header


def _consistent(header: dict[str, Any]) -> bool:
    """Whether files have the types and sizes that the shape asks for: whoever writes a header can
    compute its digest."""
    try:
        (rows, columns), entries, files = header["shape"], header["entries"], header["files"]
        wanted = {
            "indptr.bin": (columns + 2, ("<i4", "<i8")),
            "indices.bin": (entries + rows, ("<i4",)),
            "labels.bin": (rows, ("<f8",)),
        }
        if "values.bin" in files:
            wanted["values.bin"] = (entries + rows, ("<f4", "<f8"))
            wanted["sums.bin"] = (columns + 1, ("<f8",))
        return (
            all(type(number) is int for number in (rows, columns, entries))
            and 1 <= rows <= MOST_ROWS
            and 1 <= columns <= LARGEST_INT32
            and entries >= 0
            and isinstance(header["largest"], float)
            and "classes" in header
            and set(files) - {"feature_names.json"} == set(wanted)
            and all(
                files[name]["dtype"] in kinds
                and files[name]["bytes"] == count * np.dtype(files[name]["dtype"]).itemsize
                for name, (count, kinds) in wanted.items()
            )
        )
    except (KeyError, TypeError, ValueError):
        return False


def _damaged(folder: Path, why: str) -> ColumnStoreError:
    return ColumnStoreError(
        f"{folder} is incomplete or altered: {why}; build it again or take it from a backup"
    )
