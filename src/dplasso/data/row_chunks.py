"""Runs of rows, and the matrix of all of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso.base import memory
from dplasso.base.wording import ParameterError

# Arrays of this size are allocated by the system directly: pages take memory only once they are
# written to, and the array grows without a copy.
_FIRST_BYTES = 1 << 25


@dataclass(frozen=True)
class RowChunk:
    """A run of rows, row-compressed: row k has the entries ``indptr[k]`` to ``indptr[k + 1]``.

    ``people`` are the identifiers of the people whose rows they are, if these are known.
    """

    labels: NDArray[np.float64]
    indptr: NDArray[np.int64]
    indices: NDArray[Any]
    values: NDArray[np.float64]
    people: NDArray[Any] | None = None

    @property
    def rows(self) -> int:
        return len(self.labels)

    @property
    def entries(self) -> int:
        return len(self.values)


def assemble(
    chunks: Iterable[RowChunk], columns: int | None = None
) -> tuple[sp.csr_array, NDArray[np.float64]]:
    """The matrix of all rows, and their labels; by default with as many columns as indices need.

    Every chunk is freed once it is copied: the peak of memory is 9/8 of the result plus one chunk.

    >>> rows = RowChunk(np.array([1.0]), np.array([0, 1]), np.array([2]), np.array([0.5]))
    >>> X, y = assemble([rows, rows])
    >>> X.toarray().tolist(), y.tolist()
    ([[0.0, 0.0, 0.5], [0.0, 0.0, 0.5]], [1.0, 1.0])
    """
    labels, indptr, values = _Growing(np.float64), _Growing(np.int64), _Growing(np.float64)
    indices = _Growing(np.int32)
    indptr.append(np.zeros(1, np.int64))
    for chunk in chunks:
        indptr.append(chunk.indptr[1:] + values.size)
        labels.append(chunk.labels)
        indices.append(chunk.indices)
        values.append(chunk.values)
        del chunk  # otherwise it would stay in memory until the next one is read
    places, data = indices.taken(), values.taken()
    needed = int(places.max()) + 1 if len(places) else 1
    columns = needed if columns is None else columns
    if columns < needed:
        raise ParameterError("an index is beyond the number of columns; raise {n_features}")
    # Indices have 32 bits where possible, and are then not copied.
    kind = sp.get_index_dtype(maxval=max(columns, labels.size, len(data)))
    starts = indptr.taken().astype(kind, copy=False)
    parts = (data, places.astype(kind, copy=False), starts)
    return sp.csr_array(parts, shape=(labels.size, columns)), labels.taken()


class _Growing:
    """An array that grows by appending."""

    def __init__(self, kind: Any) -> None:
        kind = np.dtype(kind)
        self.size = 0
        self._array: NDArray[Any] = np.empty(_FIRST_BYTES // kind.itemsize, kind)

    def append(self, part: NDArray[Any]) -> None:
        self._widen(np.promote_types(self._array.dtype, part.dtype))
        size = self.size + len(part)
        room = len(self._array)
        if size > room:
            # Grow by an eighth only, because numpy fills the new part with zeros.
            wanted = max(size, room + room // 8)
            memory.check_private_size(
                (wanted - room) * self._array.itemsize,
                "holding more rows",
                "convert the file to a column store, which is not held in memory",
            )
            self._array.resize(wanted, refcheck=False)
        self._array[self.size : size] = part
        self.size = size

    def _widen(self, kind: np.dtype[Any]) -> None:
        if kind != self._array.dtype:
            wider = np.empty(max(self.size, self._array.nbytes // kind.itemsize), kind)
            wider[: self.size] = self._array[: self.size]
            self._array = wider

    def taken(self) -> NDArray[Any]:
        """The array, trimmed to its size; nothing can be appended afterwards."""
        array, self._array = self._array, np.empty(0, self._array.dtype)
        array.resize(self.size, refcheck=False)
        return array
