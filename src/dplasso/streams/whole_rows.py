"""Rows as whole numbers of a public grid, none of them longer than it may be, to the last bit."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso.streams.process import Floats, Ints
from dplasso.streams.settings import TooLong

Where = NDArray[np.intp] | slice
_ALL = slice(None)
# Covers the rounding of a length, of its inverse and of a product.
_SAFE = 1.0 - 2.0**-40


class WholeRows:
    """Adds rows to a sum of whole numbers; 2^bits of them are a length of ``sensitivity``.

    Formal guarantees
    -----------------
    The whole vector of a row is a function of that row and public numbers, and its exact 2-norm is
    at most 2^bits: entries are cut towards 0, the sum of their squares is computed in whole
    numbers, and a row that exceeds the bound is scaled down by its length ("clip"). With "refuse"
    such a row raises an error instead, which tells whoever sees the error that the row was long.
    Rows that are not numbers raise an error either way. Nothing is added by a call that raises.
    """

    def __init__(
        self, dimension: int, sensitivity: float, bits: int, batch: int, too_long: TooLong
    ) -> None:
        self._dimension, self._sensitivity, self._batch = dimension, sensitivity, batch
        self._whole, self._clips = 1 << bits, too_long == "clip"

    def of(self, rows: Any) -> list[tuple[Where, Ints]]:
        """Where the rows of one step are not 0, and what they are there."""
        found = [(where, self._of_one(values)) for where, values in self._split(rows)]
        if len(found) != self._batch:
            raise ValueError(
                f"rows of one step must be {self._batch}, got {len(found)}; declare another batch, "
                "or wait for the rest: fewer would put more steps into a window"
            )
        return found

    def _of_one(self, values: Floats) -> Ints:
        largest = float(np.max(np.abs(values), initial=0.0))
        if not math.isfinite(largest):
            raise ValueError("rows must be finite numbers, got NaN or infinity; clean them first")
        if largest == 0.0:
            return np.zeros(len(values), np.int64)
        relative = values / largest
        relative_length = math.sqrt(float(np.sum(relative**2)))
        length = largest * relative_length
        if length > self._sensitivity * (1.0 + 1e-9) and not self._clips:
            raise ValueError(
                "rows must not be longer than sensitivity, got one that is; "
                "scale them, or pass too_long='clip'"
            )
        if length <= self._sensitivity:
            whole = np.trunc(values * (self._whole / self._sensitivity)).astype(np.int64)
            if _square(whole) <= self._whole**2:
                return whole
        return np.trunc(relative * (self._whole * _SAFE / relative_length)).astype(np.int64)

    def _split(self, rows: Any) -> Iterator[tuple[Where, Floats]]:
        """One by one: entries that may differ from 0, and where they stand."""
        if isinstance(rows, tuple):
            yield self._of_pair(*rows) if len(rows) == 2 else self._refuse(rows)
        elif sp.issparse(rows):
            if rows.shape[-1] != self._dimension:
                self._refuse(rows)
            matrix = sp.csr_array(rows.reshape((-1, self._dimension)), dtype=np.float64, copy=True)
            matrix.sum_duplicates()
            for a, b in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
                yield matrix.indices[a:b].astype(np.intp), matrix.data[a:b]
        else:
            dense = np.atleast_2d(self._numbers(rows))
            if dense.ndim != 2 or dense.shape[1] != self._dimension:
                self._refuse(dense)
            for row in dense:
                yield _ALL, row

    def _of_pair(self, indices: Any, values: Any) -> tuple[Where, Floats]:
        places, entries = np.asarray(indices), self._numbers(values)
        if places.size == 0:
            places = places.astype(np.intp)
        if places.ndim != 1 or places.shape != entries.shape or places.dtype.kind not in "iu":
            raise ValueError(
                "rows must have whole indices and as many values, got a pair of shapes "
                f"{places.shape} and {entries.shape}; pass (indices, values)"
            )
        inside = (places >= 0) & (places < self._dimension)
        if not inside.all() or len(np.unique(places)) != len(places):
            raise ValueError(
                f"rows must have different indices from 0 to {self._dimension - 1}, got others; "
                "add up values of the same index first"
            )
        return places.astype(np.intp), entries

    def _numbers(self, values: Any) -> Floats:
        try:
            return np.asarray(values, np.float64)
        except (TypeError, ValueError) as error:
            kind = type(values).__name__
            raise ValueError(f"rows must be numbers, got {kind}; convert them first") from error

    def _refuse(self, rows: Any) -> Any:
        shape = f"a tuple of {len(rows)}" if isinstance(rows, tuple) else rows.shape
        raise ValueError(
            f"rows must have {self._dimension} columns, got {shape}; "
            "pass a vector, a matrix of one row each, or (indices, values)"
        )


def _square(whole: Ints) -> int:
    """The sum of squares, exact: in parts too short to exceed 64 bits."""
    high, low = whole >> 16, whole & 0xFFFF
    return (int(high @ high) << 32) + (int(high @ low) << 17) + int(low @ low)
