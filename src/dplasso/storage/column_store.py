"""A column-compressed matrix with labels on disk, trained from without loading it.

A store is a directory of raw little-endian arrays and a header, ``store.json``, with their sizes
and digests:

    indptr.bin          where columns start, int32 where it fits, else int64; columns + 2 numbers
    indices.bin         rows of the entries, int32; in order within a column
    values.bin          float32 where every value survives, else float64; absent if all are 1
    sums.bin            sums of sizes of the entries of every column, float64; only with values
    labels.bin          one float64 a row: numbers, or positions in the header's ``classes``
    bounds.bin          public bounds of the columns, float64; only where they have one each: values
                        are then stretched to the largest of them (`ColumnBounds`)
    feature_names.json  a list of strings, where there are names

After the columns of the data comes one more, of ones: an intercept's column is at hand, where
adding it later would copy all the others. A store is as private as the data it holds.
"""

import hashlib
import json
import mmap
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso import threads
from dplasso.data.bounds import ColumnBounds
from dplasso.data.columns import ColumnMatrix, bound_as, norms_of, positive_bound
from dplasso.kernels import columns as column_kernels
from dplasso.kernels import transpose as kernels
from dplasso.storage.column_format import damaged, read_header
from dplasso.storage.column_runs import BLOCK, blocks

Progress = Callable[[str, int, int | None], None]  # stage, how much is done, of how much
_Path = str | os.PathLike[str]
_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)


def open_store(
    path: _Path, *, verify: bool = False, progress: Progress | None = None
) -> "ColumnStore":
    """A store made by `build_store`. Sizes of files are checked, content only with ``verify``.

    What is promised for a fit rests on the content, as it does for a matrix in memory: verify a
    store that others could have written to.
    """
    folder = Path(os.path.abspath(path))
    header = read_header(folder)
    for name, file in header["files"].items():
        if not (folder / name).is_file() or (folder / name).stat().st_size != file["bytes"]:
            raise damaged(folder, f"{name} is missing or has another size")
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

    @property
    def source(self) -> dict[str, Any] | None:
        """How the rows were read, as whoever built the store noted it."""
        found: dict[str, Any] | None = self.header.get("source")
        return found

    @cached_property
    def bounds(self) -> NDArray[np.float64] | None:
        """Public bounds of the columns, where they have one each."""
        if "bounds.bin" not in self.header["files"]:
            return None
        bounds: NDArray[np.float64] = self._map("bounds.bin")
        return bounds

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
        bound below 1, or one above it and an intercept: declare 1 for such data. Where columns have
        bounds of their own, those hold, and ``x_bound`` is not used.
        """
        if self.bounds is None:
            return self._clipped(positive_bound(x_bound))
        bounds = ColumnBounds.of(self.bounds, self.shape[1])
        return replace(self._clipped(bounds.largest), stretch=bounds.stretch)

    def _clipped(self, x_bound: float) -> ColumnMatrix:
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
                raise damaged(self.path, f"the digest of {name} does not fit")
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
            raise damaged(self.path, "entries are not in order or not in range")

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
        for first, last in blocks(columns):
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
            raise damaged(self.path, "indptr.bin does not fit the entries")
