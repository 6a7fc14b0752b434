"""Rows of length 1, by columns, for solvers that bound rows and not entries."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dplasso.base import threads
from dplasso.data.columns import ColumnMatrix
from dplasso.kernels import unit_rows as kernels

Scaling = Literal["presence", "unit"]

# Entries are integers, and this is the value of a row's largest entry; it is smaller for so many
# columns that the sum of squares would not fit into 63 bits (`whole_for`). It is a power of two.
WHOLE = 2**20
# No entry is clipped at this bound: rows are scaled by their own entries. It fits single precision.
NO_BOUND = 1e30
# Covers the rounding of a row's length and of its inverse.
_SAFE = 1.0 - 2.0**-40


@dataclass(frozen=True)
class UnitRows:
    """A column-compressed matrix of integers; row i times ``units[i]`` has length at most 1.

    ``values`` is None if all entries of every row are alike: they are then 1 in place of ``whole``.
    A row without entries has unit 0.

    Formal guarantees
    -----------------
    A row's integers over ``largest``, and its unit times ``largest``, are functions of that row
    alone, to the last bit: they come from maxima and sums of integers, which no other row and no
    number of threads can change. Whether values are stored does depend on other rows, but changes
    only ``largest``, which is a power of two: products of integers, units and 1 / ``largest`` in
    double precision have the same bits. The exact 2-norm of the integers times the unit is at most
    1, for any number of columns: integers are small enough for the sum of their squares not to
    overflow. There is no release and no cost here.

    >>> rows = UnitRows.of([[3.0, 0.0], [5.0, 5.0]])
    >>> rows.values is None, rows.units.round(3).tolist()
    (True, [1.0, 0.707])
    """

    indptr: NDArray[Any]
    indices: NDArray[Any]
    values: NDArray[Any] | None
    units: NDArray[np.float64]
    shape: tuple[int, int]
    whole: int  # public: the integer of a row's largest entry if values are stored

    @property
    def largest(self) -> int:
        """Bound on the absolute value of the integers."""
        return 1 if self.values is None else self.whole

    @classmethod
    def of(cls, X: Any, scaling: Scaling = "presence") -> "UnitRows":
        """Check ``X`` (sparse or dense, or a `ColumnMatrix`) and scale its rows.

        "presence" first replaces every nonzero entry by 1; "unit" keeps entries in proportion, to a
        millionth of their row's largest, or to 1 / `whole_for` with 2^23 columns or more.
        """
        if scaling not in ("presence", "unit"):
            raise ValueError(f"scaling must be 'presence' or 'unit', got {scaling!r}")
        matrix = X if isinstance(X, ColumnMatrix) else ColumnMatrix.of(X, NO_BOUND)
        whole = 1 if scaling == "presence" else whole_for(matrix.shape[1])
        values: NDArray[Any] | None
        values = _present(matrix) if scaling == "presence" else _whole(matrix, whole)
        squares = _by_rows(kernels.squares, matrix, values, np.int64)
        with np.errstate(divide="ignore"):
            units = np.where(squares > 0, _SAFE / np.sqrt(squares), 0.0)
        return cls(matrix.indptr, matrix.indices, values, units, matrix.shape, whole)


def whole_for(columns: int) -> int:
    """The largest power of two, up to WHOLE, for which ``columns`` squares sum to less than 2^63.

    A row has at most one entry per column (`ColumnMatrix`), so no sum of its squares can overflow.

    >>> whole_for(2**23 - 1) == WHOLE, whole_for(2**23) == WHOLE // 2, whole_for(2**31 - 1)
    (True, True, 65536)
    """
    most = max((2**63 - 1) // columns, 1)
    return min(WHOLE, 1 << (most.bit_length() - 1) // 2)


def _present(matrix: ColumnMatrix) -> NDArray[np.int8] | None:
    """1 for every nonzero entry; None if all are 1."""
    if matrix.values is None:
        return None
    values = matrix.values[: matrix.entries]
    return (values != 0).astype(np.int8) if kernels.count_equal(values, 0) else None


def _whole(matrix: ColumnMatrix, most: int) -> NDArray[np.int32] | None:
    """Entries relative to their row's largest, as integers up to ``most``; None if all are that."""
    if matrix.values is None:
        return None
    values = matrix.values[: matrix.entries]
    largest = _by_rows(kernels.largest, matrix, values, np.float64)
    with np.errstate(divide="ignore", over="ignore"):
        # A row whose entries are all tiny counts as empty.
        factors = np.where(largest > 1e-250, most / largest, 0.0)
    whole = np.empty(len(values), np.int32)
    runs = threads.even_runs(len(values), threads.worth(len(values)))
    calls = [(matrix.indices, values, factors, *run, whole) for run in runs]
    threads.run(kernels.whole, calls)
    return None if kernels.count_equal(whole, most) == len(whole) else whole


def _by_rows(kernel: Any, matrix: ColumnMatrix, values: Any, kind: Any) -> NDArray[Any]:
    """Sums or maxima per row, computed for parts of the entries in parallel."""
    runs = threads.even_runs(matrix.entries, threads.worth(matrix.entries))
    parts = [np.zeros(matrix.shape[0], kind) for _ in runs]
    calls = [(matrix.indices, values, *run, part) for run, part in zip(runs, parts, strict=True)]
    threads.run(kernel, calls)
    merge = np.maximum if kernel is kernels.largest else np.add
    for part in parts[1:]:
        merge(parts[0], part, out=parts[0])
    return parts[0]
