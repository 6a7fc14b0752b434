"""Build a column store from any number of rows, in bounded memory."""

import contextlib
import errno
import hashlib
import io
import json
import os
from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso.base.wording import ParameterError
from dplasso.data.bounds import ColumnBounds
from dplasso.data.columns import MOST_ROWS
from dplasso.data.identifiers import identifier_text
from dplasso.data.merging import merged
from dplasso.data.row_chunks import RowChunk
from dplasso.kernels import transpose as kernels
from dplasso.storage.atomic import sync_directory
from dplasso.storage.column_format import (
    DIGEST,
    FORMAT,
    HEADER,
    LARGEST_INT32,
    VERSION,
    ColumnStoreError,
    sealed,
)
from dplasso.storage.column_runs import BLOCK, Runs, UnfitError, blocks, write_all
from dplasso.storage.private_files import FOLDER, new_file
from dplasso.storage.staging import check_replaceable, clear_leftovers, install, workshop

# Bytes that a build allocates: per column a pointer and a cursor; per entry in memory its column,
# row, value and place; and blocks, sums of one range of columns and small objects.
PER_COLUMN, PER_ENTRY, OVERHEAD = 12, 20, 16 << 20
FLOOR = 64 << 20  # least memory in addition to that of the columns

_Path = str | os.PathLike[str]
_Files = dict[str, dict[str, Any]]
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def build_store(
    path: _Path,
    chunks: Iterable[RowChunk],
    columns: int,
    *,
    memory: int,
    feature_names: Iterable[str] | None = None,
    classes: Sequence[str] | None = None,
    bounds: NDArray[np.float64] | None = None,
    source: dict[str, Any] | None = None,
    with_people: bool = False,
    overwrite: bool = False,
    shards: int | None = None,
) -> Path:
    """Write any number of rows to a store, in bounded memory.

    Entries are collected in memory, sorted by column and written to disk as runs; then runs are
    merged, one range of columns at a time. During a build, up to 16 bytes per entry are needed on
    disk in addition to the store. Errors count rows from 1. Whatever interrupts a build, the
    directory under this name is the old one, the new one, or absent. Its absolute path is returned.

    ``memory`` is the most bytes to allocate, not counting the chunks: at least 12 per column plus
    64 MiB. With ``classes``, labels are positions in them. ``bounds`` are public, one per column,
    if they differ: values are stretched to the largest. They take 8 more bytes per column.
    ``source`` says how the rows were read, and is stored with them. ``with_people`` stores the
    people of the chunks, as digests of their identifiers. With ``shards``, the directory holds that
    many stores with about as many rows each, which share the memory: row k is in store k modulo
    ``shards``. Processes on several machines can then read one each.
    """
    target = Path(os.path.abspath(path))
    bounds = _bounds(bounds, columns)
    stores = 1 if shards is None else shards
    room = _room(memory // stores, columns, PER_COLUMN + (0 if bounds is None else 8))
    about = (columns, room, feature_names, classes, bounds, source)
    clear_leftovers(target)
    check_replaceable(target, overwrite)
    try:
        with workshop(target) as folder:
            places = [folder] if shards is None else _parts(folder, shards)
            _build(chunks, [_built(place, *about, with_people=with_people) for place in places])
            install(folder, target, overwrite)
    except UnfitError as reason:
        raise ColumnStoreError(f"{target} was not built: {reason}") from None
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise ColumnStoreError(
            f"{target} was not built: {error.strerror}; nothing was left behind, free some space "
            "or build it elsewhere"
        ) from error
    return target


def _parts(folder: Path, shards: int) -> list[Path]:
    """New directories for stores, whose names are in order."""
    places = [folder / f"part-{k:05}" for k in range(shards)]
    for place in places:
        place.mkdir(mode=FOLDER)
    return places


def _build(
    chunks: Iterable[RowChunk], stores: Sequence[Generator[None, RowChunk | None, None]]
) -> None:
    """Deal the rows out to the stores, one by one, and complete the stores."""
    rows, count = 0, len(stores)
    with contextlib.ExitStack() as stack:
        for store in stores:
            stack.callback(store.close)
            next(store)
        for chunk in chunks:
            for k, store in enumerate(stores):
                store.send(chunk if count == 1 else _every(chunk, (k - rows) % count, count))
            rows += chunk.rows
            del chunk  # otherwise it would stay in memory until the next one is read
        for store in stores:
            with contextlib.suppress(StopIteration):
                store.send(None)


def _every(chunk: RowChunk, first: int, step: int) -> RowChunk:
    """Every ``step``-th row of a chunk."""
    lengths = np.diff(chunk.indptr)
    kept = np.zeros(chunk.rows, np.bool_)
    kept[first::step] = True
    entries = np.repeat(kept, lengths)
    indptr = np.append(0, np.cumsum(lengths[kept])).astype(np.int64)
    people = None if chunk.people is None else chunk.people[kept]
    return RowChunk(
        chunk.labels[kept], indptr, chunk.indices[entries], chunk.values[entries], people
    )


def _built(
    folder: Path,
    columns: int,
    room: int,
    names: Iterable[str] | None,
    classes: Sequence[str] | None,
    bounds: NDArray[np.float64] | None,
    source: dict[str, Any] | None,
    *,
    with_people: bool,
) -> Generator[None, RowChunk | None, None]:
    """Build a store in a directory from the chunks that are sent to it; None ends them."""
    files: _Files = {}
    stretch = ColumnBounds(1.0, None)
    if classes is not None and not all(isinstance(name, str) for name in classes):
        raise UnfitError("classes must be strings; leave them out where labels are numbers")
    if names is not None:
        _write_names(folder, files, names, columns)
    if bounds is not None:
        stretch = ColumnBounds.of(bounds, columns)
        with _Output(folder, "bounds.bin", np.float64, files) as output:
            output.write(bounds)
    with Runs(folder, columns, room) as runs:
        with contextlib.ExitStack() as stack:
            labels = stack.enter_context(_Output(folder, "labels.bin", np.float64, files))
            people = None
            if with_people:
                people = stack.enter_context(_Output(folder, "people.bin", np.uint8, files))
            rows = yield from _taken_in(columns, stretch, runs, labels, people)
        runs.finish()
        entries = int(runs.pointers[columns])
        runs.pointers[-1] = entries + rows
        _write_pointers(folder, files, runs.pointers)
        _write_columns(folder, files, runs, rows)
        content = {
            "format": FORMAT,
            "version": VERSION,
            "shape": [rows, columns],
            "entries": entries,
            "largest": runs.largest,
            "classes": None if classes is None else list(classes),
            "source": source,
            "files": files,
        }
    with _Output(folder, HEADER, np.uint8, {}) as header:
        header.write_bytes(sealed(content))
    sync_directory(str(folder))


def _taken_in(
    columns: int,
    bounds: ColumnBounds,
    runs: Runs,
    labels: "_Output",
    people: "_Output | None",
) -> Generator[None, RowChunk | None, int]:
    """Write all entries to runs; returns the number of rows."""
    rows = 0
    while (chunk := (yield)) is not None:
        if rows + chunk.rows > MOST_ROWS:
            raise UnfitError(
                f"there are more than {MOST_ROWS:,} rows; split them and fit the parts"
            )
        _check(chunk, rows, columns)
        labels.write(np.ascontiguousarray(chunk.labels, np.float64))
        if people is not None:
            people.write_bytes(_digests(chunk.people))
        chunk = _merged(chunk, columns)
        if bounds.stretch is not None:
            chunk = replace(chunk, values=bounds.stretched(chunk.values, chunk.indices))
        runs.add(chunk, rows)
        rows += chunk.rows
        del chunk
    if rows == 0:
        raise UnfitError("there are no rows; give at least one, and one for each shard")
    return rows


def _digests(people: NDArray[Any] | None) -> bytes:
    """SHA-256 of every identifier as `identifier_text` has it, and zeros where it is missing."""
    assert people is not None
    texts = [identifier_text(name) for name in people]
    return b"".join(
        hashlib.sha256(text.encode()).digest() if text else bytes(DIGEST) for text in texts
    )


def _check(chunk: RowChunk, base: int, columns: int) -> None:
    indptr, indices, values = chunk.indptr, chunk.indices, chunk.values
    sound = len(indptr) == chunk.rows + 1 and indptr[0] == 0 and kernels.ascending(indptr)
    if not sound or not len(indices) == len(values) == indptr[-1]:
        raise UnfitError(f"row pointers after row {base} do not fit their entries; mend the reader")
    labelled = np.isfinite(chunk.labels)
    if not labelled.all():
        row = base + int(labelled.argmin()) + 1
        raise UnfitError(f"row {row} has no finite label; give it one or leave it out")
    place = kernels.first_fault(indices, values, columns)
    if place < 0:
        return
    row = base + int(np.searchsorted(indptr, place, side="right"))
    if np.isfinite(values[place]):
        raise UnfitError(
            f"row {row} has a column number outside the {columns:,} columns; give more"
        )
    raise UnfitError(f"row {row} holds NaN or infinity; impute or remove that entry first")


def _merged(chunk: RowChunk, columns: int) -> RowChunk:
    """The same rows with one entry per column and no zeros, as for a matrix in memory."""
    parts = (chunk.values, chunk.indices, chunk.indptr)
    rows = merged(sp.csr_array(parts, shape=(chunk.rows, columns)), "csr")
    indptr = np.asarray(rows.indptr, np.int64)
    return replace(chunk, indptr=indptr, indices=rows.indices, values=rows.data)


def _write_pointers(folder: Path, files: _Files, pointers: NDArray[np.int64]) -> None:
    kind = np.int32 if pointers[-1] <= LARGEST_INT32 else np.int64
    with _Output(folder, "indptr.bin", kind, files) as output:
        for first, last in blocks(len(pointers)):
            output.write(pointers[first:last].astype(kind))


def _write_columns(folder: Path, files: _Files, runs: Runs, rows: int) -> None:
    """Merge the runs into the final files, one range of columns at a time; add the constant."""
    kind = np.float32 if runs.single else np.float64
    with contextlib.ExitStack() as stack:
        indices = stack.enter_context(_Output(folder, "indices.bin", np.int32, files))
        values = None
        if not runs.ones:
            values = stack.enter_context(_Output(folder, "values.bin", kind, files))
        for first, last in runs.ranges():
            for _ in runs.fills(first, last):
                runs.sort(first, last)
                for block in runs.sorted(runs.rows, np.int32):
                    indices.write(block)
                if values is not None:
                    for block in runs.sorted(runs.values, kind):
                        values.write(block)
        for start, stop in blocks(rows):
            indices.write(np.arange(start, stop, dtype=np.int32))
            if values is not None:
                values.write(np.ones(stop - start, kind))


def _write_names(folder: Path, files: _Files, names: Iterable[str], columns: int) -> None:
    """Write a JSON list in blocks, since there may be many names."""
    count, left = 0, iter(names)
    with _Output(folder, "feature_names.json", np.uint8, files) as output:
        while block := list(islice(left, BLOCK)):
            if not all(isinstance(name, str) for name in block):
                raise UnfitError("feature names must be strings; convert them first")
            text = json.dumps(block, ensure_ascii=False, separators=(",", ":"))[1:-1]
            output.write_bytes((("[" if count == 0 else ",") + text).encode())
            count += len(block)
        output.write_bytes(b"]")
    if count != columns:
        raise UnfitError("there is not one feature name per column; give as many as columns")


class _Output:
    """A new file of a store: hashed while it is written, listed once it is durable."""

    def __init__(self, folder: Path, name: str, kind: Any, files: _Files) -> None:
        self._name, self._kind, self._files = name, np.dtype(kind), files
        self._digest, self._bytes = hashlib.sha256(), 0
        self._file = io.FileIO(new_file(str(folder / name)), "wb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        with self._file:
            if error is None:
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
        write_all(self._file, data)
        self._digest.update(data)
        self._bytes += len(data)


def _bounds(bounds: NDArray[np.float64] | None, columns: int) -> NDArray[np.float64] | None:
    """The bounds, or None if they are all 1 and entries need no stretching."""
    if bounds is None:
        return None
    read = ColumnBounds.of(bounds, columns)
    return None if read.stretch is None and read.largest == 1.0 else np.asarray(bounds, np.float64)


def _room(memory: int, columns: int, per_column: int) -> int:
    """Number of entries that fit into memory."""
    if not 1 <= columns <= LARGEST_INT32:
        raise ValueError(
            f"columns must be between 1 and {LARGEST_INT32:,}, got {columns!r}; "
            "hash features into fewer"
        )
    least = per_column * columns + FLOOR
    if memory < least:
        raise ParameterError(
            "{memory} must be at least {least:,} bytes for {columns:,} columns, got {given!r}; "
            "give more, or hash features into fewer columns",
            least=least,
            columns=columns,
            given=memory,
        )
    return min((memory - per_column * columns - OVERHEAD) // PER_ENTRY, LARGEST_INT32)
