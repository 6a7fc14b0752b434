"""Rows as integers on a public grid, whose length is bounded exactly."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dplasso.base.arrays import Floats, Ints
from dplasso.base.silence import raise_alone
from dplasso.data.merging import merged
from dplasso.data.structure import sound_parts
from dplasso.streams.settings import TooLong

Where = NDArray[np.intp] | slice
_ALL = slice(None)
# Covers the rounding of a length, of its inverse and of a product.
_SAFE = 1.0 - 2.0**-40
# Integer value of a row's largest entry while its length is computed, and entries per partial sum.
# Squares are computed from halves of 20 bits; a partial sum of their products is at most 2^62.
_FINE, _PART = 2.0**40, 1 << 22


class WholeRows:
    """Converts rows to integer vectors; 2^bits is a length of ``sensitivity``.

    Formal guarantees
    -----------------
    The integer vector of a row is a function of that row and public numbers, and its exact 2-norm
    is at most 2^bits: entries are rounded towards 0, the sum of their squares is computed in
    integers, and a row that exceeds the bound is scaled down by its length ("clip"). With "refuse"
    such a row raises an error instead, which reveals that the row was long. Rows that are not
    numbers raise an error either way. A call that raises adds nothing.
    """

    def __init__(
        self, dimension: int, sensitivity: float, bits: int, batch: int, too_long: TooLong
    ) -> None:
        self._dimension, self._sensitivity, self._batch = dimension, sensitivity, batch
        self._whole, self._clips = 1 << bits, too_long == "clip"

    @np.errstate(all="ignore")  # numpy's settings must not raise or warn depending on rows
    def of(self, rows: Any) -> list[tuple[Where, Ints]]:
        """The places and integer values of the nonzero entries of one step's rows."""
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
        # The length of an integer vector does not depend on the order of entries or on zeros.
        fine = np.trunc(values / largest * _FINE).astype(np.int64)
        fine_length = math.sqrt(_square(fine))
        length = largest * (fine_length / _FINE)
        if length > self._sensitivity * (1.0 + 1e-9) and not self._clips:
            raise ValueError(
                "rows must not be longer than sensitivity, got one that is; "
                "scale them, or pass too_long='clip'"
            )
        if length <= self._sensitivity:
            whole = np.trunc(values * (self._whole / self._sensitivity)).astype(np.int64)
            if _square(whole) <= self._whole**2:
                return whole
        cut: Ints = np.trunc(fine * (self._whole * _SAFE / fine_length)).astype(np.int64)
        return cut

    def _split(self, rows: Any) -> Iterator[tuple[Where, Floats]]:
        """The rows one by one: entries that may differ from 0, and their places."""
        if isinstance(rows, tuple):
            yield self._of_pair(*rows) if len(rows) == 2 else self._refuse(rows)
        elif sp.issparse(rows):
            if rows.shape[-1] != self._dimension:
                self._refuse(rows)
            matrix = merged(_as_matrix(rows), "csr", "rows")
            for a, b in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
                yield matrix.indices[a:b].astype(np.intp), matrix.data[a:b].astype(np.float64)
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
                "rows must have whole indices and as many values, got a pair of others; pass "
                "(indices, values)"
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
        except (TypeError, ValueError):  # numpy's message quotes the values
            kind = type(values).__name__
            raise_alone(ValueError(f"rows must be numbers, got {kind}; convert them first"))

    def _refuse(self, rows: Any) -> Any:
        # The number of rows may be private, that of columns is not.
        shape = f"a tuple of {len(rows)}" if isinstance(rows, tuple) else f"{rows.shape[1:]}"
        raise ValueError(
            f"rows must have {self._dimension} columns, got {shape}; "
            "pass a vector, a matrix of one row each, or (indices, values)"
        )


def _as_matrix(rows: Any) -> Any:
    """Sparse rows as a matrix; a vector is one row."""
    if rows.ndim != 1:
        return rows
    if rows.format not in ("coo", "csr"):
        raise ValueError("rows given as a sparse vector must be in coo or csr form; convert them")
    places = rows.coords[0] if rows.format == "coo" else rows.indices
    coords = (np.zeros(np.size(places), np.int64), places)
    return sound_parts("coo", (1, *rows.shape), "rows", coords=coords, data=rows.data)


def _square(whole: Ints) -> int:
    """The exact sum of squares of integers up to 2^40, in parts too short to overflow 63 bits."""
    total = 0
    for first in range(0, len(whole), _PART):
        part = whole[first : first + _PART]
        high, low = part >> 20, part & 0xFFFFF
        total += (int(high @ high) << 40) + (int(high @ low) << 21) + int(low @ low)
    return total
