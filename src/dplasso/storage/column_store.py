"""A column-compressed matrix with labels on disk, trained from without loading it.

A store is a directory of raw little-endian arrays and a header, ``store.json``, with their sizes
and digests:

    indptr.bin          where columns start, int32 where it fits, else int64; columns + 2 numbers
    indices.bin         rows of the entries, int32; in order within a column
    values.bin          float32 where every value survives, else float64; absent if all are 1
    labels.bin          one float64 per row: a number, or a position in the header's ``classes``
    bounds.bin          public bounds, float64, only if each column has its own: values are then
                        stretched to the largest of them (`ColumnBounds`)
    people.bin          SHA-256 of the identifier of each row's person, zeros where it is missing;
                        only if a column says whose rows they are
    feature_names.json  a list of strings, if there are names

After the columns of the data comes one more, of ones, for an intercept: adding it later would copy
all the others. A store is as private as the data it holds.
"""

import hashlib
import json
import math
import mmap
import os
import sys
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.base import threads
from dplasso.data.bounds import ColumnBounds
from dplasso.data.clip_limit import clip_limit, held_single
from dplasso.data.columns import ColumnMatrix, positive_bound
from dplasso.kernels import columns as column_kernels
from dplasso.kernels import transpose as kernels
from dplasso.storage.column_format import DIGEST, damaged, read_header

_Path = str | os.PathLike[str]
_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)


def open_store(path: _Path, *, verify: bool = False) -> "ColumnStore":
    """Open a store made by `build_store`.

    File sizes are checked here. `ColumnStore.matrix` checks every entry in one pass before anything
    is computed from it, so that no file content makes code read beyond the files. Only ``verify``
    reads all files and checks that the entries are those that were written. A file that changes
    while it is in use is not detected.
    """
    folder = Path(os.path.abspath(path))
    header = read_header(folder)
    for name, file in header["files"].items():
        if not (folder / name).is_file() or (folder / name).stat().st_size != file["bytes"]:
            raise damaged(folder, f"{name} is missing or has another size")
    store = ColumnStore(folder, tuple(header["shape"]), header["entries"], header)
    store.checked_pointers()
    if verify:
        store.verify()
    return store


@dataclass(frozen=True)
class ColumnStore:
    """An open store. Its arrays are memory maps of the files, which are never written to."""

    path: Path
    shape: tuple[int, int]  # rows and columns
    entries: int  # number of stored ones
    header: dict[str, Any]

    @property
    def classes(self) -> list[str] | None:
        """The classes that labels are positions in; None if labels are numbers."""
        found: list[str] | None = self.header["classes"]
        return found

    @cached_property
    def feature_names(self) -> list[str] | None:
        """Names of the columns, if there are any."""
        if "feature_names.json" not in self.header["files"]:
            return None
        try:
            names: list[str] = json.loads((self.path / "feature_names.json").read_bytes())
            for name in names:
                name.encode()  # a lone surrogate, which JSON allows, could not be saved again
        except (AttributeError, TypeError, ValueError, RecursionError):
            names = []
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            names = []
        if len(names) != self.shape[1]:
            raise damaged(self.path, "feature_names.json has not one name for every column")
        return names

    @property
    def source(self) -> dict[str, Any] | None:
        """A description of how the rows were read, as given to `build_store`."""
        found: dict[str, Any] | None = self.header.get("source")
        return found

    @cached_property
    def bounds(self) -> NDArray[np.float64] | None:
        """Public bounds of the columns, if each has its own."""
        if "bounds.bin" not in self.header["files"]:
            return None
        bounds: NDArray[np.float64] = self._map("bounds.bin")
        if not np.all((bounds > 0.0) & (bounds < np.inf)) or bounds.max() / bounds.min() > 1e30:
            raise damaged(self.path, "bounds.bin has others than positive bounds")
        return bounds

    @cached_property
    def labels(self) -> NDArray[np.float64]:
        """One number per row."""
        labels: NDArray[np.float64] = self._map("labels.bin")
        known = np.isfinite(labels)
        if self.classes is not None:
            known &= (labels >= 0.0) & (labels < len(self.classes)) & (labels == np.floor(labels))
        if not known.all():
            raise damaged(self.path, "labels.bin has labels that are none of its classes")
        return labels

    @cached_property
    def people(self) -> NDArray[Any] | None:
        """Digests of the people's identifiers, in hexadecimal; None where they are missing."""
        if "people.bin" not in self.header["files"]:
            return None
        held = self._map("people.bin").tobytes()
        digests = [held[at : at + DIGEST] for at in range(0, len(held), DIGEST)]
        return np.array([one.hex() if any(one) else None for one in digests], dtype=object)

    def matrix(self, x_bound: float | None = 1.0) -> ColumnMatrix:
        """The matrix, clipped to ``x_bound``; it and its fits are the same as from memory.

        All entries are read once, to check them. Pages with entries to clip are copied to memory,
        and all values if the bound is outside the range of single precision. With a bound other
        than 1, the intercept's column is filled with it, one value per row. Entries that are all 1
        have no values on disk, and get some in memory for a bound below 1, or for a bound above 1
        with an intercept: declare 1 for such data. If columns have their own bounds, those are used
        instead of ``x_bound``. None clips nothing: the bound is then the largest entry, or 1.
        """
        if self.bounds is None:
            return self._clipped(None if x_bound is None else positive_bound(x_bound), None)
        bounds = ColumnBounds.of(self.bounds, self.shape[1])
        return self._clipped(bounds.largest, bounds.stretch)

    def _clipped(self, x_bound: float | None, stretch: NDArray[np.float64] | None) -> ColumnMatrix:
        limit = math.inf if x_bound is None else clip_limit(x_bound)
        (indptr, indices, values), found = self._checked_entries(limit)
        if x_bound is None:
            largest = 1.0 if values is None else kernels.survey(values[: self.entries])[2]
            x_bound = max(1.0, float(largest))
        has_constant = values is not None or x_bound == 1.0
        if values is not None:
            exceeded = bool(found & column_kernels.OUT_OF_BOUND)
            values = self._clipped_values(values, x_bound, exceeded)
        elif x_bound < 1.0:
            kind = np.float32 if held_single(x_bound) else np.float64
            values = np.full(self.entries, clip_limit(x_bound), kind)
        extended = None
        if has_constant:
            shape = (self.shape[0], self.shape[1] + 1)
            extended = ColumnMatrix(indptr, indices, values, shape, x_bound, trusted=True)
        return ColumnMatrix(
            indptr[:-1],
            indices[: self.entries],
            None if values is None else values[: self.entries],
            self.shape,
            x_bound,
            extended,
            stretch,
            trusted=True,
        )

    def _clipped_values(self, values: NDArray[Any], x_bound: float, exceeded: bool) -> NDArray[Any]:
        """Clipped values and the constant column, in private pages.

        ``exceeded`` says whether there is an entry to clip.
        """
        limit = clip_limit(x_bound)
        if not held_single(x_bound):
            values = values.astype(np.float64, copy=False)
        if exceeded:
            kernels.clip(values[: self.entries], limit)
        constant = values[self.entries :]
        if not np.all(constant == limit):
            constant[:] = limit
        return values

    def verify(self) -> None:
        """Read everything and check digests, the order of rows, and the range of values.

        The origin of the store is not verified.
        """
        for name, file in self.header["files"].items():
            with open(self.path / name, "rb") as opened:
                digest = hashlib.file_digest(opened, "sha256").hexdigest()
            if digest != file["sha256"]:
                raise damaged(self.path, f"the digest of {name} does not fit")
        _, found = self._checked_entries(max(self.header["largest"], 1.0))
        if found & column_kernels.OUT_OF_BOUND:
            raise damaged(self.path, "entries are larger than the header says")

    def _checked_entries(self, bound: float) -> tuple[tuple[Any, Any, Any], int]:
        """Pointers, rows and values of the entries, and the bits that `inspect` found.

        Entries that are not in order, in range and finite are rejected, in one pass.
        """
        indptr, indices = self.checked_pointers(), self._map("indices.bin")
        values = self._map("values.bin") if "values.bin" in self.header["files"] else None
        runs = threads.balanced_runs(indptr, threads.available())
        calls = [(indptr, indices, values, self.shape[0], bound, *run) for run in runs]
        found = reduce(or_, threads.run(column_kernels.inspect, calls))
        bad = column_kernels.NOT_FINITE | column_kernels.UNORDERED | column_kernels.BAD_ROW
        if found & bad or not (values is None or np.all(values[self.entries :] == 1.0)):
            raise damaged(self.path, "entries are not in order, not in range or not finite")
        return (indptr, indices, values), found

    def _map(self, name: str) -> Any:
        """A file as an array.

        Pages become private copies once written to, so that compiled loops see ordinary arrays. No
        memory is reserved for that, so that maps may be larger than memory.
        """
        file = self.header["files"][name]
        with open(self.path / name, "rb") as opened:
            flags = mmap.MAP_PRIVATE | _NO_RESERVE
            protection = mmap.PROT_READ | mmap.PROT_WRITE
            mapped = mmap.mmap(opened.fileno(), file["bytes"], flags=flags, prot=protection)
        return np.frombuffer(mapped, np.dtype(file["dtype"]))

    def checked_pointers(self) -> NDArray[Any]:
        """Where columns start; wrong pointers are rejected, since compiled loops trust them."""
        indptr: NDArray[Any] = self._map("indptr.bin")
        rows, columns = self.shape
        ends = indptr[0] == 0 and indptr[-2] == self.entries and indptr[-1] == self.entries + rows
        if len(indptr) != columns + 2 or not ends or not kernels.ascending(indptr):
            raise damaged(self.path, "indptr.bin does not fit the entries")
        return indptr
